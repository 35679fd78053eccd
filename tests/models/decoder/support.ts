/**
 * @file Small models for tests, and the forward pass once more: plain, one sequence at a time, from
 * transformers' separate matrices.
 */
import {
  inverseFrequencies,
  type Model,
  type ModelConfig,
  modelOf,
  newModel,
  presetConfig,
} from "../../../src/models/index.ts";
import {
  arange,
  cat,
  type Dtype,
  fromTypedArray,
  Generator,
  keep,
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

/** All weights random, norms and biases too: each must be in the right place. */
export function smallModel(config: ModelConfig, dtype: Dtype = "float32", seed = 1): Model {
  const generator = new Generator(seed);
  const fresh = newModel(config, generator);
  const tensors = new Map<string, Tensor>();
  for (const [name, values] of fresh.parameters) {
    const plain = name.endsWith("norm.weight") || name.endsWith(".bias");
    const make = () => {
      const own = values.detach();
      if (plain) own.normal_(generator, name.endsWith(".bias") ? 0 : 1, 0.3);
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

/** Hidden states [tokens, hiddenSize] of one sequence, by the book. */
export function plainHidden(model: Model, ids: readonly number[]): Tensor {
  const { config } = model;
  return tidy(() => {
    const weights = model.weights();
    const weight = (name: string): Tensor => weights.get(name)!;
    const norm = (x: Tensor, name: string): Tensor =>
      x.div(x.square().mean(-1, true).add(config.normEpsilon).sqrt()).mul(weight(name));
    const linear = (x: Tensor, name: string): Tensor =>
      x.linear(weight(`${name}.weight`), weights.get(`${name}.bias`) ?? null);
    const turn = rotation(config, ids.length);
    let x = weight("model.embed_tokens.weight").embedding(tensor([...ids], { dtype: "int64" }));
    for (let i = 0; i < config.layers; i++) {
      const at = `model.layers.${i}`;
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
      const scores = q.matmul(k.transpose(1, 2)).mul(config.headDimension ** -0.5);
      const hidden = hiddenPlaces(ids.length, config.slidingWindows[i] ?? null);
      const seen = scores
        .maskedFill(hidden, Number.NEGATIVE_INFINITY)
        .softmax(-1)
        .matmul(v)
        .transpose(0, 1)
        .reshape([ids.length, -1]);
      x = x.add(linear(seen, `${at}.self_attn.o_proj`));
      const inner = norm(x, `${at}.post_attention_layernorm.weight`);
      const gated = linear(inner, `${at}.mlp.gate_proj`)
        .silu()
        .mul(linear(inner, `${at}.mlp.up_proj`));
      x = x.add(linear(gated, `${at}.mlp.down_proj`));
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

function rotation(config: ModelConfig, length: number): (x: Tensor) => Tensor {
  const { inverseFrequencies: values, attentionScaling } = inverseFrequencies(config, length);
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
