/**
 * @file The native sampler: exactly its twin in plain JavaScript, and in the long run the
 * probabilities that it claims.
 */
import { describe, expect, it } from "vitest";
import type { SampledToken, SamplingOptions } from "../../src/generation/index.ts";
import {
  drawSeed,
  drawTokens,
  fillSampling,
  type SamplerRow,
  uniformFor,
} from "../../src/generation/sampling.ts";
import { fromTypedArray, memory } from "../../src/torch/index.ts";
import { type Random, random } from "./support.ts";

const VOCABULARY = 40;

function rowOf(options: Partial<SamplingOptions>, more: Partial<SamplerRow> = {}): SamplerRow {
  return {
    sampling: fillSampling({ maximumTokens: 1, ...options }, VOCABULARY, []),
    seed: 0n,
    repeated: [],
    forbidden: [],
    allowed: null,
    ...more,
  };
}

function randomLogits(from: Random): Float32Array {
  return Float32Array.from({ length: VOCABULARY }, () => (from.uniform() - 0.5) * 8);
}

/** The distribution that a row is drawn from, by definition; by id. */
function distribution(logits: Float32Array, row: SamplerRow): Map<number, number> {
  const { temperature, topK, topP, minP, repetitionPenalty, bias } = row.sampling;
  const changed = Array.from(logits);
  for (const id of new Set(row.repeated))
    changed[id]! =
      changed[id]! > 0 ? changed[id]! / repetitionPenalty : changed[id]! * repetitionPenalty;
  for (const [id, value] of bias ?? []) changed[id]! += value;
  for (const id of row.forbidden) changed[id] = Number.NEGATIVE_INFINITY;
  let kept = (row.allowed ? [...row.allowed] : changed.map((_, id) => id)).sort(
    (a, b) => changed[b]! - changed[a]! || a - b,
  );
  if (temperature === 0) return new Map([[kept[0]!, 1]]);
  const weights = (ids: number[]) => {
    const each = ids.map((id) => Math.exp((changed[id]! - changed[kept[0]!]!) / temperature));
    const sum = each.reduce((a, b) => a + b, 0);
    return each.map((weight) => weight / sum);
  };
  if (topK > 0) kept = kept.slice(0, topK);
  if (topP < 1) {
    const probabilities = weights(kept);
    let reached = 0;
    kept = kept.filter((_, i) => {
      const wanted = reached < topP;
      reached += probabilities[i]!;
      return wanted;
    });
  }
  const best = changed[kept[0]!]! / temperature;
  kept = kept.filter((id) => changed[id]! / temperature >= best + Math.log(minP));
  const probabilities = weights(kept);
  const pairs = kept.map((id, i) => [id, probabilities[i]!] as const);
  return new Map(pairs.filter(([, p]) => p > 0).sort(([a], [b]) => a - b));
}

/** The first to arrive, where each one's time is exponential with its probability as rate. */
function race(probabilities: Map<number, number>, seed: bigint): [number, number] {
  const times = [...probabilities].map((entry) => {
    const time = -Math.log1p(-unit(seed, entry[0])) / entry[1];
    return { entry, time };
  });
  return times.reduce((first, next) => (next.time < first.time ? next : first)).entry;
}

function unit(seed: bigint, id: number): number {
  const mix = (x: number) => {
    let y = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    y = Math.imul(y ^ (y >>> 15), 0xd35a2d97);
    return y ^ (y >>> 15);
  };
  const low = Number(seed & 0xffff_ffffn);
  const high = Number((seed >> 32n) & 0xffff_ffffn);
  const hash = mix(mix((Math.imul(id, 0x9e3779b9) + low) | 0) ^ high);
  return ((hash >>> 1) + 0.5) / 2 ** 31;
}

function modelLogprob(logits: Float32Array, id: number): number {
  const most = Math.max(...logits);
  return logits[id]! - most - Math.log(logits.reduce((sum, x) => sum + Math.exp(x - most), 0));
}

function drawAll(logits: Float32Array[], rows: SamplerRow[]): SampledToken[] {
  const all = Float32Array.from(logits.flatMap((row) => [...row]));
  const tensor = fromTypedArray(all, [logits.length, VOCABULARY]);
  const drawn = drawTokens(tensor, rows);
  tensor.dispose();
  return drawn.map((token) => {
    if (token instanceof Error) throw token;
    return token;
  });
}

