/**
 * @file Small models for tests, and the forward pass once more: plain, one sequence at a time, from
 * transformers' separate matrices.
 */
import { afterEach, expect } from "vitest";
import {
  inverseFrequencies,
  type Model,
  type ModelConfig,
  modelOf,
  newModel,
  presetConfig,
  separate,
} from "../../../src/models/index.ts";
import {
  arange,
  cat,
  type Dtype,
  fromTypedArray,
  Generator,
  keep,
  memory,
  noGrad,
  type Tensor,
  tensor,
  tidy,
} from "../../../src/torch/index.ts";

/** A model of a few thousand numbers, with whatever else is said. */
export function smallConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  const config: ModelConfig = {
    ...presetConfig("tiny"),
    ...{ vocabularySize: 61, hiddenSize: 24, layers: 2, heads: 4, keyValueHeads: 2 },
    ...{ headDimension: 6, intermediateSize: 20, maximumPositions: 64, initializerRange: 0.3 },
    ...changes,
  };
  const { slidingWindows = new Array<null>(config.layers).fill(null) } = changes;
  return { ...config, slidingWindows };
}

/** What makes a Gemma 3; each part of it is also tried by itself. */
export const GEMMA: Partial<ModelConfig> = {
  ...{ family: "gemma3_text", queryKeyNorm: true, activation: "gelu-tanh", headDimension: 10 },
  ...{ scaledEmbeddings: true, normsAddOne: true, outputNorms: true, attentionScalar: 13 },
  ...{ slidingWindows: [5, null], localRope: { kind: "default", theta: 500 } },
};

/** All weights random, norms and biases too: each must be in the right place. */
export function smallModel(config: ModelConfig, dtype: Dtype = "float32", seed = 1): Model {
  const generator = new Generator(seed);
  const fresh = newModel(config, generator);
  const tensors = new Map<string, Tensor>();
  for (const [name, values] of fresh.parameters) {
    const plain = name.endsWith("norm.weight") || name.endsWith(".bias");
    const make = () => {
      const own = values.detach();
      const middle = name.endsWith(".bias") || config.normsAddOne ? 0 : 1;
      if (plain) own.normal_(generator, middle, 0.3);
      return own.to(dtype).clone();
    };
    tensors.set(name, keep(tidy(() => noGrad(make))));
  }
  fresh.dispose();
  return modelOf(config, tensors);
}

/** Sequences of random ids with the given lengths. */
export function randomSequences(
  lengths: readonly number[],
  vocabulary: number,
  seed = 7,
): number[][] {
  let state = seed;
  return lengths.map((length) =>
    Array.from({ length }, () => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return Math.floor((state / 2147483648) * vocabulary);
    }),
  );
}

