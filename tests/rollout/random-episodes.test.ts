/**
 * @file A thousand episodes of a random model, in every format and both contexts, with a cache that is
 * much too small: what is trained on is what was sampled, token by token.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAgent, FORMAT_NAMES } from "../../src/agents/index.ts";
import { openWorld, type World } from "../../src/environments/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import {
  checkBatch,
  checkLogprobs,
  collect,
  modelPolicy,
  packTrajectories,
  type Trajectory,
} from "../../src/rollout/index.ts";
import { memory } from "../../src/torch/index.ts";
import { packedLogprobs } from "../generation/support.ts";
import {
  type Answered,
  counting,
  newModelFolder,
  openTinyModel,
  recorded,
  type TinyModel,
  tasksOf,
  temporaryFolder,
} from "./support.ts";

const folder = temporaryFolder();
let tiny: TinyModel;
let worlds: { world: World; about: typeof counting }[];
beforeAll(async () => {
  tiny = openTinyModel(newModelFolder(folder));
  worlds = [{ world: await openWorld(counting), about: counting }];
});
afterAll(() => tiny.model.dispose());

/** 50 tasks of two members for a format and a context; the last settings of sampling differ. */
async function play(
  format: string,
  context: "conversation" | "steps",
  concurrency: number,
  tasks = 50,
) {
  const engine = createEngine(tiny.model, {
    cacheBytes: 120 * 8192,
    tokensPerStep: 512,
    tokenizer: tiny.chat.tokenizer,
  });
  const { generator, answers } = recorded(engine);
  const sampling = { maximumTokens: 12, temperature: format === "react" ? 0.8 : 1, topP: 0.98 };
  const policy = modelPolicy({ generator, chat: tiny.chat, contextLength: 900, sampling });
  const { world, about } = worlds[0]!;
  const collection = await collect({
    world,
    about,
    agent: createAgent({ format, context }),
    policy,
    limits: { turns: 4, tokens: 40 },
    tasks: await tasksOf(world, tasks),
    members: 2,
    seed: 7,
    concurrency,
  });
  const { statistics } = engine;
  await engine.close();
  return { collection, answers, statistics };
}

describe.each(FORMAT_NAMES)("%s", (format) => {
  it.each(["conversation", "steps"] as const)("in the context %s", async (context) => {
    const before = memory().tensors;
    const { collection, answers, statistics } = await play(format, context, 64);
    const { all } = collection;
    expect(all).toHaveLength(100);
    expect(collection.account.leftOut).toBe(0);
    // The cache has room for some 1900 tokens: running episodes lose their places in it.
    expect(statistics.preemptions).toBeGreaterThan(0);
    expect(statistics.cachedTokens).toBeGreaterThan(0);

    const batch = packTrajectories(all);
    checkBatch(batch, tiny.chat.tokenizer.vocabularySize);
    const changed = sameAsAnswered(all, answers, context);
    // Text that is tokenised again would be other tokens: the comparison above would have seen it.
    expect(changed).toBeGreaterThan(answers.length / 2);

    // The mask has the sampled tokens, and no others.
    const trained = batch.rows.mask.reduce((sum, value) => sum + value, 0);
    expect(trained).toBe(collection.account.sampledTokens);
    const check = checkLogprobs(batch, recompute(batch), 1e-5);
    expect(check.tokens).toBe(trained);
    expect(memory().tensors).toBe(before);
  });
});

it.each(["conversation", "steps"] as const)(
  "the same episodes are played whatever runs beside them (%s)",
  async (context) => {
    const played = async (concurrency: number) => {
      const { collection } = await play("think-action", context, concurrency, 10);
      // Log-probabilities differ in their last bits with the batch (see docs/generation.md).
      return collection.all.map(({ id, seed, status, reward, turns }) => ({
        ...{ id, seed, status, reward },
        turns: turns.map(({ promptIds, reply, action }) => [promptIds, reply.ids, action]),
      }));
    };
    const together = await played(64);
    expect(await played(3)).toEqual(together);
    expect(await played(1)).toEqual(together);
  },
);

/** Compares with the generator's own record; gives how many replies another encoding would change. */
function sameAsAnswered(
  all: readonly Trajectory[],
  answers: readonly Answered[],
  context: string,
): number {
  const { tokenizer } = tiny.chat;
  let changed = 0;
  for (const { id, turns } of all) {
    const own = answers.filter(({ conversation }) => conversation === id);
    expect(own).toHaveLength(turns.length);
    let earlier: number[] = [];
    for (const [i, { promptIds, reply }] of turns.entries()) {
      const { prompt, completion } = own[i]!;
      const whole = context === "steps" ? promptIds : [...earlier, ...promptIds];
      expect(prompt).toEqual(whole);
      expect(reply.ids).toEqual(completion.ids);
      expect(reply.logprobs).toEqual(completion.logprobs);
      expect(reply.sampledLogprobs).toEqual(completion.sampledLogprobs);
      earlier = [...whole, ...reply.ids];
      if (String(tokenizer.encode(tokenizer.decode(reply.ids))) !== String(reply.ids)) changed++;
    }
  }
  return changed;
}

/** [tokens] by the packed training path. */
function recompute(batch: ReturnType<typeof packTrajectories>): Float64Array {
  const { offsets, mask } = batch.rows;
  const rows = Array.from({ length: offsets.length - 1 }, (_, row) => row);
  const sequences = rows.map((row) => [...batch.ids.subarray(offsets[row], offsets[row + 1])]);
  const places = rows.map((row) =>
    sequences[row]!.flatMap((_, i) => (mask[offsets[row]! + i] === 1 ? [i] : [])),
  );
  const result = new Float64Array(batch.ids.length).fill(Number.NaN);
  const width = 50;
  for (let first = 0; first < rows.length; first += width) {
    const last = first + width;
    const found = packedLogprobs(
      tiny.model,
      sequences.slice(first, last),
      places.slice(first, last),
    );
    let next = 0;
    for (const row of rows.slice(first, last))
      for (const place of places[row]!) result[offsets[row]! + place] = found[next++]!;
  }
  return result;
}
