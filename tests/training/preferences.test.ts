/**
 * @file Learning from pairs: which pairs are made of episodes, searches and files; the loss beside TRL's formulas over
 * all logits; passes that do not matter.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { DpoKind } from "../../src/algorithms/index.ts";
import { loadModel, logits, type Model, packSequences } from "../../src/models/index.ts";
import { appendFindings, readFindings, type Trajectory } from "../../src/rollout/index.ts";
import { noGrad, tidy } from "../../src/torch/index.ts";
import {
  dpoObjective,
  learn,
  type Pair,
  pairOfRow,
  pairsIn,
  pairsOfEpisodes,
  requireLength,
  sourcesIn,
  splitByTask,
  withReference,
} from "../../src/training/index.ts";
import type { TokenRow } from "../../src/training/workers/tokens.ts";
import { temporaryFolder } from "../rollout/support.ts";
import {
  gradientsOf,
  largestDifference,
  newTinyFolder,
  openChat,
  scriptedEpisodes,
  tinyConfig,
  weightsOf,
} from "./support/runs.ts";

const parent = temporaryFolder();
let folder: string;
/** Episodes of three tasks, eight each, won and not. */
let episodes: Trajectory[];
let inSteps: Trajectory[];

beforeAll(async () => {
  folder = newTinyFolder(parent);
  const played = async (...own: string[]) => {
    const all = await scriptedEpisodes(tinyConfig(folder, "unused", own), openChat(folder), 24);
    // As if eight had been of the same task: what they are compared by is their result.
    return all.map((episode, i) => ({
      ...episode,
      task: { ...episode.task, id: `task ${Math.floor(i / 8)}` },
    }));
  };
  episodes = await played();
  inSteps = await played("env.context=steps");
});

/** log p of the trained tokens of a row, over all logits. */
function rowLogprobs(model: Model, { ids, mask }: TokenRow): number[] {
  return tidy(() => {
    const all = noGrad(() => logits(model, packSequences([ids])).logSoftmax(-1));
    return [...ids].flatMap((id, i) =>
      mask[i] === 1
        ? [
            all
              .select(0, i - 1)
              .select(0, id)
              .item(),
          ]
        : [],
    );
  });
}

/** TRL 1.16's losses (trl/trainer/dpo_trainer.py), of numbers. */
function twin(
  kind: DpoKind,
  { beta, smoothing }: { beta: number; smoothing: number },
  [policy, reference]: readonly [Model, Model],
  pair: Pair,
): { loss: number; margin: number } {
  const ratio = (rows: readonly TokenRow[]) => {
    const own = rows.flatMap((row) => rowLogprobs(policy, row));
    const other = rows.flatMap((row) => rowLogprobs(reference, row));
    const sum = own.reduce((total, value, i) => total + value - other[i]!, 0);
    return kind === "sigmoid" ? sum : sum / own.length;
  };
  const h = ratio(pair.chosen) - ratio(pair.rejected);
  const logsigmoid = (x: number) => -Math.log1p(Math.exp(-x));
  const loss =
    kind === "ipo"
      ? (h - 1 / (2 * beta)) ** 2
      : -(1 - smoothing) * logsigmoid(beta * h) - smoothing * logsigmoid(-beta * h);
  return { loss, margin: beta * h };
}

/** A model that is a little different from the one in the folder. */
function changed(): Model {
  const model = loadModel(folder);
  noGrad(() => {
    for (const tensor of model.parameters.values()) tensor.mul_(1.1);
  });
  return model;
}

