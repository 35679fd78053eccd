/**
 * @file LoRA: what it computes, its gradients, merging, dropout, and that it trains.
 */
import { describe, expect, it } from "vitest";
import {
  addLora,
  attentionOutput,
  feedForward,
  LORA_TARGETS,
  type LoraModel,
  type LoraOptions,
  logits,
  type Model,
  packSequences,
  project,
  rotaryAngles,
  tokenOutputs,
  valueModelFrom,
  values,
} from "../../../src/models/index.ts";
import {
  adamw,
  type Dtype,
  dispose,
  Generator,
  memory,
  noGrad,
  type Tensor,
  tensor,
  tidy,
} from "../../../src/torch/index.ts";
import {
  difference,
  plainLogits,
  randomSequences,
  smallConfig,
  smallModel,
} from "../decoder/support.ts";

const config = smallConfig({
  queryKeyValueBias: true,
  slidingWindows: [null, 6],
  initializerRange: 0.1,
});
const sequences = randomSequences([9, 1, 14], config.vocabularySize);

/** An adapter in which B is no longer zero. */
function adapted(options: Partial<LoraOptions> = {}, dtype: Dtype = "float32"): LoraModel {
  const generator = new Generator(5);
  const model = addLora(smallModel(config, dtype), { rank: 3, ...options }, generator);
  noGrad(() => {
    for (const [name, matrix] of model.matrices)
      if (name.endsWith("lora_B.weight")) matrix.normal_(generator, 0, 0.2);
  });
  return model;
}

function using(model: Model, body: () => void): void {
  try {
    tidy(body);
  } finally {
    model.dispose();
  }
  expect(memory().tensors).toBe(0);
}

/** The mean log-probability of each sequence's next tokens. */
function meanLogprob(model: Model, options: Parameters<typeof tokenOutputs>[4] = {}): Tensor {
  return tidy(() => {
    const places: number[] = [];
    const targets: number[] = [];
    let start = 0;
    for (const ids of sequences) {
      for (let i = 1; i < ids.length; i++) {
        places.push(start + i - 1);
        targets.push(ids[i]!);
      }
      start += ids.length;
    }
    const indices = (list: number[]) => tensor(list, { dtype: "int64" });
    const batch = packSequences(sequences);
    return tokenOutputs(model, batch, indices(places), indices(targets), options).logprobs.mean();
  });
}

const allLogits = (model: Model): Tensor => noGrad(() => logits(model, packSequences(sequences)));

describe("a new adapter", () => {
  it("changes nothing, and freezes the base", () => {
    const base = smallModel(config);
    const before = tidy(() => allLogits(base).toArray());
    const model = addLora(base, { rank: 4 }, new Generator(1));
    using(model, () => {
      expect(allLogits(model).toArray()).toEqual(before);
      expect([...model.parameters.values()].some((weight) => weight.requiresGrad)).toBe(false);
      expect(model.trainable.size).toBe(2 * 7 * config.layers);
      expect([...model.trainable.values()].every((matrix) => matrix.requiresGrad)).toBe(true);
      expect([...model.trainable].slice(0, 2).map(([name, { shape }]) => [name, shape])).toEqual([
        ["model.layers.0.self_attn.q_proj.lora_A.weight", [4, 24]],
        ["model.layers.0.self_attn.q_proj.lora_B.weight", [24, 4]],
      ]);
      meanLogprob(model).backward();
      expect([...model.parameters.values()].every((weight) => weight.grad === null)).toBe(true);
    });
  });

  it.each([
    [{ rank: 0 }, /rank above 0, got 0/],
    [{ rank: 1.5 }, /rank above 0, got 1.5/],
    [{ rank: 2, alpha: 0 }, /alpha above 0, got 0/],
    [{ rank: 2, dropout: 1 }, /dropout from 0 to below 1, got 1/],
    [{ rank: 2, targets: [] }, /expected targets among q_proj.*got none/],
    [{ rank: 2, targets: ["lm_head"] }, /got "lm_head"/],
  ])("refuses %j", (options, message) => {
    const base = smallModel(config);
    expect(() => addLora(base, options as LoraOptions, new Generator(1))).toThrow(message);
    base.dispose();
  });

  it("refuses a second one", () => {
    const model = adapted();
    expect(() => addLora(model, { rank: 1 }, new Generator(1))).toThrow(/has an adapter already/);
    model.dispose();
  });
});

