/**
 * @file The packed forward pass: equal to the plain one for every family and option, and independent
 * of how sequences are put together.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byTokenBudget,
  hiddenStates,
  loadModel,
  logits,
  type Model,
  type ModelConfig,
  packSequences,
  tokenOutputs,
} from "../../../src/models/index.ts";
import {
  cat,
  clearGradients,
  noGrad,
  type Tensor,
  tensor,
  tidy,
} from "../../../src/torch/index.ts";
import { GOLDEN, goldenNames, isWithoutGolden } from "../files.ts";
import {
  difference,
  GEMMA,
  modelsOfTests,
  plainLogits,
  randomSequences,
  smallConfig,
  smallModel,
} from "./support.ts";

const { model, keepTrack } = modelsOfTests();

/** The largest difference between packed and plain logits of some sequences. */
function fromPlain(model: Model, sequences: readonly number[][]): number {
  return noGrad(() =>
    tidy(() => {
      const packed = logits(model, packSequences(sequences));
      const plain = sequences.filter(({ length }) => length > 0).map((s) => plainLogits(model, s));
      return difference(packed, cat(plain));
    }),
  );
}

const rope = (rope: ModelConfig["rope"]): Partial<ModelConfig> => ({ rope });
const yarn = { attentionFactor: null, mscale: null, mscaleAllDimensions: null } as const;

describe("packed logits are the plain ones", () => {
  it.each<[string, Partial<ModelConfig>]>([
    ["qwen2", { queryKeyValueBias: true }],
    ["qwen3, heads of another size", { family: "qwen3", queryKeyNorm: true, headDimension: 10 }],
    ["llama, untied, biases", { family: "llama", tiedEmbeddings: false, outputBias: true }],
    ["mistral, a window", { family: "mistral", slidingWindows: [5, 5] }],
    ["a window in one layer", { slidingWindows: [null, 3] }],
    ["a window of one token", { slidingWindows: [1, null] }],
    ["smollm3, one layer without rope", { family: "smollm3", withoutRope: [1] }],
    [
      "smollm3, that layer sees a window",
      { family: "smollm3", withoutRope: [0], slidingWindows: [5, null] },
    ],
    ["gemma3", GEMMA],
    ["gemma3, biases, untied", { ...GEMMA, outputBias: true, tiedEmbeddings: false }],
    [
      "gemma3, both ropes scaled",
      {
        ...GEMMA,
        rope: { kind: "dynamic", theta: 10_000, factor: 2 },
        localRope: { kind: "linear", theta: 10_000, factor: 8 },
        maximumPositions: 8,
      },
    ],
    ["gelu", { activation: "gelu-tanh" }],
    ["scaled embeddings", { scaledEmbeddings: true }],
    ["norms that add one", { normsAddOne: true, queryKeyNorm: true }],
    ["norms of what is added", { outputNorms: true }],
    ["another scale of scores", { attentionScalar: 50 }],
    ["7 heads of one", { heads: 7, keyValueHeads: 1, headDimension: 4 }],
    ["5 heads of five", { heads: 5, keyValueHeads: 5, headDimension: 2 }],
    ["9 heads of three", { heads: 9, keyValueHeads: 3, headDimension: 8, queryKeyNorm: true }],
    ["1 head, 1 layer", { heads: 1, keyValueHeads: 1, layers: 1 }],
    ["linear rope", rope({ kind: "linear", theta: 10_000, factor: 4 })],
    ["dynamic rope", rope({ kind: "dynamic", theta: 10_000, factor: 2 })],
    [
      "dynamic rope beyond its positions",
      { ...rope({ kind: "dynamic", theta: 10_000, factor: 2 }), maximumPositions: 8 },
    ],
    [
      "llama3 rope",
      rope({
        ...{ kind: "llama3", theta: 10_000, factor: 8 },
        ...{ lowFrequencyFactor: 1, highFrequencyFactor: 4, originalMaximumPositions: 16 },
      }),
    ],
    [
      "yarn rope",
      rope({
        ...{ kind: "yarn", theta: 10_000, factor: 4, originalMaximumPositions: 16, ...yarn },
        ...{ betaFast: 32, betaSlow: 1, truncate: true },
      }),
    ],
  ])("%s", (_, changes) => {
    const config = smallConfig(changes);
    const sequences = randomSequences([9, 1, 0, 17, 2, 30], config.vocabularySize);
    expect(fromPlain(model(config, "float64"), sequences)).toBeLessThan(1e-6);
    expect(fromPlain(model(config), sequences)).toBeLessThan(5e-5);
  });
});

