/**
 * @file The native pass against its twin of single operators, and against itself in other batches.
 */
import { afterEach, describe, expect, it } from "vitest";
import { PagePool } from "../../src/generation/cache/pages.ts";
import { CachedSequence } from "../../src/generation/cache/sequence.ts";
import { type CacheStore, newCacheStore, PAGE_SIZE } from "../../src/generation/cache/store.ts";
import { layoutOf, type Work } from "../../src/generation/layout.ts";
import { hasNativePass, nativePass } from "../../src/generation/native-pass.ts";
import { operatorPass } from "../../src/generation/operator-pass.ts";
import { type RotaryTable, rotaryTable } from "../../src/generation/step.ts";
import { type Model, modelOf } from "../../src/models/index.ts";
import {
  type Dtype,
  keep,
  memory,
  noGrad,
  setThreads,
  threads,
  tidy,
} from "../../src/torch/index.ts";
import { GEMMA_PARTS, type Random, random, type TestModelOptions, testModel } from "./support.ts";

const PAGES = 200;
const BEFORE = memory().tensors;
const allThreads = threads();

afterEach(() => setThreads(allThreads));

type Pass = typeof nativePass;

/** A model with a cache of its own, and the sequences in it. */
class Runner {
  readonly #pool = new PagePool(PAGES, PAGE_SIZE);
  readonly #cache: CacheStore;
  readonly #table: RotaryTable;
  readonly #sequences = new Map<number, CachedSequence>();
  readonly model: Model;
  readonly pass: Pass;

  constructor(model: Model, pass: Pass) {
    this.model = model;
    this.pass = pass;
    this.#cache = newCacheStore(model.config, PAGES);
    this.#table = rotaryTable(model);
  }