describe("what it computes", () => {
  it.each<[string, Partial<LoraOptions>]>([
    ["all matrices", {}],
    ["all-linear", { targets: "all-linear", alpha: 1 }],
    ["q and v", { targets: ["v_proj", "q_proj"] }],
    ["rank-stabilised", { rankStabilised: true, alpha: 2 }],
    ...LORA_TARGETS.map((target): [string, Partial<LoraOptions>] => [
      target,
      { targets: [target] },
    ]),
  ])("%s: x (W + scale · B A)ᵀ, merged or not", (_, options) => {
    const model = adapted(options);
    using(model, () => {
      const base = allLogits(model.base);
      const apart = allLogits(model);
      // weights() has the adapter in it, so the plain pass computes with it.
      const plain = sequences.map((ids) => plainLogits(model, ids));
      const rows = apart.split(sequences.map(({ length }) => length));
      for (const [i, expected] of plain.entries())
        expect(difference(rows[i]!, expected)).toBeLessThan(1e-5);
      expect(difference(apart, base)).toBeGreaterThan(1e-3);
      model.merge();
      expect(difference(allLogits(model), apart)).toBeLessThan(1e-5);
      model.unmerge();
      expect(difference(allLogits(model.base), base)).toBe(0);
    });
  });

  it("merged and apart differ by no more than rounding", () => {
    const model = adapted({}, "float64");
    using(model, () => {
      const apart = allLogits(model);
      model.merge({ copy: false });
      expect(difference(allLogits(model), apart)).toBeLessThan(1e-10);
      model.unmerge();
      expect(difference(allLogits(model), apart)).toBeLessThan(1e-10);
    });
  });

  it("is in the parts that generation uses", () => {
    const model = adapted();
    using(model, () =>
      noGrad(() => {
        const x = tensor([Array.from({ length: 24 }, (_, i) => Math.sin(i))]);
        const angles = rotaryAngles(config, tensor([3], { dtype: "int64" }), 4);
        const parts = (): Tensor[] => {
          const { queries, keys, values: v } = project(model, 1, x, angles);
          return [
            queries,
            keys,
            v,
            attentionOutput(model, 1, x, queries),
            feedForward(model, 1, x),
          ];
        };
        const apart = parts();
        model.merge();
        for (const [i, merged] of parts().entries())
          expect(difference(merged, apart[i]!)).toBeLessThan(1e-5);
      }),
    );
  });

  it("adds in float32 to a bfloat16 base", () => {
    const model = adapted({ rank: 2 }, "bfloat16");
    using(model, () => {
      expect([...model.trainable.values()].every(({ dtype }) => dtype === "float32")).toBe(true);
      const apart = allLogits(model);
      expect(apart.dtype).toBe("bfloat16");
      meanLogprob(model).backward();
      const before = [...model.base.weights().values()].map((weight) => weight.clone());
      model.merge();
      expect(difference(allLogits(model), apart)).toBeLessThan(0.1 * apart.abs().amax().item());
      model.unmerge();
      for (const [i, weight] of [...model.base.weights().values()].entries())
        expect(difference(weight, before[i]!)).toBe(0);
    });
  });
});