describe("whatever the options", () => {
  const heads = fc.constantFrom([1, 1], [4, 2], [3, 3], [6, 2]);
  const rope = fc.oneof(
    fc.record({ kind: fc.constant("default" as const), theta: fc.constantFrom(100, 10_000) }),
    fc.record({
      kind: fc.constant("linear" as const),
      theta: fc.constantFrom(500, 1e6),
      factor: fc.constantFrom(2, 8),
    }),
  );
  const layers = 3;
  const options = fc
    .record({
      heads,
      ...{ queryKeyValueBias: fc.boolean(), outputBias: fc.boolean(), queryKeyNorm: fc.boolean() },
      ...{ scaledEmbeddings: fc.boolean(), normsAddOne: fc.boolean(), outputNorms: fc.boolean() },
      ...{ tiedEmbeddings: fc.boolean(), rope, localRope: fc.option(rope) },
      activation: fc.constantFrom("silu" as const, "gelu-tanh" as const),
      headDimension: fc.constantFrom(2, 6, 8),
      attentionScalar: fc.option(fc.constantFrom(3, 40)),
      slidingWindows: fc.array(fc.option(fc.integer({ min: 1, max: 9 })), {
        ...{ minLength: layers, maxLength: layers },
      }),
      withoutRope: fc.subarray([0, 1, 2]),
    })
    .map(({ heads: [queries, keys], ...rest }) => {
      const sizes = { layers, heads: queries!, keyValueHeads: keys!, hiddenSize: 10 };
      return smallConfig({ ...rest, ...sizes, intermediateSize: 7, vocabularySize: 23 });
    });

  it("logits and gradients are the plain ones", () => {
    const sequences = randomSequences([13, 1, 6], 23);
    const differs = (config: ModelConfig): void => {
      const own = smallModel(config, "float64");
      const gradients = (logitsOf: () => Tensor): Map<string, Tensor> => {
        logitsOf().logSoftmax(-1).select(1, 5).sum().backward();
        const found = [...own.parameters].map(([name, { grad }]) => [name, grad!.clone()] as const);
        clearGradients(own.parameters);
        return new Map(found);
      };
      tidy(() => {
        expect(fromPlain(own, sequences)).toBeLessThan(1e-6);
        const plain = gradients(() => cat(sequences.map((ids) => plainLogits(own, ids))));
        for (const layersPerSegment of [0, 2]) {
          const packed = gradients(() =>
            logits(own, packSequences(sequences), { layersPerSegment }),
          );
          for (const [name, gradient] of packed)
            expect(difference(gradient, plain.get(name)!), name).toBeLessThan(1e-6);
        }
      });
      own.dispose();
    };
    fc.assert(fc.property(options, differs), { numRuns: 30 });
  });
});

describe("packing", () => {
  const config = smallConfig({ queryKeyValueBias: true, slidingWindows: [null, 6] });
  const sequences = randomSequences([12, 1, 25, 0, 7, 3, 18], config.vocabularySize);

  it.each([
    ["one at a time", sequences.map((sequence) => [sequence])],
    ["in two halves", [sequences.slice(0, 3), sequences.slice(3)]],
    ["backwards", [sequences.toReversed()]],
    [
      "by token budget",
      byTokenBudget(
        sequences.map((s) => s.length),
        30,
      ).map((batch) => batch.map((i) => sequences[i]!)),
    ],
  ])("gives the same logits %s", (_, batches) => {
    const own = model(config);
    noGrad(() =>
      tidy(() => {
        const rowsOf = (batch: readonly number[][]): Map<number[], Tensor> => {
          const parts = logits(own, packSequences(batch)).split(batch.map((s) => s.length));
          return new Map(batch.map((sequence, i) => [sequence, parts[i]!]));
        };
        const whole = rowsOf(sequences);
        for (const batch of batches)
          for (const [sequence, rows] of rowsOf(batch))
            if (sequence.length > 0)
              expect(difference(rows, whole.get(sequence)!)).toBeLessThan(1e-5);
      }),
    );
  });

  it("allows nothing but empty sequences", () => {
    const own = model(config);
    tidy(() => expect(logits(own, packSequences([[], []])).shape).toEqual([0, 61]));
    tidy(() => expect(hiddenStates(own, packSequences([])).shape).toEqual([0, 24]));
  });

  it("refuses a sequence longer than the model's positions", () => {
    const own = model(config);
    tidy(() =>
      expect(() => logits(own, packSequences(randomSequences([65], 61)))).toThrow(
        /sequence of 65 tokens is longer than the model's 64 positions; cut it/,
      ),
    );
  });

  it.each([-1, 0.5, Number.NaN])("refuses segments of %d layers", (layersPerSegment) => {
    const own = model(config);
    tidy(() =>
      expect(() => logits(own, packSequences([[1]]), { layersPerSegment })).toThrow(
        /layersPerSegment: expected a whole number/,
      ),
    );
  });

  it("refuses ids that the vocabulary has not", () => {
    const own = model(config);
    tidy(() => expect(() => logits(own, packSequences([[1, 61]]))).toThrow(/range/));
  });
});