  /** Adds tokens to sequences by number; the logits of those that are wanted. */
  add(parts: { sequence: number; ids: number[]; wanted: boolean }[]): number[][] {
    const work: Work[] = parts.map(({ sequence: number, ids }) => {
      const sequence = this.#sequences.get(number) ?? new CachedSequence(this.#pool);
      this.#sequences.set(number, sequence);
      sequence.ids.push(...ids);
      if (!sequence.reserve(sequence.ids.length)) throw new Error("the test's cache is too small");
      return { sequence, tokens: ids.length };
    });
    const wanted = parts.flatMap((part, i) => (part.wanted ? [i] : []));
    const logits = noGrad(() =>
      tidy(() => this.pass(this.model, this.#cache, this.#table, layoutOf(work, wanted)).toArray()),
    );
    for (const { sequence, tokens } of work) sequence.markComputed(sequence.computed + tokens);
    return logits as number[][];
  }

  dispose(): void {
    this.#cache.dispose();
    this.#table.dispose();
  }
}

/** The model with its weights in another dtype; the first one is disposed of, unless it is kept. */
function inDtype(model: Model, dtype: Dtype, isLast = true): Model {
  const tensors = new Map(
    [...model.parameters].map(([name, tensor]) => [
      name,
      keep(tidy(() => noGrad(() => tensor.detach().to(dtype).clone()))),
    ]),
  );
  if (isLast) model.dispose();
  return modelOf(model.config, tensors);
}

/** Prompts and single tokens of several sequences, some of them without wanted logits. */
function randomSteps(from: Random, vocabulary: number) {
  return Array.from({ length: 8 }, () =>
    Array.from({ length: 1 + from.below(9) }, (_, sequence) => ({
      sequence,
      ids: from.ids(from.uniform() < 0.5 ? 1 : 1 + from.below(40), vocabulary),
      wanted: from.uniform() < 0.8,
    })),
  );
}

function largestDifference(a: number[][], b: number[][]): number {
  let most = 0;
  expect(a.length).toBe(b.length);
  for (const [i, row] of a.entries())
    for (const [k, value] of row.entries()) most = Math.max(most, Math.abs(value - b[i]![k]!));
  return most;
}

const MODELS: [string, TestModelOptions][] = [
  ["norms of q and k", {}],
  ["biases, no norms", { queryKeyNorm: false, queryKeyValueBias: true, outputBias: true }],
  ["no grouping of heads", { heads: 4, keyValueHeads: 4 }],
  ["one key head", { heads: 6, keyValueHeads: 1, headDimension: 10 }],
  ["sliding windows", { slidingWindows: [5, 20] }],
  ["an output layer of its own", { tiedEmbeddings: false }],
  ["no rope in one layer", { queryKeyNorm: false, withoutRope: [1], slidingWindows: [null, 20] }],
  ["what Gemma 3 has", GEMMA_PARTS],
  [
    "Gemma 3, biases",
    { ...GEMMA_PARTS, queryKeyValueBias: true, outputBias: true, withoutRope: [0] },
  ],
  ["gelu alone", { activation: "gelu-tanh" }],
  ["norms of what is added", { outputNorms: true }],
  ["odd sizes", { hiddenSize: 37, intermediateSize: 301, headDimension: 6, vocabularySize: 211 }],
];

describe("the native pass", () => {
  it.each(MODELS)("gives the operators' logits: %s", (_, options) => {
    const model = testModel({ sharpness: 2, ...options });
    expect(hasNativePass(model)).toBe(true);
    const [ours, twin] = [new Runner(model, nativePass), new Runner(model, operatorPass)];
    const from = random(3);
    for (const step of randomSteps(from, model.config.vocabularySize))
      expect(largestDifference(ours.add(step), twin.add(step))).toBeLessThan(2e-5);
    for (const each of [ours, twin, model]) each.dispose();
    expect(memory().tensors).toBe(BEFORE);
  });

  it.each(MODELS)("gives the same bits in every batch, portion and thread: %s", (_, options) => {
    const model = testModel(options);
    // Few enough for so many sequences that each is attended to in one piece, all heads together.
    const several = Math.min(allThreads, 2);
    setThreads(several);
    const from = random(4);
    const vocabulary = model.config.vocabularySize;
    const prompts = Array.from({ length: 21 }, () => from.ids(2 + from.below(70), vocabulary));
    // All at once.
    const together = new Runner(model, nativePass);
    const expected = together.add(
      prompts.map((ids, sequence) => ({ sequence, ids, wanted: true })),
    );
    together.dispose();
    // Each alone, in portions, by one thread.
    setThreads(1);
    for (const [i, ids] of prompts.entries()) {
      const alone = new Runner(model, nativePass);
      const cut = 1 + from.below(ids.length - 1);
      const first = { sequence: 0, ids: ids.slice(0, cut), wanted: false };
      expect(alone.add([first])).toEqual([]);
      const [logits] = alone.add([{ sequence: 0, ids: ids.slice(cut), wanted: true }]);
      expect(logits).toEqual(expected[i]);
      alone.dispose();
    }
    // Token by token, all in step.
    setThreads(several);
    const slowly = new Runner(model, nativePass);
    const last: number[][] = [];
    for (let at = 0; at < Math.max(...prompts.map((ids) => ids.length)); at++) {
      const present = prompts.flatMap((ids, sequence) => (at < ids.length ? [sequence] : []));
      const logits = slowly.add(
        present.map((sequence) => ({ sequence, ids: [prompts[sequence]![at]!], wanted: true })),
      );
      for (const [k, sequence] of present.entries()) last[sequence] = logits[k]!;
    }
    expect(last).toEqual(expected);
    slowly.dispose();
    model.dispose();
    expect(memory().tensors).toBe(BEFORE);
  });

  it.each(MODELS)("bfloat16 weights give the bits of the same in float32: %s", (_, options) => {
    const short = inDtype(testModel({ sharpness: 2, ...options }), "bfloat16");
    // The same numbers, but for Gemma's scale of embeddings, which is rounded as they are.
    const { hiddenSize } = short.config;
    const isRounded = options.scaledEmbeddings && Math.sqrt(hiddenSize) % 1 !== 0;
    const wide = inDtype(short, "float32", false);
    expect(hasNativePass(short)).toBe(true);
    const [ours, same] = [new Runner(short, nativePass), new Runner(wide, nativePass)];
    const twin = new Runner(short, operatorPass);
    const from = random(4);
    for (const step of randomSteps(from, short.config.vocabularySize)) {
      const found = ours.add(step);
      const expected = same.add(step);
      if (!isRounded) expect(found).toEqual(expected);
      // The operators round every activation to three digits.
      expect(largestDifference(found, twin.add(step))).toBeLessThan(0.5);
    }
    for (const each of [ours, same, twin, short, wide]) each.dispose();
    expect(memory().tensors).toBe(BEFORE);
  });

  it("leaves other dtypes and adapters to the operators", () => {
    const model = testModel();
    model.adapter = { add: (_layer, _matrix, _x, product) => product };
    expect(hasNativePass(model)).toBe(false);
    model.adapter = null;
    expect(hasNativePass(model)).toBe(true);
    const half = inDtype(model, "float16");
    expect(hasNativePass(half)).toBe(false);
    half.dispose();
    expect(memory().tensors).toBe(BEFORE);
  });

  it("refuses what does not fit", () => {
    const model = testModel();
    const runner = new Runner(model, nativePass);
    const vocabulary = model.config.vocabularySize;
    const step = (ids: number[]) => () => runner.add([{ sequence: ids[0]!, ids, wanted: true }]);
    expect(step([vocabulary])).toThrow(new RegExp(`id ${vocabulary} is not in the vocabulary`));
    expect(step([-1])).toThrow(/id -1 is not in the vocabulary/);
    runner.dispose();
    model.dispose();
  });
});
