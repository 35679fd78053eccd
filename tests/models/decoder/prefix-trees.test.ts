/**
 * @file Sequences that share their beginnings: the packed trees hold every sequence, and what a model computes
 * of them, gradients included, is what it computes of each sequence by itself.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  familiesByTokenBudget,
  type Model,
  type ModelConfig,
  packSequences,
  tokenOutputs,
  valueModelFrom,
  values,
} from "../../../src/models/index.ts";
import { grad, type Tensor, tensor, tidy } from "../../../src/torch/index.ts";
import { modelsOfTests, smallConfig } from "./support.ts";

const { model, keepTrack } = modelsOfTests();

/** Sequences as episodes make them: each goes on from a part of an earlier one, or begins anew. */
const episodes = fc
  .array(
    fc.record({
      from: fc.nat(),
      kept: fc.double({ min: 0, max: 1, noNaN: true }),
      more: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 0, maxLength: 30 }),
      isNew: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((steps) => {
    const made: number[][] = [];
    for (const { from, kept, more, isNew } of steps) {
      const earlier = isNew || made.length === 0 ? [] : made[from % made.length]!;
      made.push([...earlier.slice(0, Math.round(kept * earlier.length)), ...more].slice(0, 60));
    }
    return made;
  });

describe("packing", () => {
  it("every token of every sequence is in its place, behind its own beginning", () => {
    fc.assert(
      fc.property(episodes, fc.boolean(), (sequences, sharePrefixes) => {
        tidy(() => {
          const packed = packSequences(sequences, { sharePrefixes });
          const ids = packed.ids.toNumbers();
          const positions = packed.positions.toNumbers();
          const starts = packed.cumulativeLengths.toNumbers();
          const parents = packed.parents?.toNumbers();
          for (const [i, sequence] of sequences.entries()) {
            const places = packed.places[i]!;
            expect(Array.from(places, (place) => ids[place])).toEqual(sequence);
            expect(Array.from(places, (place) => positions[place])).toEqual([...sequence.keys()]);
            // Walked back from its last token, the tree gives the same places.
            const walked: number[] = [];
            let run = starts.findLastIndex((start) => start <= (places.at(-1) ?? -1));
            for (let end = (places.at(-1) ?? -1) + 1; run >= 0; run = parents?.[run] ?? -1) {
              for (let at = end - 1; at >= starts[run]!; at--) walked.unshift(at);
              end = starts[parents?.[run] ?? -1] === undefined ? 0 : starts[parents![run]! + 1]!;
            }
            expect(walked).toEqual([...places]);
          }
          if (!sharePrefixes) expect(parents).toBeUndefined();
        });
      }),
      { numRuns: 300 },
    );
  });

  it("what is shared is there once; few tokens are not worth it", () => {
    const prompt = Array.from({ length: 40 }, (_, i) => i);
    tidy(() => {
      const group = [1, 2, 3].map((reply) => [...prompt, 50 + reply, 60]);
      expect(packSequences(group, { sharePrefixes: true }).ids.shape).toEqual([40 + 3 * 2]);
      expect(packSequences(group).ids.shape).toEqual([3 * 42]);
      const short = [1, 2].map((reply) => [...prompt.slice(0, 10), 50 + reply]);
      expect(packSequences(short, { sharePrefixes: true }).parents).toBeNull();
      // Equal sequences, and one that ends where others go on.
      const equal = packSequences([prompt, prompt, [...prompt, 7]], { sharePrefixes: true });
      expect(equal.ids.shape).toEqual([41]);
    });
  });

  it("passes keep families together, count what they share once, and lose none", () => {
    fc.assert(
      fc.property(episodes, fc.integer({ min: 1, max: 200 }), (sequences, budget) => {
        const passes = familiesByTokenBudget(sequences, budget);
        const all = [...sequences.keys()].filter((i) => sequences[i]!.length > 0);
        expect(passes.flat().sort((a, b) => a - b)).toEqual(all);
        tidy(() => {
          for (const pass of passes) {
            const members = pass.map((i) => sequences[i]!);
            const { ids } = packSequences(members, { sharePrefixes: true });
            expect(members.length === 1 || ids.size(0) <= budget).toBe(true);
          }
        });
      }),
      { numRuns: 300 },
    );
    const prompt = Array.from({ length: 50 }, (_, i) => i);
    const group = (first: number) => [1, 2, 3].map((reply) => [first, ...prompt, reply]);
    const mixed = [...group(100), ...group(101)];
    expect(familiesByTokenBudget(mixed, 60)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });
});

/** Weighted sums of what a model says of all tokens but the first of each sequence, and their gradients. */
function outputsOf(
  model: Model,
  sequences: readonly number[][],
  sharePrefixes: boolean,
  layersPerSegment: number,
): { outputs: number[]; gradients: Map<string, number[]> } {
  return tidy(() => {
    const packed = packSequences(sequences, { sharePrefixes });
    const rows = sequences.flatMap((sequence, i) =>
      sequence.slice(1).map((id, k) => ({ id, place: packed.places[i]![k]! })),
    );
    const places = tensor(
      rows.map(({ place }) => place),
      { dtype: "int64" },
    );
    const targets = tensor(
      rows.map(({ id }) => id),
      { dtype: "int64" },
    );
    let outputs: Tensor[];
    if (model.config.head === "causal-lm") {
      const { logprobs, entropies } = tokenOutputs(model, packed, places, targets, {
        layersPerSegment,
      });
      outputs = [logprobs, entropies!];
    } else {
      outputs = [values(model, packed, { layersPerSegment }).indexSelect(0, places)];
    }
    const weights = tensor(
      rows.map((_, i) => Math.sin(3 * i + 1)),
      { dtype: outputs[0]!.dtype },
    );
    const total = outputs.map((output) => output.mul(weights).sum()).reduce((a, b) => a.add(b));
    const names = [...model.trainable.keys()];
    const found = grad(total, [...model.trainable.values()], { allowUnused: true });
    return {
      outputs: outputs.flatMap((output) => [...output.toNumbers()]),
      gradients: new Map(
        names.map((name, i) => [name, [...(found[i]?.toNumbers() ?? [])]] as const),
      ),
    };
  });
}

/** |a - b| / |b| as vectors. */
function relative(a: readonly number[], b: readonly number[]): number {
  expect(a.length).toBe(b.length);
  const norm = (x: readonly number[]) => Math.hypot(...x);
  return norm(a.map((value, i) => value - b[i]!)) / (norm(b) || 1);
}

describe("what a model computes of trees", () => {
  it.each<[string, Partial<ModelConfig>]>([
    ["qwen2", { queryKeyValueBias: true }],
    ["qwen3", { family: "qwen3", queryKeyNorm: true, headDimension: 10 }],
    ["llama, untied", { family: "llama", tiedEmbeddings: false }],
    ["a window in one layer", { slidingWindows: [null, 12] }],
    ["heads of one", { heads: 6, keyValueHeads: 1, headDimension: 4 }],
  ])("is what it computes of each sequence: %s", { timeout: 60_000 }, (_, changes) => {
    const config = smallConfig(changes);
    const policy = model(config);
    fc.assert(
      fc.property(episodes, fc.constantFrom(0, 1), (sequences, layersPerSegment) => {
        if (!sequences.some(({ length }) => length > 1)) return;
        const shared = outputsOf(policy, sequences, true, layersPerSegment);
        const plain = outputsOf(policy, sequences, false, layersPerSegment);
        expect(relative(shared.outputs, plain.outputs)).toBeLessThan(1e-5);
        const all = (gradients: Map<string, number[]>) => [...gradients.values()].flat();
        expect(relative(all(shared.gradients), all(plain.gradients))).toBeLessThan(1e-5);
      }),
      { numRuns: 25, seed: 3 },
    );
  });

  it("in float64 to the last digits, a value model's too", () => {
    const policy = model(smallConfig({ queryKeyValueBias: true }), "float64");
    const critic = valueModelFrom(policy);
    keepTrack(critic);
    const prompt = Array.from({ length: 30 }, (_, i) => (7 * i) % 61);
    const turn = Array.from({ length: 20 }, (_, i) => (11 * i) % 61);
    const sequences = [
      ...[1, 2].map((reply) => [...prompt, reply, 5]),
      ...[3, 4, 5].map((reply) => [...prompt, ...turn, reply, 6]),
    ];
    for (const each of [policy, critic]) {
      const shared = outputsOf(each, sequences, true, 1);
      const plain = outputsOf(each, sequences, false, 0);
      for (const [name, gradient] of plain.gradients)
        expect(relative(shared.gradients.get(name)!, gradient), name).toBeLessThan(1e-12);
    }
  });

  it("dynamic rope depends on whole sequences, and is refused", () => {
    const config = smallConfig({ rope: { kind: "dynamic", theta: 1e4, factor: 2 } });
    const policy = model({ ...config, maximumPositions: 8 });
    const prompt = Array.from({ length: 20 }, (_, i) => i);
    expect(() =>
      outputsOf(
        policy,
        [
          [...prompt, 1],
          [...prompt, 2],
        ],
        true,
        0,
      ),
    ).toThrow(/dynamic/);
  });
});
