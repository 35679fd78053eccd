/**
 * @file Value models: a policy's backbone with one number per token in place of logits, in the layout
 * of transformers' ForTokenClassification (`score.weight` [1, hiddenSize], `score.bias` [1]).
 */
import {
  empty,
  type Generator,
  keep,
  noGrad,
  randn,
  type Tensor,
  tidy,
  zeros,
} from "../torch/index.ts";
import { readModelConfig } from "./config/parse.ts";
import { valueModelConfig } from "./config/presets.ts";
import { layoutOf } from "./decoder/layout.ts";
import {
  type LoadModelOptions,
  type Model,
  modelFromCheckpoint,
  modelOf,
  type NewHead,
} from "./decoder/model.ts";
import { loadModel } from "./folder.ts";
import { openCheckpoint } from "./safetensors/checkpoint.ts";

export interface ValueModelOptions extends LoadModelOptions {
  /**
   * Draws the head's weights as transformers does. Without it they are zero: every value is then 0,
   * and the first advantages are the plain returns. A random head's values are noise of the size of
   * a reward (√hiddenSize × 0.02), which the first updates of the policy would follow.
   */
  generator?: Generator | null;
}

/**
 * A value model from a policy, its folder or itself: the backbone is copied, the head is new. From a
 * value model's folder it is that value model.
 */
export function valueModelFrom(source: string | Model, options: ValueModelOptions = {}): Model {
  return typeof source === "string" ? fromFolder(source, options) : fromModel(source, options);
}

function fromFolder(folder: string, options: ValueModelOptions): Model {
  const policy = readModelConfig(folder);
  if (policy.head === "token-classification") return loadModel(folder, options);
  const config = valueModelConfig(policy);
  const checkpoint = openCheckpoint(folder);
  try {
    const { dtype = checkpoint.info("model.norm.weight").dtype, device = "cpu" } = options;
    const head = newHead(config.initializerRange, options.generator ?? null);
    return modelFromCheckpoint(config, checkpoint, options, (name, shape) =>
      head(name, shape).toDevice(device, dtype),
    );
  } finally {
    checkpoint.close();
  }
}

function fromModel(policy: Model, options: ValueModelOptions): Model {
  if (policy.adapter)
    throw new Error("valueModelFrom: the policy has an adapter; start from its base instead");
  const { device = policy.device } = options;
  const dtype = options.dtype ?? policy.parameters.get("model.norm.weight")!.dtype;
  const config = valueModelConfig(policy.config);
  const head = newHead(config.initializerRange, options.generator ?? null);
  const tensors = new Map<string, Tensor>();
  for (const { name, shape } of layoutOf(config)) {
    const values = () =>
      name.startsWith("score.") ? head(name, shape) : policy.parameters.get(name)!;
    const copy = () => empty(shape, { dtype, device }).copy_(values());
    tensors.set(name, keep(tidy(() => noGrad(copy))));
  }
  return modelOf(config, tensors, device);
}

function newHead(range: number, generator: Generator | null): NewHead {
  return (name, shape) =>
    generator && name.endsWith(".weight") ? randn(shape, generator).mul_(range) : zeros(shape);
}