describe("pairs of episodes", () => {
  it("have the better result first, and use every episode before any twice", () => {
    const pairs = pairsOfEpisodes(episodes, 3);
    expect(pairs.length).toBeGreaterThan(0);
    for (const { margin } of pairs) expect(margin).toBeGreaterThan(0);
    const used = pairs.map(({ chosen }) => chosen[0]!.ids.join());
    expect(new Set(used).size).toBeGreaterThan(1);
    expect(pairsOfEpisodes(episodes.map((one) => ({ ...one, won: true })))).toEqual([]);
  });

  it("train what was said where the two differ, and nothing that both begin with", () => {
    const winner = episodes.find(({ won, turns }) => won && turns.length > 2)!;
    const loser: Trajectory = {
      ...winner,
      won: false,
      score: 0,
      turns: winner.turns.map((turn, i) =>
        i < winner.turns.length - 1
          ? turn
          : { ...turn, reply: { ...turn.reply, ids: [turn.reply.ids[0]! + 1] } },
      ),
    };
    const [pair] = pairsOfEpisodes([loser, winner]);
    const trained = ({ ids, mask }: TokenRow) => [...ids].filter((_, i) => mask[i] === 1);
    expect(pair!.chosen.map(trained)).toEqual([winner.turns.at(-1)!.reply.ids]);
    expect(pair!.rejected.map(trained)).toEqual([loser.turns.at(-1)!.reply.ids]);
    const steps = { context: "steps" } as const;
    const [apart] = pairsOfEpisodes([
      { ...loser, ...steps },
      { ...winner, ...steps },
    ]);
    // Turns that both have are rows of their own there, and left out.
    expect(apart!.chosen).toHaveLength(1);
    expect(apart!.chosen[0]!.ids).toHaveLength(
      winner.turns.at(-1)!.promptIds.length + winner.turns.at(-1)!.reply.ids.length,
    );
  });

  it("are held out by whole tasks", () => {
    const pairs = pairsOfEpisodes(episodes);
    const { training, validation } = splitByTask(pairs, 1, 0);
    const tasks = (list: readonly Pair[]) => new Set(list.map(({ task }) => task));
    expect(tasks(validation).size).toBe(1);
    for (const task of tasks(training)) expect(tasks(validation).has(task)).toBe(false);
    expect(training.length + validation.length).toBe(pairs.length);
    expect(() => splitByTask(pairs, 1000, 0)).toThrow(/leave some to learn/);
  });
});

describe("pairs of a file", () => {
  const prompt = [{ role: "user", content: "It is red." }];
  const row = (chosen: string, rejected: string) => ({
    prompt,
    chosen: [{ role: "assistant", content: chosen }],
    rejected: [{ role: "assistant", content: rejected }],
  });
  const words = (rows: readonly TokenRow[]) =>
    rows.map(({ ids, mask }) =>
      openChat(folder).tokenizer.decode([...ids].filter((_, i) => mask[i] === 1)),
    );

  it("are TRL's: messages with a prompt, without one, and texts", () => {
    const chat = openChat(folder);
    const plain = pairOfRow(row("stop", "go"), chat, "here");
    expect(words(plain.chosen)).toEqual(["stop<|im_end|>"]);
    expect(words(plain.rejected)).toEqual(["go<|im_end|>"]);
    const { chosen, rejected } = row("stop", "go");
    const implicit = { chosen: [...prompt, ...chosen], rejected: [...prompt, ...rejected] };
    expect(pairOfRow(implicit, chat, "here")).toEqual(plain);
    const later = [{ role: "user", content: "Yes. It is blue." }];
    const turns = {
      prompt: [...prompt, ...chosen, ...later],
      chosen: [{ role: "assistant", content: "wait" }],
      rejected,
    };
    expect(words(pairOfRow(turns, chat, "here").chosen)).toEqual(["wait<|im_end|>"]);
    const texts = pairOfRow(
      { prompt: "It is red. ", chosen: "stop", rejected: "go" },
      chat,
      "here",
    );
    expect(words(texts.chosen)[0]).toMatch(/^stop<\|/);
    expect([...texts.chosen[0]!.ids].slice(0, -1)).toEqual([
      ...chat.tokenizer.encodePlain("It is red. "),
      ...chat.tokenizer.encodePlain("stop"),
    ]);
  });

  it.each([
    [{ prompt, chosen: "stop" }, /line 1: expected "prompt", "chosen" and "rejected" to be texts/],
    [{ prompt }, /line 1: expected "chosen" and "rejected"/],
    [row("stop", "stop"), /line 1: "chosen" and "rejected" are the same/],
    [{ ...row("a", "b"), margin: "much" }, /line 1: expected "margin" to be a number/],
    [
      { ...row("a", "b"), chosen: [{ role: "king", content: "x" }] },
      /line 1: a message has no known/,
    ],
  ])("%j is refused with its place", async (bad, message) => {
    const file = join(parent, "bad.jsonl");
    writeFileSync(file, `${JSON.stringify(bad)}\n`);
    await expect(sourcesIn(file, openChat(folder))).rejects.toThrow(message);
  });
});

