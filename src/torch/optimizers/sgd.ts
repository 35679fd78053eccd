/**
 * @file Stochastic gradient descent, with momentum and (coupled) weight decay, as in PyTorch.
 */

import { noGrad } from "../autograd.ts";
import { zerosLike } from "../creation.ts";
import { keep, tidy } from "../lifetime.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { fillGroups, loadTensors, type Optimizer, type ParameterGroup } from "./optimizer.ts";
import { clearGradients, type Parameters } from "./parameters.ts";

export interface SgdSettings {
  lr: number;
  momentum: number;
  weightDecay: number;
}

export function sgd(
  parameters: Parameters | readonly ParameterGroup<SgdSettings>[],
  settings: Partial<SgdSettings> = {},
): Optimizer<SgdSettings> {
  const groups = fillGroups(parameters, { lr: 1e-2, momentum: 0, weightDecay: 0, ...settings });
  const velocities = new Map<string, Tensor>();
  // Made when first needed: momentum may be switched on between steps.
  const velocityOf = (name: string, parameter: Tensor): Tensor => {
    const key = `velocity.${name}`;
    if (!velocities.has(key)) velocities.set(key, keep(zerosLike(parameter)));
    return velocities.get(key)!;
  };
  for (const group of groups)
    for (const [name, parameter] of group.parameters)
      if (group.momentum !== 0) velocityOf(name, parameter);
  let step = 0;

  return {
    groups,
    step({ gradientScale = 1 } = {}) {
      step++;
      noGrad(() =>
        tidy(() => {
          for (const { parameters: members, lr, momentum, weightDecay } of groups)
            for (const [name, parameter] of members) {
              let update = parameter.grad;
              if (update === null) continue;
              if (gradientScale !== 1) update = update.mul(gradientScale);
              if (weightDecay !== 0) update = update.add(parameter, weightDecay);
              if (momentum !== 0) update = velocityOf(name, parameter).mul_(momentum).add_(update);
              parameter.sub_(update, lr);
            }
        }),
      );
    },
    clearGradients() {
      for (const group of groups) clearGradients(group.parameters);
    },
    state: () => ({ step, tensors: new Map(velocities) }),
    load(state) {
      loadTensors(velocities, state.tensors);
      step = state.step;
    },
    dispose() {
      for (const velocity of velocities.values()) velocity.dispose();
    },
  };
}
