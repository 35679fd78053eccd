/**
 * @file An adapter is in the generation engine's pass too: the same log-probabilities as in training.
 */
import { expect, it } from "vitest";
import { createEngine } from "../../../src/generation/index.ts";
import { addLora, packSequences, tokenOutputs } from "../../../src/models/index.ts";
import { Generator, noGrad, tensor, tidy } from "../../../src/torch/index.ts";
import { randomSequences, smallConfig, smallModel } from "../decoder/support.ts";

it.each([false, true])(
  "log-probabilities equal the training path's, merged: %s",
  async (merged) => {
    const config = smallConfig({ queryKeyValueBias: true, initializerRange: 0.1 });
    const model = addLora(smallModel(config), { rank: 3 }, new Generator(2));
    noGrad(() => {
      const generator = new Generator(4);
      for (const matrix of model.matrices.values()) matrix.normal_(generator, 0, 0.2);
    });
    if (merged) model.merge();
    const engine = createEngine(model, { cacheBytes: 1e6 });
    for (const [seed, prompt] of randomSequences([4, 9, 17], config.vocabularySize).entries()) {
      const answer = await engine.generate({ prompt, seed, sampling: { maximumTokens: 12 } });
      const indices = (values: number[]) => tensor(values, { dtype: "int64" });
      const found = noGrad(() =>
        tidy(() => {
          const batch = packSequences([[...prompt, ...answer.ids]]);
          const places = indices(answer.ids.map((_, i) => prompt.length - 1 + i));
          return tokenOutputs(model, batch, places, indices(answer.ids)).logprobs.toNumbers();
        }),
      );
      for (const [i, logprob] of answer.logprobs.entries())
        expect(Math.abs(logprob - found[i]!)).toBeLessThan(1e-5);
    }
    await engine.close();
    model.dispose();
  },
);
