/**
 * @file What the tests of generation share: a small model, a tokenizer, random numbers, and the
 * training path to compare with.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uniformFor } from "../../src/generation/sampling.ts";
import {
  loadTokenizer,
  type Model,
  type ModelConfig,
  newModel,
  packSequences,
  presetConfig,
  type Tokenizer,
  tokenOutputs,
  trainTokenizer,
  writeTokenizer,
} from "../../src/models/index.ts";
import { Generator, noGrad, tensor, tidy } from "../../src/torch/index.ts";

export interface TestModelOptions extends Partial<ModelConfig> {
  seed?: number;
  /** Random weights are multiplied by it, so that some tokens are much likelier than others. */
  sharpness?: number;
}

/** The tiny preset with random weights. */
export function testModel(options: TestModelOptions = {}): Model {
  const { seed = 1, sharpness = 4, ...changes } = options;
  const config = presetConfig("tiny", { family: "qwen3", eosTokenIds: [3] });
  const model = newModel({ ...config, initializerRange: 0.02, ...changes }, new Generator(seed));
  noGrad(() => {
    for (const parameter of model.parameters.values())
      if (parameter.ndim > 1) tidy(() => parameter.mul_(sharpness));
  });
  return model;
}

/** What makes a Gemma 3 of a small model: windows of its size, and two ropes. */
export const GEMMA_PARTS: Partial<ModelConfig> = {
  ...{ scaledEmbeddings: true, normsAddOne: true, outputNorms: true, activation: "gelu-tanh" },
  ...{ attentionScalar: 9, slidingWindows: [7, null], localRope: { kind: "default", theta: 100 } },
};

const TEXT = [
  "go north, go south, look around, take the lamp, open the mailbox, go to the desk",
  "take lamp from desk. put lamp in mailbox. go north and look at the desk",
];

let tokenizer: Tokenizer | undefined;

/** A small byte-level tokenizer, made once per test file. */
export function testTokenizer(): Tokenizer {
  if (tokenizer) return tokenizer;
  const folder = mkdtempSync(join(tmpdir(), "openmanus-generation-"));
  writeTokenizer(folder, trainTokenizer(TEXT, { vocabularySize: 300 }));
  tokenizer = loadTokenizer(folder);
  rmSync(folder, { recursive: true });
  return tokenizer;
}

export interface Random {
  /** From 0 to 1. */
  uniform(): number;
  /** A whole number below the given one. */
  below(limit: number): number;
  /** So many ids from 5 to below the limit. */
  ids(count: number, limit?: number): number[];
}

export function random(seed: number): Random {
  let draws = 0;
  const uniform = () => uniformFor(BigInt(seed), draws++);
  const below = (limit: number) => Math.floor(uniform() * limit);
  return {
    uniform,
    below,
    ids: (count, limit = 512) => Array.from({ length: count }, () => 5 + below(limit - 5)),
  };
}

/** Log-probabilities of the tokens at the given places of sequences, by the packed training path. */
export function packedLogprobs(
  model: Model,
  sequences: readonly (readonly number[])[],
  places: readonly (readonly number[])[],
): number[] {
  const [before, targets]: [number[], number[]] = [[], []];
  let start = 0;
  for (const [i, ids] of sequences.entries()) {
    for (const place of places[i]!) {
      before.push(start + place - 1);
      targets.push(ids[place]!);
    }
    start += ids.length;
  }
  const indices = (values: number[]) => tensor(values, { dtype: "int64" });
  return noGrad(() =>
    tidy(() => {
      const batch = packSequences(sequences);
      const options = { entropy: false };
      const outputs = tokenOutputs(model, batch, indices(before), indices(targets), options);
      return [...outputs.logprobs.toNumbers()];
    }),
  );
}

export function largestDifference(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) throw new Error(`${a.length} numbers against ${b.length}`);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}
