/**
 * @file Generation on a device that is not the CPU (native/standin): ids, cache, attention and draws are there, and
 * are the CPU's.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { createEngine } from "../../src/generation/index.ts";
import { drawTokens, fillSampling, type SamplerRow } from "../../src/generation/sampling.ts";
import { type Model, modelOf } from "../../src/models/index.ts";
import { deviceCopies, fromTypedArray, keep, noGrad, tidy } from "../../src/torch/index.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin, type Standin } from "../support/standin.ts";
import { GEMMA_PARTS, random, testModel } from "./support.ts";

let standin: Standin;
beforeAll(async () => {
  standin = await loadStandin();
}, BUILD_TIMEOUT);

function onDevice(model: Model, dtype: "float32" | "bfloat16" = "float32"): Model {
  const tensors = noGrad(
    () =>
      new Map(
        [...model.parameters].map(([name, tensor]) => [
          name,
          keep(tidy(() => tensor.detach().toDevice(DEVICE, dtype))),
        ]),
      ),
  );
  return modelOf(model.config, tensors, DEVICE);
}

const VOCABULARY = 90;

describe("draws on a device", () => {
  const from = random(3);
  const uniform = () => from.uniform();
  const pick = (list: readonly number[]) => list[Math.floor(uniform() * list.length)]!;
  const ids = (count: number) => [
    ...new Set(Array.from({ length: count }, () => Math.floor(uniform() * VOCABULARY))),
  ];

  function randomRow(): SamplerRow {
    const bias = new Map(ids(3).map((id) => [id, uniform() * 4 - 2]));
    return {
      sampling: fillSampling(
        {
          maximumTokens: 1,
          temperature: pick([0, 0.5, 1, 1, 1.7]),
          topK: pick([0, 0, 5, 200]),
          topP: pick([1, 1, 0.3, 0.9]),
          minP: pick([0, 0, 0.1]),
          repetitionPenalty: pick([1, 1, 1.3]),
          ...(uniform() < 0.3 && { bias }),
        },
        VOCABULARY,
        [],
      ),
      seed: BigInt(Math.floor(uniform() * 2 ** 50)) * 8191n,
      repeated: ids(5),
      forbidden: uniform() < 0.3 ? ids(4) : [],
      allowed: uniform() < 0.3 ? ids(6) : null,
    };
  }

  it("are the CPU's, whatever the settings", () => {
    for (let round = 0; round < 12; round++)
      tidy(() => {
        const rows = Array.from({ length: 9 }, randomRow);
        const numbers = Float32Array.from(
          { length: rows.length * VOCABULARY },
          () => (uniform() - 0.5) * 8,
        );
        const shape = [rows.length, VOCABULARY];
        const here = drawTokens(fromTypedArray(numbers, shape), rows);
        const there = drawTokens(fromTypedArray(numbers, shape, { device: DEVICE }), rows);
        for (const [i, token] of here.entries()) {
          const other = there[i]!;
          if (token instanceof Error) expect(other).toEqual(token);
          else {
            if (other instanceof Error) throw other;
            expect(other.id).toBe(token.id);
            expect(other.logprob).toBeCloseTo(token.logprob, 5);
            expect(other.sampledLogprob).toBeCloseTo(token.sampledLogprob, 5);
          }
        }
      });
  });

  it("of rows that cannot be drawn from are errors, and of theirs alone", () =>
    tidy(() => {
      const plain = (): SamplerRow => ({
        ...randomRow(),
        sampling: fillSampling({ maximumTokens: 1 }, VOCABULARY, []),
        forbidden: [],
        allowed: null,
      });
      const all = Array.from({ length: VOCABULARY }, (_, id) => id);
      const rows = [plain(), { ...plain(), forbidden: all }, plain()];
      const numbers = new Float32Array(3 * VOCABULARY).map((_, i) => Math.sin(i));
      numbers[2 * VOCABULARY + 5] = Number.NaN;
      const [good, forbidden, broken] = drawTokens(
        fromTypedArray(numbers, [3, VOCABULARY], { device: DEVICE }),
        rows,
      );
      expect(good).not.toBeInstanceOf(Error);
      expect((forbidden as Error).message).toContain("leave no token to draw");
      expect((broken as Error).message).toContain("not finite");
    }));
});

describe.each([
  ["plain", {}],
  ["with windows and two ropes", GEMMA_PARTS],
])("an engine on a device, %s", (_, parts) => {
  const prompts = [
    Array.from({ length: 45 }, (_, i) => (i * 5) % 70),
    [7, 8, 9],
    Array.from({ length: 45 }, (_, i) => (i < 40 ? (i * 5) % 70 : 11)),
    [4],
    Array.from({ length: 18 }, (_, i) => 3 + i),
  ];

  async function answers(model: Model, cacheBytes: number) {
    const engine = createEngine(model, { cacheBytes, tokensPerStep: 30 });
    try {
      const sampling = { maximumTokens: 12, stopTokens: [] };
      const all = await Promise.all(
        prompts.map((prompt, i) => engine.generate({ prompt, seed: i, sampling })),
      );
      return all.map(({ ids, logprobs }) => ({ ids: [...ids], logprobs: [...logprobs] }));
    } finally {
      await engine.close();
    }
  }

  it("answers as the CPU does, prompts in parts, and when the cache is short", async () => {
    const model = testModel(parts);
    const there = onDevice(model);
    const here = await answers(model, 2 ** 20);
    for (const bytes of [2 ** 20, 2 ** 16]) {
      const found = await answers(there, bytes);
      for (const [i, { ids, logprobs }] of here.entries()) {
        expect(found[i]!.ids).toEqual(ids);
        for (const [k, value] of logprobs.entries())
          expect(found[i]!.logprobs[k]!).toBeCloseTo(value, 5);
      }
    }
    there.dispose();
    model.dispose();
  });

  it("copies little: three times a step, and none that is not counted", async () => {
    const model = testModel(parts);
    const there = onDevice(model);
    const engine = createEngine(there, { cacheBytes: 2 ** 20 });
    const before = deviceCopies();
    const hidden = standin.copies();
    const sampling = { maximumTokens: 10, stopTokens: [] };
    await Promise.all(prompts.map((prompt, i) => engine.generate({ prompt, seed: i, sampling })));
    const after = deviceCopies();
    const { steps } = engine.statistics;
    expect(after.toDevice - before.toDevice).toBeLessThanOrEqual(2 * steps);
    expect(after.toHost - before.toHost).toBe(steps);
    const since = standin.copies();
    expect(since.toDevice - hidden.toDevice).toBe(after.toDevice - before.toDevice);
    expect(since.toHost - hidden.toHost).toBe(after.toHost - before.toHost);
    await engine.close();
    there.dispose();
    model.dispose();
  });
});

it("bfloat16 generates there, too", async () => {
  const model = testModel();
  const there = onDevice(model, "bfloat16");
  const engine = createEngine(there, { cacheBytes: 2 ** 20 });
  const sampling = { maximumTokens: 5, stopTokens: [], temperature: 0 };
  const { ids } = await engine.generate({ prompt: [1, 2, 3], seed: 1, sampling });
  expect(ids).toHaveLength(5);
  await engine.close();
  there.dispose();
  model.dispose();
});