function randomRow(from: Random): SamplerRow {
  const sometimes = <Value>(value: Value, otherwise: Value) =>
    from.uniform() < 0.5 ? value : otherwise;
  return rowOf(
    {
      temperature: sometimes(0.2 + 2 * from.uniform(), sometimes(1, 0)),
      topK: sometimes(1 + from.below(VOCABULARY + 5), 0),
      topP: sometimes(0.05 + 0.9 * from.uniform(), 1),
      minP: sometimes(0.5 * from.uniform(), 0),
      repetitionPenalty: sometimes(0.5 + from.uniform(), 1),
      bias: new Map(sometimes([[from.below(VOCABULARY), 4 * from.uniform() - 2]], [])),
    },
    {
      seed: drawSeed(7n, from.below(2 ** 30)),
      repeated: from.ids(10, VOCABULARY),
      forbidden: sometimes([from.below(VOCABULARY)], []),
      allowed: sometimes([...new Set([3, 4, ...from.ids(6, VOCABULARY)])], null),
    },
  );
}

describe("the sampler", () => {
  it("agrees with its twin: the token, and both log-probabilities", () => {
    const from = random(1);
    const rows = Array.from({ length: 1500 }, () => randomRow(from));
    const logits = rows.map(() => randomLogits(from));
    const before = memory().tensors;
    const drawn = drawAll(logits, rows);
    expect(memory().tensors).toBe(before);
    for (const [i, { id, logprob, sampledLogprob }] of drawn.entries()) {
      const expected = distribution(logits[i]!, rows[i]!);
      const [chosen, probability] = race(expected, rows[i]!.seed);
      expect(id).toBe(chosen);
      expect(sampledLogprob).toBeCloseTo(Math.log(probability), 6);
      expect(logprob).toBeCloseTo(modelLogprob(logits[i]!, id), 6);
    }
  });

  it.each<[string, Partial<SamplingOptions>, Partial<SamplerRow>]>([
    ["plain", {}, {}],
    ["temperature", { temperature: 0.6 }, {}],
    ["high temperature", { temperature: 3 }, {}],
    ["top-k", { topK: 7 }, {}],
    ["top-p", { topP: 0.8 }, {}],
    ["min-p", { minP: 0.1 }, {}],
    ["all filters", { temperature: 1.5, topK: 20, topP: 0.9, minP: 0.05 }, {}],
    ["repetition penalty", { repetitionPenalty: 1.8 }, { repeated: [1, 2, 3, 4, 5, 6, 7, 8, 9] }],
    [
      "bias",
      {
        bias: new Map([
          [2, 3],
          [5, -3],
          [7, Number.NEGATIVE_INFINITY],
        ]),
      },
      {},
    ],
    ["a minimum length", {}, { forbidden: [3, 4] }],
    ["a constraint", {}, { allowed: [1, 8, 30] }],
  ])("draws as often as it says: %s", (_, options, more) => {
    const draws = 8000;
    const logits = randomLogits(random(5));
    const base = rowOf(options, more);
    const rows = Array.from({ length: draws }, (_, seed) => ({
      ...base,
      seed: drawSeed(BigInt(seed), 3),
    }));
    const counts = new Map<number, number>();
    for (const { id } of drawAll(
      rows.map(() => logits),
      rows,
    ))
      counts.set(id, (counts.get(id) ?? 0) + 1);
    const expected = distribution(logits, base);
    for (const id of counts.keys()) expect(expected.has(id)).toBe(true);
    expect(chiSquareScore(counts, expected, draws)).toBeLessThan(4);
  });

  it("gives an error for a row that cannot be drawn from, and to no other", () => {
    const logits = Float32Array.from({ length: 4 * VOCABULARY }, () => 1);
    logits[VOCABULARY + 7] = Number.NaN;
    logits[2 * VOCABULARY + 7] = Number.POSITIVE_INFINITY;
    const tensor = fromTypedArray(logits, [4, VOCABULARY]);
    const rows = [
      rowOf({}),
      rowOf({ topK: 3 }),
      rowOf({ topP: 0.5 }),
      rowOf({ bias: new Map([[2, Number.NEGATIVE_INFINITY]]) }, { allowed: [2] }),
    ];
    const drawn = drawTokens(tensor, rows);
    tensor.dispose();
    expect(drawn[0]).not.toBeInstanceOf(Error);
    expect(String(drawn[1])).toMatch(/not finite: are there NaN or infinite weights/);
    expect(String(drawn[2])).toMatch(/not finite/);
    expect(String(drawn[3])).toMatch(/leave no token to draw/);
  });

  it("does not change its draw with the last bit of a logit", () => {
    const from = random(9);
    const logits = Array.from({ length: 2000 }, () => randomLogits(from));
    const nudged = logits.map((row) => row.map((x) => x * (1 + (from.below(3) - 1) * 2 ** -23)));
    const rows = logits.map(() =>
      rowOf({ topP: 0.95, topK: 30 }, { seed: drawSeed(8n, from.below(2 ** 30)) }),
    );
    const ids = (all: Float32Array[]) => drawAll(all, rows).map(({ id }) => id);
    expect(ids(nudged)).toEqual(ids(logits));
  });
});

