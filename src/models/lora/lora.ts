/**
 * @file A model with a LoRA adapter: the base frozen, small matrices beside it that are trained.
 *
 * The adapted model and its base are two models over the same weights, so the base is the reference
 * policy for nothing. Merging adds the adapter's products to the weights, for generation as fast as
 * without one; the base cannot be used as long.
 */
import {
  asParameters,
  cat,
  type Dtype,
  dispose,
  dropout,
  type Generator,
  isGradEnabled,
  keep,
  noGrad,
  type Parameters,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import { separate } from "../decoder/layout.ts";
import { type Adapter, type Model, weightDtype } from "../decoder/model.ts";
import { type LoraPart, loraParts, newLoraMatrices } from "./matrices.ts";
import { type LoraOptions, type LoraSettings, loraScale, loraSettings } from "./options.ts";

export interface LoraModel extends Model {
  /** The model without the adapter; no copy. Not to be used while merged. */
  readonly base: Model;
  readonly settings: LoraSettings;
  /** The small matrices by transformers' names: "….q_proj.lora_A.weight". */
  readonly matrices: Parameters;
  readonly merged: boolean;
  /**
   * Adds the adapter to the weights in place. A copy of the adapted weights is kept for `unmerge`,
   * unless `copy` is false: then it subtracts, and the weights come back only within rounding.
   */
  merge(options?: { copy?: boolean }): void;
  unmerge(): void;
  /** Adds the adapter's part to copies of the base's weights, by transformers' names; others stay. */
  addTo(weights: ReadonlyMap<string, Tensor>): void;
  /** Frees the adapter and the base. */
  dispose(): void;
}

/**
 * Gives a model a new adapter and freezes the rest (but for a value model's head, which is trained
 * as PEFT does). The model given becomes the adapted model's base.
 */
export function addLora(base: Model, options: LoraOptions, generator: Generator): LoraModel {
  const settings = loraSettings(options);
  requirePlain(base);
  const place = { dtype: loraDtype(base), device: base.device };
  return withLora(base, settings, newLoraMatrices(base.config, settings, generator, place));
}

export function requirePlain(base: Model): void {
  if (base.adapter) throw new Error("LoRA: the model has an adapter already");
}

/** Short floats could not take small updates: the adapter is in float32 then, as PEFT's. */
export function loraDtype(base: Model): Dtype {
  return weightDtype(base) === "float64" ? "float64" : "float32";
}

/** A model with an adapter of given matrices, which become parameters. */
export function withLora(
  base: Model,
  settings: LoraSettings,
  matrices: ReadonlyMap<string, Tensor>,
): LoraModel {
  requirePlain(base);
  for (const tensor of base.parameters.values()) tensor.requiresGrad_(false).grad = null;
  const heads = [...base.parameters].filter(([name]) => name.startsWith("score."));
  const trainable = asParameters(new Map([...matrices, ...heads]));
  const parts = loraParts(base.config, settings.targets);
  const adapted = [...parts.values()].flat().flatMap((part) => (part.adapted ? part.name : []));
  const scale = loraScale(settings);
  /** The adapted weights as they were; null where they come back by subtraction. */
  let before: Map<string, Tensor> | null = null;
  let merged = false;

  const pair = (name: string): [a: Tensor, b: Tensor] => [
    matrices.get(`${name}.lora_A.weight`)!,
    matrices.get(`${name}.lora_B.weight`)!,
  ];

  /** (x Aᵀ) Bᵀ [tokens, rows]; zeros for a part without adapter. */
  function partProduct(part: LoraPart, x: Tensor, draws: Generator | null): Tensor {
    if (!part.adapted)
      return zeros([x.size(0), part.rows], { dtype: x.dtype, device: base.device });
    const [a, b] = pair(part.name);
    return (draws ? dropout(x, settings.dropout, draws) : x).linear(a).linear(b);
  }

  const adapter: Adapter = {
    get merged() {
      return merged;
    },
    add(layer, matrix, x, product, draws) {
      if (merged) {
        // Otherwise a training step would silently train nothing.
        if (isGradEnabled())
          throw new Error("LoRA: a merged adapter gets no gradients; unmerge it, or use noGrad");
        return product;
      }
      const own = parts.get(`model.layers.${layer}.${matrix}`);
      if (!own) return product;
      return tidy(() => {
        const input = x.to(loraDtype(base));
        const products = own.map((part) => partProduct(part, input, draws));
        const joined = products.length === 1 ? products[0]! : cat(products, 1);
        return product.add(joined.to(product.dtype), scale);
      });
    },
  };

  /** weight ± scale · B A, rounded once. */
  function shifted(name: string, weight: Tensor, sign: 1 | -1): Tensor {
    const [a, b] = pair(name);
    return weight
      .to(a.dtype)
      .addmm(b, a, 1, sign * scale)
      .to(weight.dtype);
  }

  /** Calls `body` with every adapted weight, a view. */
  function eachWeight(body: (name: string, weight: Tensor) => void): void {
    tidy(() =>
      noGrad(() => {
        const views = separate(base.config, base.parameters);
        for (const name of adapted) tidy(() => body(name, views.get(`${name}.weight`)!));
      }),
    );
  }

  const refuse: Adapter = {
    add() {
      throw new Error("LoRA: the adapter is merged into the base's weights; unmerge it first");
    },
  };

  return {
    config: base.config,
    parameters: base.parameters,
    trainable,
    adapter,
    device: base.device,
    units: base.units,
    fetch: base.fetch,
    layer: base.layer,
    get output() {
      return base.output;
    },
    base,
    settings,
    matrices,
    get merged() {
      return merged;
    },
    weights() {
      return tidy(() => {
        const weights = base.weights();
        if (!merged)
          for (const name of adapted) {
            const weight = weights.get(`${name}.weight`)!;
            weights.set(
              `${name}.weight`,
              noGrad(() => tidy(() => shifted(name, weight, 1))),
            );
          }
        return weights;
      });
    },
    merge({ copy = true } = {}) {
      if (merged) throw new Error("LoRA: the adapter is merged already");
      const copies = new Map<string, Tensor>();
      eachWeight((name, weight) => {
        if (copy) copies.set(name, keep(weight.clone()));
        weight.copy_(shifted(name, weight, 1));
      });
      before = copy ? copies : null;
      merged = true;
      base.adapter = refuse;
    },
    unmerge() {
      if (!merged) throw new Error("LoRA: the adapter is not merged");
      eachWeight((name, weight) => {
        weight.copy_(before?.get(name) ?? shifted(name, weight, -1));
      });
      if (before) dispose(before);
      before = null;
      merged = false;
      base.adapter = null;
    },
    addTo(weights) {
      noGrad(() => {
        for (const name of adapted) {
          const weight = weights.get(`${name}.weight`);
          if (weight) tidy(() => weight.copy_(shifted(name, weight, 1)));
        }
      });
    },
    dispose() {
      dispose(matrices);
      if (before) dispose(before);
      base.dispose();
    },
  };
}