describe.skipIf(isWithoutGolden())("golden rows, packed without their padding", () => {
  it.each(goldenNames())("%s", (name) => {
    const golden = JSON.parse(readFileSync(join(GOLDEN, name, "golden.json"), "utf8")) as {
      input_ids: number[][];
      attention_mask: number[][];
      logits: number[][][];
    };
    const own = loadModel(join(GOLDEN, name), { dtype: "float32" });
    keepTrack(own);
    const kept = <Value>(rows: Value[][]) =>
      rows.map((row, i) => row.filter((_, k) => golden.attention_mask[i]![k] === 1));
    noGrad(() =>
      tidy(() => {
        const computed = logits(own, packSequences(kept(golden.input_ids)));
        expect(difference(computed, tensor(kept(golden.logits).flat()))).toBeLessThan(2e-5);
      }),
    );
  });
});

describe("tokenOutputs", () => {
  it("are log-softmax and entropy of the logits, with a temperature", () => {
    const config = smallConfig();
    const own = model(config);
    const sequences = randomSequences([6, 9], config.vocabularySize);
    noGrad(() =>
      tidy(() => {
        const batch = packSequences(sequences);
        const places = tensor([0, 3, 4, 6, 13], { dtype: "int64" });
        const targets = tensor([5, 60, 0, 11, 12], { dtype: "int64" });
        const { logprobs, entropies } = tokenOutputs(own, batch, places, targets, {
          temperature: 0.7,
        });
        const all = logits(own, batch).indexSelect(0, places).div(0.7).logSoftmax(-1);
        const expected = all.gather(1, targets.unsqueeze(1)).squeeze(1);
        expect(difference(logprobs, expected)).toBeLessThan(1e-5);
        expect(difference(entropies!, all.exp().mul(all).sum(-1).neg())).toBeLessThan(1e-5);
        const without = tokenOutputs(own, batch, places, targets, { entropy: false });
        expect(without.entropies).toBeNull();
      }),
    );
  });
});

describe("bfloat16", () => {
  it("is close to float32", () => {
    const config = smallConfig({ queryKeyValueBias: true, initializerRange: 0.1 });
    const [long, short] = [model(config), model(config, "bfloat16")];
    const batch = randomSequences([20, 11], config.vocabularySize);
    noGrad(() =>
      tidy(() => {
        const exact = logits(long, packSequences(batch));
        const rough = logits(short, packSequences(batch));
        expect(rough.dtype).toBe("bfloat16");
        expect(difference(exact, rough)).toBeLessThan(0.05 * exact.abs().amax().item());
      }),
    );
  });
});

describe("byTokenBudget", () => {
  it("covers every index once, within the budget, the same each time", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const lengths = randomSequences([seed], 90, seed)[0]!;
      const batches = byTokenBudget(lengths, 100);
      expect(batches.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
      for (const batch of batches)
        expect(batch.reduce((sum, i) => sum + lengths[i]!, 0)).toBeLessThanOrEqual(100);
      expect(byTokenBudget(lengths, 100)).toEqual(batches);
    }
  });

  it("gives a sequence above the budget a pass of its own, and refuses a budget of none", () => {
    expect(byTokenBudget([5, 200, 6], 100)).toEqual([[1], [0, 2]]);
    expect(byTokenBudget([], 100)).toEqual([]);
    expect(() => byTokenBudget([1], 0)).toThrow(/budget above 0, got 0/);
    expect(() => byTokenBudget([1], Number.NaN)).toThrow(/budget above 0/);
  });
});