/** How many standard deviations χ² is above its mean (Wilson and Hilferty's approximation). */
function chiSquareScore(
  counts: Map<number, number>,
  expected: Map<number, number>,
  draws: number,
): number {
  let [square, cells, restCount, restExpected] = [0, 0, 0, 0];
  const cell = (count: number, mean: number) => {
    square += (count - mean) ** 2 / mean;
    cells++;
  };
  for (const [id, probability] of expected) {
    const [count, mean] = [counts.get(id) ?? 0, probability * draws];
    if (mean >= 10) cell(count, mean);
    else [restCount, restExpected] = [restCount + count, restExpected + mean];
  }
  if (restExpected > 5) cell(restCount, restExpected);
  if (cells < 2) return 0;
  const spread = 2 / (9 * (cells - 1));
  return ((square / (cells - 1)) ** (1 / 3) - (1 - spread)) / Math.sqrt(spread);
}

describe("the numbers that draw", () => {
  it("are uniform, over the draws of a request as over seeds", () => {
    for (const one of [(i: number) => uniformFor(7n, i), (i: number) => uniformFor(BigInt(i), 7)]) {
      const counts = new Map<number, number>();
      for (let i = 0; i < 20_000; i++) {
        const bin = Math.floor(one(i) * 50);
        counts.set(bin, (counts.get(bin) ?? 0) + 1);
      }
      const even = new Map(Array.from({ length: 50 }, (_, i) => [i, 1 / 50]));
      expect(Math.abs(chiSquareScore(counts, even, 20_000))).toBeLessThan(4);
    }
  });

  it("of neighbouring seeds and draws are unrelated", () => {
    // Seed s, draw d + 1 must not be seed s + 1, draw d.
    const seen = new Set<number>();
    for (let seed = 0; seed < 100; seed++)
      for (let draw = 0; draw < 100; draw++) seen.add(uniformFor(BigInt(seed), draw));
    expect(seen.size).toBe(10_000);
  });
});

describe("sampling options", () => {
  it.each<[Partial<SamplingOptions>, RegExp]>([
    [{ temperature: -1 }, /temperature must be 0 or more, got -1/],
    [{ temperature: Number.NaN }, /temperature/],
    [{ topK: 1.5 }, /topK must be a whole number/],
    [{ topP: 0 }, /topP must be above 0/],
    [{ topP: 1.1 }, /topP/],
    [{ minP: 2 }, /minP must be from 0 to 1/],
    [{ repetitionPenalty: 0 }, /repetitionPenalty must be above 0/],
    [{ maximumTokens: 0 }, /maximumTokens/],
    [{ minimumTokens: -1 }, /minimumTokens/],
    [{ stopTokens: [VOCABULARY] }, /stopTokens must be ids below 40/],
    [{ bias: new Map([[-1, 1]]) }, /bias must be of ids below 40/],
    [{ bias: new Map([[1, Number.NaN]]) }, /bias must be numbers/],
    [{ bias: new Map([[1, Number.POSITIVE_INFINITY]]) }, /bias must be numbers/],
    [{ stopStrings: [""] }, /stopStrings must be not empty/],
    [{ choices: [] }, /choices must be a list with at least one string/],
  ])("%o are refused", (options, message) => {
    expect(() => rowOf(options)).toThrow(message);
  });
});
