/**
 * @file Log-probabilities among the tokens that could be drawn, against a softmax over the whole vocabulary in
 * which all others are minus infinity; gradients too.
 */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/environments/index.ts";
import {
  logits as allLogits,
  type Model,
  packSequences,
  tokenOutputs,
} from "../../../src/models/index.ts";
import { fromTypedArray, grad, type Tensor, tensor, tidy } from "../../../src/torch/index.ts";
import { modelsOfTests, randomSequences, smallConfig } from "./support.ts";

const config = smallConfig({ queryKeyValueBias: true });
const { model: newModel } = modelsOfTests();

/** Some places free, some with one token that could come, most with several. */
function problem() {
  const random = seededRandom("allowed");
  const sequences = randomSequences([20, 13], config.vocabularySize);
  const places = [...sequences[0]!.keys()].slice(0, 19);
  const targets = places.map((place) => sequences[0]![place + 1]!);
  const allowed = new Map<number, readonly number[]>();
  for (const [i, target] of targets.entries()) {
    if (i % 4 === 0) continue;
    const others = Array.from({ length: i % 5 }, () => random.integer(config.vocabularySize));
    allowed.set(i, random.shuffled([...new Set([target, ...others])]));
  }
  return { sequences, places, targets, allowed };
}

const int64 = (values: readonly number[]) => tensor([...values], { dtype: "int64" });
const { sequences, places, targets, allowed } = problem();

function plain(model: Model, temperature: number): { logprobs: Tensor; entropies: Tensor } {
  const all = allLogits(model, packSequences(sequences)).div(temperature);
  const hidden = new Float64Array(places.length * config.vocabularySize);
  for (const [i, list] of allowed)
    for (let id = 0; id < config.vocabularySize; id++)
      if (!list.includes(id)) hidden[i * config.vocabularySize + id] = -1e9;
  const mask = fromTypedArray(hidden, [places.length, config.vocabularySize], { dtype: all.dtype });
  const rows = all.indexSelect(0, int64(places)).add(mask).logSoftmax(-1);
  return {
    logprobs: rows.gather(1, int64(targets).unsqueeze(1)).squeeze(1),
    entropies: rows.exp().mul(rows).sum(-1).neg(),
  };
}

describe("among the tokens that could be drawn", () => {
  it.each([
    ["float64", 1, 1e-12],
    ["float64", 0.6, 1e-12],
    ["float32", 1, 2e-5],
  ] as const)("%s, temperature %d", (dtype, temperature, tolerance) => {
    const model = newModel(config, dtype);
    tidy(() => {
      const packed = packSequences(sequences);
      const options = { temperature, allowed };
      const got = tokenOutputs(model, packed, int64(places), int64(targets), options);
      const expected = plain(model, temperature);
      const weights = fromTypedArray(
        Float64Array.from(places, (_, i) => Math.cos(i)),
        undefined,
        { dtype },
      );
      const parameters = [...model.trainable.values()];
      const [mine, twin] = [{ logprobs: got.logprobs, entropies: got.entropies! }, expected].map(
        ({ logprobs, entropies }) => ({
          values: [...logprobs.toNumbers(), ...entropies.toNumbers()],
          gradients: grad(logprobs.add(entropies, 0.3).mul(weights).sum(), parameters).flatMap(
            (g) => [...g!.toNumbers()],
          ),
        }),
      );
      const largest = (a: readonly number[], b: readonly number[]) =>
        a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
      expect(largest(mine!.values, twin!.values)).toBeLessThan(tolerance);
      expect(largest(mine!.gradients, twin!.gradients)).toBeLessThan(10 * tolerance);
      // Where there was no choice, nothing is said of it.
      for (const [i, list] of allowed)
        if (list.length === 1)
          expect([mine!.values[i], mine!.values[places.length + i]]).toEqual([0, 0]);
    });
  });

  it("without entropies, and with nothing free", () => {
    const model = newModel(config, "float64");
    tidy(() => {
      const only = new Map(targets.map((id, i) => [i, [id, (id + 1) % config.vocabularySize]]));
      const options = { allowed: only, entropy: false };
      const packed = packSequences(sequences);
      const { logprobs, entropies } = tokenOutputs(
        ...[model, packed, int64(places), int64(targets), options],
      );
      expect(entropies).toBeNull();
      expect([...logprobs.toNumbers()].every((value) => value < 0)).toBe(true);
    });
  });

  it.each([
    ["is not there", [1, 2]],
    ["is there twice", [targets[1]!, 3, targets[1]!]],
  ])("a target that %s is an error", (_, list) => {
    const model = newModel(config);
    const wrong = new Map([[1, list.map((id) => (id === 1 && targets[1] === 1 ? 4 : id))]]);
    expect(() =>
      tidy(() =>
        tokenOutputs(model, packSequences(sequences), int64(places), int64(targets), {
          allowed: wrong,
        }),
      ),
    ).toThrow(/target \d+ at place 1 must be once among the ids that are allowed/);
  });
});
