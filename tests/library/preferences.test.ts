/**
 * @file `dpo` and `trainRewardModel` as a program calls them: they learn from episodes of a weak policy, go on bitwise
 * after they were stopped, and train an adapter alone where one is asked for; reward models as rewards and as judges.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  dpo,
  evaluate,
  type PreferenceOptions,
  type RewardModelOptions,
  readTrajectories,
  rewardModel,
  type Trajectory,
  train,
  trainRewardModel,
} from "../../src/library/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { lights, QUICK, warmModel } from "./support.ts";

const parent = mkdtempSync(join(tmpdir(), "openmanus-preferences-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));
let model: string;
let episodes: readonly Trajectory[];

const play = { world: lights, settings: QUICK.settings, progress: false } as const;
const successOf = async (folder: string) =>
  (await evaluate({ ...play, model: folder, episodes: 4, temperature: 1 })).table.all;

beforeAll(async () => {
  model = await warmModel(parent);
  const played = { split: "train", tasks: 40, episodes: 8, temperature: 1 } as const;
  ({ trajectories: episodes } = await evaluate({ ...play, ...played, model }));
});

const quick = (out: string, more: Partial<PreferenceOptions> = {}): PreferenceOptions => ({
  ...{ model, data: episodes, out: join(parent, out), epochs: 2, learningRate: 1e-3 },
  ...{ batchSize: 8, validateEvery: 2, progress: false, settings: QUICK.settings, ...more },
});

const weights = (out: string) => readFileSync(join(parent, out, "model.safetensors"));
const lines = (out: string) => readMetrics(join(parent, out, "metrics.jsonl"));

describe("dpo", () => {
  it("prefers what was better in pairs that were held out, and keeps what did best with them", async () => {
    const report = await dpo({ ...quick("better"), kind: "sigmoid_norm", beta: 1 });
    expect(report.after["rewards/accuracies"]).toBeGreaterThan(0.5);
    expect(report.after.loss).toBeLessThan(report.before.loss!);
    expect(report.before.loss).toBeCloseTo(Math.log(2), 4);
    const held = lines("better").filter(({ metrics }) => metrics["val/loss"] !== undefined);
    const best = Math.min(...held.slice(1).map(({ metrics }) => metrics["val/loss"]!));
    expect(report.best).toEqual({ update: expect.any(Number), loss: best });
    expect(existsSync(join(parent, "better.training"))).toBe(false);
  });

  it("wins more often where the better answers are held", async () => {
    const learned = { epochs: 4, learningRate: 3e-3, holdout: 0 } as const;
    const { model: better } = await dpo({ ...quick("wins", learned), sftWeight: 1 });
    const [before, after] = [await successOf(model), await successOf(better)];
    expect(before.won / before.episodes).toBeLessThan(0.3);
    expect(after.won / after.episodes).toBeGreaterThan(before.won / before.episodes + 0.3);
  });

  it.each([
    ["all weights", {}],
    ["an adapter", { lora: { rank: 4, dropout: 0.1 }, learningRate: 5e-3 }],
  ])("goes on bitwise after it was stopped: %s", async (name, more) => {
    const place = (part: string) => `${name.replace(" ", "-")}-${part}`;
    const less = { ...more, data: episodes.slice(0, 100) };
    await dpo(quick(place("whole"), less));
    const stop = new AbortController();
    const say = (text: string) => {
      if (text.startsWith("update 4 of")) stop.abort();
    };
    const call = quick(place("stopped"), { ...less, say, signal: stop.signal });
    await expect(dpo(call)).rejects.toThrow(/interrupted after update 4, and saved/);
    expect(existsSync(call.out)).toBe(false);
    await expect(dpo({ ...quick(place("stopped"), less), beta: 0.5 })).rejects.toThrow(
      /beta: 0.1 there, 0.5 now/,
    );
    const said: string[] = [];
    const { signal: _, ...again } = call;
    await dpo({ ...again, say: (text) => said.push(text) });
    expect(said.join("\n")).toMatch(/going on after update 4/);
    expect(weights(place("stopped")).equals(weights(place("whole")))).toBe(true);
    expect(lines(place("stopped"))).toEqual(lines(place("whole")));
  });

  it("says what cannot be learned from", async () => {
    const won = episodes.filter((episode) => episode.won);
    await expect(dpo(quick("none", { data: won }))).rejects.toThrow(
      /there are no pairs in it. Of \d+ episodes none did better/,
    );
    await expect(dpo(quick("none", { data: [] }))).rejects.toThrow(/nothing in it to learn from/);
    await expect(dpo(quick("none", { data: join(parent, "nowhere") }))).rejects.toThrow(
      /nowhere: there is no such file or folder/,
    );
    expect(existsSync(join(parent, "none.training"))).toBe(false);
  });
});

describe("trainRewardModel", () => {
  const judged = (out: string, kind: RewardModelOptions["kind"]): RewardModelOptions => ({
    ...quick(out),
    ...(kind && { kind }),
    ...{ epochs: 3, learningRate: 2e-3, holdout: 30, validateEvery: 10 },
  });

  it("goes on bitwise after it was stopped, and tells episodes that were won from others", async () => {
    const { after } = await trainRewardModel(judged("outcome", "outcome"));
    expect(after.accuracy).toBeGreaterThan(0.8);
    const stop = new AbortController();
    const say = (text: string) => {
      if (text.startsWith("update 10 of")) stop.abort();
    };
    const call = { ...judged("outcome-again", "outcome"), say, signal: stop.signal };
    await expect(trainRewardModel(call)).rejects.toThrow(/interrupted after update 10/);
    const { signal: _, ...again } = call;
    await trainRewardModel(again);
    expect(weights("outcome-again").equals(weights("outcome"))).toBe(true);
    expect(lines("outcome-again")).toEqual(lines("outcome"));
  });

  it("learns preferences, and is a reward that a run trains with", async () => {
    const { after, model: folder } = await trainRewardModel(judged("preferences", "preferences"));
    expect(after.accuracy).toBeGreaterThan(0.8);
    const won = episodes.find((episode) => episode.won)!;
    const lost = episodes.find((episode) => !episode.won)!;
    const { compute } = rewardModel(1, folder);
    const value = (trajectory: Trajectory) =>
      compute({ trajectory, group: [trajectory], maximumTurns: 4 }) as number;
    expect(value(won)).toBeGreaterThan(value(lost));
    const run = await train({
      ...QUICK,
      ...{ model, iterations: 1, folder: join(parent, "run-with-model") },
      settings: { ...QUICK.settings, reward: { environment: 0, model: 2, model_path: folder } },
    });
    const stored = [...readTrajectories(join(run.folder, "trajectories"))];
    for (const episode of stored) expect(episode.rewards).toEqual({ model: 2 * value(episode) });
  });

  it("says after each turn how likely a win is: what turns add is the last one's probability", async () => {
    const { model: folder, after } = await trainRewardModel(judged("steps", "steps"));
    expect(after.loss).toBeLessThan(0.6);
    const { compute } = rewardModel(1, folder);
    for (const trajectory of episodes.slice(0, 5)) {
      const turns = compute({ trajectory, group: [], maximumTurns: 4 }) as number[];
      expect(turns).toHaveLength(trajectory.turns.length);
      const sum = turns.reduce((a, b) => a + b, 0);
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeLessThan(1);
    }
  });

  it("chooses the best of several episodes as a judge, and so does a critic", async () => {
    const found = (judge: "reward_model" | "critic", judgePath: string, seed: number) =>
      evaluate({
        ...{ ...play, model, temperature: 1 },
        settings: { trainer: { threads: 1, seed } },
        search: { strategy: "best_of_n", width: 6, branches: 6, judge, judgePath },
      });
    const plain = await successOf(model);
    let won = 0;
    for (const seed of [1, 2, 3, 4])
      won += (await found("reward_model", join(parent, "outcome"), seed)).table.all.won;
    // It is not told which have won.
    expect(won / 48).toBeGreaterThan(plain.rate + 0.1);
    const run = await train({
      ...{ ...QUICK, model, algorithm: "ppo", groupSize: 1, tasks: 8, iterations: 2 },
      folder: join(parent, "run-with-critic"),
    });
    const critic = join(run.folder, "checkpoints", "step-000002", "critic");
    expect((await found("critic", critic, 1)).trajectories).toHaveLength(12);
    await expect(found("critic", model, 1)).rejects.toThrow(/is no critic: it has no head/);
    await expect(found("reward_model", critic, 1)).rejects.toThrow(
      /does not say what its scores mean/,
    );
  });

  it("says what cannot be learned from, and what is missing", async () => {
    const won = episodes.filter((episode) => episode.won);
    const call = { ...judged("none", "outcome"), data: won };
    await expect(trainRewardModel(call)).rejects.toThrow(
      /nothing to tell apart in it: .* labelled 1;/,
    );
    const missing = { reward: { model: 1 } };
    await expect(train({ ...QUICK, model, settings: missing })).rejects.toThrow(
      /reward.model needs reward.model_path/,
    );
    await expect(
      evaluate({ ...play, model, search: { strategy: "best_of_n", judge: "critic" } }),
    ).rejects.toThrow(/env.search.judge=critic needs env.search.judge_path/);
  });
});
