/**
 * @file Parameters without modules: named tensors in a flat map, and functions over it.
 */

import { stack } from "../functions.ts";
import { keep, tidy } from "../lifetime.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Parameters by dotted name, in a fixed order: `model.layers.0.mlp.up_proj.weight`. */
export type Parameters = ReadonlyMap<string, Tensor>;

/** Names the tensors of a plain tree by their path: { a: { w } } gives "a.w". */
export function namedParameters(tree: object, prefix = ""): Map<string, Tensor> {
  const found = new Map<string, Tensor>();
  for (const [key, value] of Object.entries(tree)) {
    const name = prefix === "" ? key : `${prefix}.${key}`;
    if (typeof value !== "object" || value === null) continue;
    if ("handle" in value) found.set(name, value as Tensor);
    else for (const [inner, tensor] of namedParameters(value, name)) found.set(inner, tensor);
  }
  return found;
}

/** Keeps the tensors alive and turns recording on for them. */
export function asParameters(tensors: Parameters): Parameters {
  for (const tensor of tensors.values()) keep(tensor).requiresGrad_();
  return tensors;
}

/** How many numbers the parameters hold. */
export function parameterCount(parameters: Parameters): number {
  let count = 0;
  for (const tensor of parameters.values()) count += tensor.numel;
  return count;
}

/** Forgets all gradients. */
export function clearGradients(parameters: Parameters): void {
  for (const tensor of parameters.values()) tensor.grad = null;
}

/** The 2-norm of all gradients taken as one vector; parameters without a gradient count as 0. */
export function gradientNorm(parameters: Parameters): number {
  return tidy(() => {
    const norms: Tensor[] = [];
    for (const tensor of parameters.values()) {
      const gradient = tensor.grad;
      if (gradient === null) continue;
      const dtype = gradient.dtype === "float64" ? "float64" : "float32";
      norms.push(gradient.detach().to(dtype).norm().to("float64"));
    }
    return norms.length === 0 ? 0 : stack(norms).norm().item();
  });
}

/**
 * The factor that brings gradients of a given norm down to a limit: 1 when they are below it. The
 * small constant is PyTorch's.
 */
export function clipFactor(norm: number, limit: number): number {
  return Math.min(1, limit / (norm + 1e-6));
}

/** Scales gradients so that their global norm is at most the limit. Returns the norm before. */
export function clipGradients(parameters: Parameters, limit: number): number {
  if (!(limit > 0)) throw new RangeError(`clipGradients: expected a limit above 0, got ${limit}`);
  const norm = gradientNorm(parameters);
  const factor = clipFactor(norm, limit);
  // A norm that is not finite is for the caller to judge: scaling would only spread it.
  if (factor < 1 && Number.isFinite(norm))
    tidy(() => {
      for (const tensor of parameters.values()) tensor.grad?.detach().mul_(factor);
    });
  return norm;
}
