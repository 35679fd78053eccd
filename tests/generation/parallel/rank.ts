/**
 * @file A rank that generates with its part of a model, in turns with the others, and compares with an engine
 * that has the whole model.
 */
import {
  type Completion,
  createEngine,
  type Engine,
  tensorParallel,
} from "../../../src/generation/index.ts";
import { bytesPerPage } from "../../../src/generation/cache/store.ts";
import type { ModelConfig } from "../../../src/models/index.ts";
import { initializeProcessGroup } from "../../../src/torch/index.ts";
import { say } from "../../torch/distributed/worker.ts";
import { GEMMA_PARTS, testModel } from "../support.ts";

// 4 key-value heads, and a vocabulary that neither 2 nor 4 divide.
const SIZES = { vocabularySize: 301, heads: 8, keyValueHeads: 4, headDimension: 8 };
const KINDS: Record<string, Partial<ModelConfig>> = {
  "qwen3, tied": {},
  "qwen2, with biases, not tied": {
    ...{ queryKeyNorm: false, queryKeyValueBias: true, outputBias: true, tiedEmbeddings: false },
  },
  gemma3: GEMMA_PARTS,
};

const group = initializeProcessGroup();

/** Two conversations at once, of which one goes on: prompts in parts, cached tokens, both samplers. */
async function answers(engine: Engine): Promise<Completion[]> {
  const prompt = (length: number) =>
    Array.from({ length }, (_, i) => (i * 37 + group.rank * 11 + 5) % SIZES.vocabularySize);
  const sampling = { maximumTokens: 9, stopTokens: [] };
  const first = await Promise.all([
    engine.generate({ prompt: prompt(40), sampling, seed: 1, conversation: "one" }),
    engine.generate({ prompt: prompt(23), sampling: { ...sampling, temperature: 0 }, seed: 2 }),
  ]);
  const longer = [...prompt(40), ...first[0]!.ids, 7, 8];
  return [
    ...first,
    await engine.generate({ prompt: longer, sampling, seed: 3, conversation: "one" }),
  ];
}

for (const [name, changes] of Object.entries(KINDS)) {
  const model = testModel({ ...SIZES, ...changes });
  const options = { cacheBytes: 64 * bytesPerPage(model.config), tokensPerStep: 16 };
  const whole = createEngine(model, options);
  const expected = await answers(whole);
  await whole.close();

  const parallel = tensorParallel(model.config, "float32", group);
  for (const [tensor, values] of model.parameters) parallel.load(tensor, values.detach());
  let cacheBytes = 0;
  const engine = createEngine(parallel.model, {
    ...{ ...options, cacheBytes: options.cacheBytes / group.worldSize },
    newCache: (config, pages) => {
      cacheBytes = pages * bytesPerPage(config);
      return parallel.newCache(config, pages);
    },
  });
  const got = await parallel.takeTurns(() => answers(engine));
  let largest = 0;
  let sameIds = true;
  for (const [i, { ids, logprobs }] of expected.entries()) {
    sameIds &&= ids.join() === got[i]!.ids.join();
    for (const [k, logprob] of logprobs.entries())
      largest = Math.max(largest, Math.abs(logprob - got[i]!.logprobs[k]!));
  }
  const bytes = [...model.parameters.values()].reduce((sum, one) => sum + one.byteLength, 0);
  say("kind", {
    ...{ name, sameIds, largest },
    cachedTokens: engine.statistics.cachedTokens,
    weights: parallel.weightBytes / bytes,
    cache: cacheBytes / options.cacheBytes,
  });
  await engine.close();
  parallel.dispose();
  model.dispose();
}
group.destroy();