describe("what searches found", () => {
  it("is the same after it was stored, with turns that lines share once", () => {
    const [a, b] = [episodes[0]!, episodes[1]!];
    const line = a.turns;
    const other = [...a.turns.slice(0, -1), b.turns[0]!];
    const file = join(parent, "findings.jsonl");
    const { fingerprint: tokenizer } = openChat(folder).tokenizer;
    appendFindings(file, {
      ...{ task: "one", context: "conversation", tokenizer },
      preferences: [{ chosen: line, rejected: other, margin: 0.5 }],
      values: line.map((_, i) => ({ turns: line.slice(0, i + 1), value: 0.25, visits: 4 })),
    });
    const [found] = readFindings(file);
    const ids = (turns: readonly { reply: { ids: readonly number[] } }[]) =>
      turns.map(({ reply }) => reply.ids);
    expect(ids(found!.preferences[0]!.chosen)).toEqual(ids(line));
    expect(ids(found!.preferences[0]!.rejected)).toEqual(ids(other));
    expect(found!.values.map(({ turns }) => turns.length)).toEqual(line.map((_, i) => i + 1));
    const [pair] = pairsIn({ episodes: [], findings: [found!], rows: [] });
    expect(pair).toMatchObject({ task: "one", margin: 0.5 });
    writeFileSync(file, '{"turns": [{"after": 3}]}\n');
    expect(() => readFindings(file)).toThrow(/line 1: is not what a search found/);
  });
});

describe("DPO", () => {
  it.each(["sigmoid", "sigmoid_norm", "ipo"] as const)(
    "%s is TRL's formula over all logits, in both contexts, however it is cut",
    (kind) => {
      const [policy, reference] = [changed(), loadModel(folder)];
      const pairs = [...pairsOfEpisodes(episodes, 2), ...pairsOfEpisodes(inSteps, 2)];
      const options = { beta: 0.3, smoothing: kind === "ipo" ? 0 : 0.1 };
      const expected = pairs.map((pair) => twin(kind, options, [policy, reference], pair));
      const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
      const learned = (tokensPerPass: number) => {
        const known = withReference(reference, pairs, { kind, tokensPerPass });
        const objective = dpoObjective(policy, {
          ...{ kind, beta: 0.3, labelSmoothing: options.smoothing, seed: 0, tokensPerPass },
        });
        const metrics = objective.compute(known, pairs.length, { update: 0 });
        const gradients = gradientsOf(policy);
        for (const tensor of policy.trainable.values()) tensor.grad = null;
        return { metrics, gradients };
      };
      const whole = learned(1e6);
      expect(whole.metrics.loss).toBeCloseTo(mean(expected.map(({ loss }) => loss)), 4);
      expect(whole.metrics["rewards/margins"]).toBeCloseTo(
        mean(expected.map(({ margin }) => margin)),
        4,
      );
      expect(whole.metrics["rewards/accuracies"]).toBeCloseTo(
        mean(expected.map(({ margin }) => (margin > 0 ? 1 : 0))),
        10,
      );
      const cut = learned(60);
      expect(cut.metrics.loss).toBeCloseTo(whole.metrics.loss!, 5);
      expect(largestDifference(whole.gradients, cut.gradients)).toBeLessThan(
        1e-5 * Math.max(...whole.gradients.map(Math.abs)),
      );
      policy.dispose();
      reference.dispose();
    },
  );

  it("of actions that were drawn from a list is of the same list", () => {
    const [policy, reference] = [changed(), loadModel(folder)];
    const [pair] = pairsOfEpisodes(episodes, 1);
    // Nothing else could be drawn: it is certain, and nothing can be learned from it.
    const certain = (rows: readonly TokenRow[]) =>
      rows.map((row) => ({
        ...row,
        allowed: new Map(
          [...row.ids].flatMap((id, i) => (row.mask[i] ? [[i, [id]] as const] : [])),
        ),
      }));
    const forced = { ...pair!, chosen: certain(pair!.chosen), rejected: certain(pair!.rejected) };
    const [known] = withReference(reference, [forced]);
    expect(known!.reference.chosen).toBeCloseTo(0, 6);
    const metrics = dpoObjective(policy, { seed: 0 }).compute([known!], 1, false);
    expect(metrics.loss).toBeCloseTo(Math.log(2), 6);
    policy.dispose();
    reference.dispose();
  });

  it("goes the same way in passes of any size", async () => {
    const trained = async (tokensPerPass: number) => {
      const model = loadModel(folder);
      const pairs = withReference(model, pairsOfEpisodes(episodes, 4), { tokensPerPass });
      const objective = dpoObjective(model, { seed: 0, tokensPerPass });
      const items = { training: pairs, validation: [] };
      await learn(objective, items, { epochs: 2, lr: 1e-3, batchSize: 4, seed: 0 });
      const weights = weightsOf(model);
      model.dispose();
      return weights;
    };
    expect(largestDifference(await trained(1e6), await trained(80))).toBeLessThan(1e-4);
  });

  it("says what is too long", () => {
    const model = loadModel(folder);
    const long = { ids: new Int32Array(3000), mask: new Uint8Array(3000) };
    expect(() => requireLength("dpo", [long], model)).toThrow(
      /has 3000 tokens, the model takes 2048/,
    );
    model.dispose();
  });
});
