/**
 * @file A model split over 2 and 4 ranks says what it says as a whole, with a share of weights and cache on each.
 * The ranks run tests/generation/parallel/rank.ts.
 */
import { describe, expect, it, vi } from "vitest";
import { cannotSplit, presetConfig, tensorSlices } from "../../src/models/index.ts";
import { arange, tidy } from "../../src/torch/index.ts";
import { runRanks, saidBy } from "../torch/distributed/ranks.ts";

vi.setConfig({ testTimeout: 200_000 });

interface Kind {
  readonly name: string;
  readonly sameIds: boolean;
  readonly largest: number;
  readonly cachedTokens: number;
  readonly weights: number;
  readonly cache: number;
}

it.each([2, 4])("%i ranks", async (processes) => {
  const run = await runRanks("../../generation/parallel/rank.ts", { processes });
  expect(run.error?.message, run.output).toBeUndefined();
  for (let rank = 0; rank < processes; rank++) {
    const kinds = saidBy<Kind>(run, rank, "kind");
    expect(kinds).toHaveLength(3);
    for (const { name, sameIds, largest, cachedTokens, weights, cache } of kinds) {
      expect(sameIds, `${name} on rank ${rank}`).toBe(true);
      expect(largest, name).toBeLessThan(1e-5);
      expect(cachedTokens, name).toBeGreaterThan(0);
      // Norms are whole, and so are the rows that fill up a vocabulary: little, beside matrices.
      expect(weights, name).toBeLessThan(1 / processes + 0.02);
      expect(cache, name).toBeLessThanOrEqual(1 / processes);
    }
  }
});

describe("slices", () => {
  const config = { ...presetConfig("tiny", { family: "qwen2" }), heads: 4, keyValueHeads: 2 };

  it("are each row or column once", () => {
    tidy(() => {
      const { headDimension: width, hiddenSize } = config;
      const rows = (4 + 2 + 2) * width;
      const qkv = arange(0, rows * hiddenSize).view([rows, hiddenSize]);
      const firsts = [0, 1].flatMap((index) => {
        const { sliceOf } = tensorSlices(config, { index, count: 2 });
        const part = sliceOf("model.layers.0.self_attn.qkv_proj.weight", qkv);
        expect(part.shape).toEqual([rows / 2, hiddenSize]);
        return Array.from(part.select(1, 0).toNumbers(), (value) => value / hiddenSize);
      });
      // Queries of heads 0 and 1, key 0, value 0; then the others.
      const range = (from: number, to: number) =>
        Array.from({ length: (to - from) * width }, (_, i) => from * width + i);
      expect(firsts).toEqual([
        ...[...range(0, 2), ...range(4, 5), ...range(6, 7)],
        ...[...range(2, 4), ...range(5, 6), ...range(7, 8)],
      ]);
    });
  });

  it("are refused where heads cannot be shared", () => {
    expect(cannotSplit(config, 2)).toBeUndefined();
    expect(cannotSplit(config, 4)).toBe(
      "the model has 2 key-value heads, which cannot be shared among 4 ranks",
    );
  });
});