describe("merging", () => {
  it("the base cannot be used as long, and nothing is merged twice", () => {
    const model = adapted();
    using(model, () => {
      model.merge();
      expect(model.merged).toBe(true);
      expect(() => allLogits(model.base)).toThrow(/merged into the base's weights; unmerge it/);
      expect(() => model.merge()).toThrow(/merged already/);
      expect(() => meanLogprob(model)).toThrow(/gets no gradients; unmerge it, or use noGrad/);
      const segments = meanLogprob(model, { layersPerSegment: 1 });
      expect(() => segments.backward()).toThrow(/gets no gradients/);
      model.unmerge();
      expect(() => model.unmerge()).toThrow(/is not merged/);
    });
  });
});

describe("gradients", () => {
  it("are those of numerical differences", () => {
    const model = adapted({ alpha: 5 }, "float64");
    using(model, () => {
      meanLogprob(model).backward();
      for (const [name, matrix] of model.matrices) {
        const gradient = matrix.grad!.toNumbers();
        const flat = matrix.detach().view([-1]);
        for (const place of [0, gradient.length - 1, gradient.length >> 1]) {
          const at = (shift: number): number =>
            noGrad(() => {
              flat.narrow(0, place, 1).add_(shift);
              const value = tidy(() => meanLogprob(model).item());
              flat.narrow(0, place, 1).sub_(shift);
              return value;
            });
          const step = 1e-5;
          const slope = (at(step) - at(-step)) / (2 * step);
          expect(gradient[place]!, `${name} ${place}`).toBeCloseTo(slope, 7);
        }
      }
    });
  });

  it("are the same bits with checkpointing, dropout included", () => {
    const model = adapted({ dropout: 0.3 });
    using(model, () => {
      const gradients = (layersPerSegment: number, seed: number): Tensor[] => {
        meanLogprob(model, { layersPerSegment, dropout: new Generator(seed) }).backward();
        const found = [...model.trainable.values()].map((matrix) => {
          const own = matrix.grad!.clone();
          matrix.grad = null;
          return own;
        });
        return found;
      };
      const plain = gradients(0, 1);
      const segments = gradients(1, 1);
      const other = gradients(1, 2);
      for (const [i, gradient] of plain.entries())
        expect(difference(gradient, segments[i]!)).toBe(0);
      expect(difference(plain[0]!, other[0]!)).toBeGreaterThan(0);
      // Without a generator nothing is dropped.
      const whole = meanLogprob(model).item();
      expect(meanLogprob(model).item()).toBe(whole);
      expect(meanLogprob(model, { dropout: new Generator(1) }).item()).not.toBe(whole);
    });
  });
});

describe("training", () => {
  it("lowers the loss, and leaves the base as it was", () => {
    const base = smallModel(config);
    const before = tidy(() => allLogits(base).toArray());
    const model = addLora(base, { rank: 4, dropout: 0.1 }, new Generator(2));
    const optimizer = adamw(model.trainable, { lr: 1e-2 });
    const draws = new Generator(9);
    using(model, () => {
      const first = meanLogprob(model).item();
      for (let step = 0; step < 30; step++)
        tidy(() => {
          meanLogprob(model, { dropout: draws }).neg().backward();
          optimizer.step();
          optimizer.clearGradients();
        });
      expect(meanLogprob(model).item()).toBeGreaterThan(first + 1);
      expect(allLogits(model.base).toArray()).toEqual(before);
      optimizer.dispose();
    });
  });

  it("trains a value model's head with the adapter", () => {
    const policy = smallModel(config);
    const model = addLora(valueModelFrom(policy), { rank: 2 }, new Generator(2));
    policy.dispose();
    const optimizer = adamw(model.trainable, { lr: 5e-2 });
    using(model, () => {
      expect([...model.trainable.keys()].slice(-2)).toEqual(["score.weight", "score.bias"]);
      const error = () => values(model, packSequences(sequences)).sub(1).square().mean();
      for (let step = 0; step < 30; step++)
        tidy(() => {
          error().backward();
          optimizer.step();
          optimizer.clearGradients();
        });
      expect(error().item()).toBeLessThan(0.05);
      optimizer.dispose();
    });
  });
});

it("has no gradient memory for the base", () => {
  const model = adapted();
  using(model, () => {
    const before = memory().bytes;
    meanLogprob(model).backward();
    const gradients = [...model.trainable.values()].map((matrix) => matrix.grad!);
    const bytes = gradients.reduce((sum, gradient) => sum + gradient.byteLength, 0);
    expect(memory().bytes - before).toBeLessThan(2 * bytes);
    dispose(gradients);
  });
});
