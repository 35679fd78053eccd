/**
 * @file AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
 *
 *   m ← β₁ m + (1 − β₁) g          v ← β₂ v + (1 − β₂) g²
 *   θ ← θ (1 − lr · decay) − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
 */
import { zeros } from "../creation.ts";
import { adamwStep } from "../fused.ts";
import { keep, tidy } from "../lifetime.ts";
import type { Device, Dtype } from "../tensor/core.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { fillGroups, loadTensors, type Optimizer, type ParameterGroup } from "./optimizer.ts";
import { clearGradients, type Parameters } from "./parameters.ts";

export interface AdamWSettings {
  lr: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
}

const DEFAULTS: AdamWSettings = {
  lr: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
};

/** Makes the tensors of zeros that moments begin as, kept. Default: in memory. */
export type AllocateMoments = (shape: readonly number[], dtype: Dtype, device: Device) => Tensor;

interface Moments {
  first: Tensor;
  second: Tensor;
}

export function adamw(
  parameters: Parameters | readonly ParameterGroup<AdamWSettings>[],
  settings: Partial<AdamWSettings> = {},
  allocate: AllocateMoments = zerosFor,
): Optimizer<AdamWSettings> {
  const groups = fillGroups(parameters, { ...DEFAULTS, ...settings });
  const moments = new Map<string, Moments>();
  for (const group of groups)
    for (const [name, parameter] of group.parameters)
      moments.set(name, {
        first: momentFor(parameter, allocate),
        second: momentFor(parameter, allocate),
      });
  let step = 0;

  function stateTensors(): Map<string, Tensor> {
    const tensors = new Map<string, Tensor>();
    for (const [name, { first, second }] of moments) {
      tensors.set(`first_moment.${name}`, first);
      tensors.set(`second_moment.${name}`, second);
    }
    return tensors;
  }

  return {
    groups,
    step({ gradientScale = 1 } = {}) {
      step++;
      for (const group of groups)
        tidy(() => {
          const entries = [...group.parameters]
            .map(([name, parameter]) => ({
              ...moments.get(name)!,
              parameter,
              gradient: parameter.grad,
            }))
            .filter((entry) => entry.gradient !== null);
          adamwStep(
            entries.map((entry) => entry.parameter),
            entries.map((entry) => entry.gradient!),
            entries.map((entry) => entry.first),
            entries.map((entry) => entry.second),
            { ...group, step, gradientScale },
          );
        });
    },
    clearGradients() {
      for (const group of groups) clearGradients(group.parameters);
    },
    state: () => ({ step, tensors: stateTensors() }),
    load(state) {
      loadTensors(stateTensors(), state.tensors);
      step = state.step;
    },
    dispose() {
      for (const tensor of stateTensors().values()) tensor.dispose();
    },
  };
}

/** Moments are float32 even for half-precision parameters, whose own dtype would lose small steps. */
function momentFor(parameter: Tensor, allocate: AllocateMoments): Tensor {
  const dtype = parameter.dtype === "float64" ? "float64" : "float32";
  return allocate(parameter.shape, dtype, parameter.device);
}

function zerosFor(shape: readonly number[], dtype: Dtype, device: Device): Tensor {
  return keep(zeros(shape, { dtype, device }));
}
