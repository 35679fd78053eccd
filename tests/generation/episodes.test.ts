/**
 * @file The engine against the training path: many episodes at once, many turns each, in a cache that
 * is much too small for them.
 */
import { describe, expect, it } from "vitest";
import { createEngine, type Engine, type SamplingOptions } from "../../src/generation/index.ts";
import type { Model, ModelConfig } from "../../src/models/index.ts";
import { memory } from "../../src/torch/index.ts";
import { GEMMA_PARTS, largestDifference, packedLogprobs, random, testModel } from "./support.ts";

/** What was sampled in one episode. */
interface Played {
  ids: number[];
  /** Where in `ids` the sampled tokens are. */
  places: number[];
  logprobs: number[];
}

const SAMPLING: SamplingOptions[] = [
  { maximumTokens: 8 },
  { maximumTokens: 8, temperature: 0.7, topP: 0.9 },
  { maximumTokens: 12, temperature: 0 },
  { maximumTokens: 6, topK: 20, repetitionPenalty: 1.2, minimumTokens: 4 },
];

/** Turns of random observations; some prompts are shared, some conversations have no name. */
async function play(engine: Engine, index: number): Promise<Played> {
  const own = random(index);
  const group = random(Math.floor(index / 8) + 10_000);
  const ids = index % 3 === 0 ? own.ids(1 + own.below(50)) : group.ids(20 + group.below(40));
  const played: Played = { ids, places: [], logprobs: [] };
  const turns = 2 + own.below(3);
  for (let turn = 0; turn < turns; turn++) {
    const completion = await engine.generate({
      prompt: ids,
      sampling: SAMPLING[own.below(SAMPLING.length)]!,
      seed: index * 100 + turn,
      ...(index % 5 !== 0 && { conversation: `episode ${index}` }),
    });
    for (const [i, id] of completion.ids.entries()) {
      played.places.push(ids.length);
      played.logprobs.push(completion.logprobs[i]!);
      ids.push(id);
    }
    ids.push(...own.ids(own.below(12)));
  }
  engine.release(`episode ${index}`);
  return played;
}

async function playAll(model: Model, episodes: number, cacheBytes: number) {
  const engine = createEngine(model, { cacheBytes, tokensPerStep: 256 });
  const indices = Array.from({ length: episodes }, (_, i) => i);
  const played = await Promise.all(indices.map((i) => play(engine, i)));
  const { statistics } = engine;
  await engine.close();
  const expected = packedLogprobs(
    model,
    played.map(({ ids }) => ids),
    played.map(({ places }) => places),
  );
  const found = played.flatMap(({ logprobs }) => logprobs);
  return { difference: largestDifference(found, expected), drawn: found.length, statistics };
}

describe("log-probabilities equal the training path's", () => {
  it("in 200 episodes with evictions and preemptions", async () => {
    const before = memory().tensors;
    const model = testModel();
    // 8 kB per page of 16 tokens: room for a few of the episodes; most wait, some lose their place.
    const { difference, drawn, statistics } = await playAll(model, 200, 100 * 8192);
    model.dispose();
    expect(drawn).toBeGreaterThan(3000);
    expect(statistics.preemptions).toBeGreaterThan(10);
    expect(statistics.cachedTokens).toBeGreaterThan(1000);
    expect(difference).toBeLessThan(1e-5);
    expect(memory().tensors).toBe(before);
  });

  it.each<[string, Partial<ModelConfig>]>([
    ["room for two episodes", {}],
    ["sliding windows", { slidingWindows: [12, null] }],
    ["no grouping of heads", { keyValueHeads: 4 }],
    ["heads of 24", { headDimension: 24 }],
    ["biases, no norms", { queryKeyValueBias: true, queryKeyNorm: false }],
    ["no rope in a layer with a window", { withoutRope: [0], slidingWindows: [12, null] }],
    ["what Gemma 3 has", GEMMA_PARTS],
  ])("with %s", async (_, config) => {
    const model = testModel(config);
    const { difference, drawn } = await playAll(model, 12, 8 * 16 * 1024);
    model.dispose();
    expect(drawn).toBeGreaterThan(50);
    expect(difference).toBeLessThan(1e-5);
  });
});