/** Hidden states [tokens, hiddenSize] of one sequence, by the book. Its gradients are the parameters'. */
export function plainHidden(model: Model, ids: readonly number[]): Tensor {
  const { config } = model;
  return tidy(() => {
    const weights = model.adapter ? model.weights() : separate(config, model.parameters);
    const weight = (name: string): Tensor => weights.get(name)!;
    const factors = (name: string): Tensor =>
      config.normsAddOne ? weight(name).add(1) : weight(name);
    const norm = (x: Tensor, name: string): Tensor =>
      x.div(x.square().mean(-1, true).add(config.normEpsilon).sqrt()).mul(factors(name));
    const linear = (x: Tensor, name: string): Tensor =>
      x.linear(weight(`${name}.weight`), weights.get(`${name}.bias`) ?? null);
    let x = weight("model.embed_tokens.weight").embedding(tensor([...ids], { dtype: "int64" }));
    if (config.scaledEmbeddings) x = x.mul(Math.fround(Math.sqrt(config.hiddenSize)));
    for (let i = 0; i < config.layers; i++) {
      const at = `model.layers.${i}`;
      const turn = rotation(config, i, ids.length);
      const normed = norm(x, `${at}.input_layernorm.weight`);
      const heads = (name: string, count: number, normName?: string): Tensor => {
        const own = linear(normed, `${at}.self_attn.${name}`).view([
          -1,
          count,
          config.headDimension,
        ]);
        return (
          normName && config.queryKeyNorm ? norm(own, `${at}.self_attn.${normName}.weight`) : own
        ).transpose(0, 1);
      };
      const group = config.heads / config.keyValueHeads;
      const q = turn(heads("q_proj", config.heads, "q_norm"));
      const k = turn(heads("k_proj", config.keyValueHeads, "k_norm")).repeatInterleave(group, 0);
      const v = heads("v_proj", config.keyValueHeads).repeatInterleave(group, 0);
      const scalar = config.attentionScalar ?? config.headDimension;
      const scores = q.matmul(k.transpose(1, 2)).mul(scalar ** -0.5);
      const hidden = hiddenPlaces(ids.length, config.slidingWindows[i] ?? null);
      const seen = scores
        .maskedFill(hidden, Number.NEGATIVE_INFINITY)
        .softmax(-1)
        .matmul(v)
        .transpose(0, 1)
        .reshape([ids.length, -1]);
      const after = (y: Tensor, name: string): Tensor =>
        config.outputNorms ? norm(y, `${at}.post_${name}_layernorm.weight`) : y;
      x = x.add(after(linear(seen, `${at}.self_attn.o_proj`), "attention"));
      const before = config.outputNorms ? "pre_feedforward" : "post_attention";
      const inner = norm(x, `${at}.${before}_layernorm.weight`);
      const gate = linear(inner, `${at}.mlp.gate_proj`);
      const gated = (config.activation === "silu" ? gate.silu() : geluByTanh(gate)).mul(
        linear(inner, `${at}.mlp.up_proj`),
      );
      x = x.add(after(linear(gated, `${at}.mlp.down_proj`), "feedforward"));
    }
    return norm(x, "model.norm.weight");
  });
}

/** Logits of one sequence, by the book. */
export function plainLogits(model: Model, ids: readonly number[]): Tensor {
  return tidy(() => plainHidden(model, ids).linear(model.output));
}

/** True where token i must not see token j: later ones, and those before the window. */
function hiddenPlaces(length: number, window: number | null): Tensor {
  const rows = Array.from({ length }, (_, i) =>
    Array.from({ length }, (_, j) => j > i || (window !== null && i - j >= window)),
  );
  return tensor(rows);
}

function geluByTanh(x: Tensor): Tensor {
  const inner = x.add(x.mul(x).mul(x).mul(0.044715)).mul(Math.sqrt(2 / Math.PI));
  return x.mul(inner.tanh().add(1)).mul(0.5);
}

function rotation(config: ModelConfig, layer: number, length: number): (x: Tensor) => Tensor {
  if (config.withoutRope.includes(layer)) return (x) => x;
  const isLocal = config.slidingWindows[layer] !== null && config.localRope !== null;
  const { inverseFrequencies: values, attentionScaling } = inverseFrequencies(
    isLocal ? { ...config, rope: config.localRope! } : config,
    length,
  );
  const frequencies = fromTypedArray(Float32Array.from(values));
  const half = arange(0, length).to("float32").outer(frequencies);
  const angles = cat([half, half], 1);
  const [cos, sin] = [angles.cos().mul(attentionScaling), angles.sin().mul(attentionScaling)];
  return (x) => {
    const [a, b] = x.chunk(2, -1);
    return x.mul(cos).add(cat([b!.neg(), a!], -1).mul(sin));
  };
}

/** The largest absolute difference. */
export function difference(a: Tensor, b: Tensor): number {
  return tidy(() => a.to("float64").sub(b.to("float64")).abs().amax().item());
}

/** Makes small models that are disposed of after each test, which must leave no tensors. */
export function modelsOfTests(): {
  readonly model: typeof smallModel;
  /** One that was made elsewhere. */
  readonly keepTrack: (model: Model) => Model;
} {
  const made: Model[] = [];
  const keepTrack = (model: Model): Model => {
    made.push(model);
    return model;
  };
  afterEach(() => {
    for (const each of made.splice(0)) each.dispose();
    expect(memory().tensors).toBe(0);
  });
  return { keepTrack, model: (...given) => keepTrack(smallModel(...given)) };
}
