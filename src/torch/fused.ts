/** @file Placeholder until the fused operators are joined. */
import { call } from "./operator.ts";
import type { Tensor } from "./tensor/tensor.ts";
export function adamwStep(
  parameters: readonly Tensor[],
  gradients: readonly Tensor[],
  first: readonly Tensor[],
  second: readonly Tensor[],
  o: {
    lr: number;
    beta1: number;
    beta2: number;
    epsilon: number;
    weightDecay: number;
    step: number;
    gradientScale: number;
  },
): void {
  call("openmanus::adamw_", [
    parameters,
    gradients,
    first,
    second,
    o.lr,
    o.beta1,
    o.beta2,
    o.epsilon,
    o.weightDecay,
    o.step,
    o.gradientScale,
  ]);
}
