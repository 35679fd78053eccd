/**
 * @file Offload from a device: weights and moments in the host's memory. Weights come to the device for a phase that
 * uses them (an update, log-probabilities, a rollout), and their memory there is free in between; moments come for
 * their step, one tensor at a time (torch/devices).
 */
import type { Model } from "../../models/index.ts";
import {
  dispose,
  keep,
  noGrad,
  releaseMemory,
  restoreMemory,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import type { Allocate } from "./offload.ts";

/** Tensors of zeros in the host's memory. */
export const onHost: Allocate = (shape, dtype) => keep(zeros(shape, { dtype }));

/** The same model, whose weights are on the device only between `fetch` and what it gives. */
export function weightsOnHost(model: Model): Model {
  const homes = new Map<string, Tensor>();
  let users = 0;
  let changed = false;
  const parameters = [...model.parameters];
  const leave = () => {
    for (const [, parameter] of parameters) releaseMemory(parameter);
  };
  noGrad(() => {
    for (const [name, parameter] of parameters)
      homes.set(name, keep(tidy(() => parameter.detach().toDevice("cpu"))));
  });
  leave();

  function fetch({ changes = false } = {}): () => void {
    if (users++ === 0)
      noGrad(() => {
        for (const [name, parameter] of parameters) {
          restoreMemory(parameter);
          parameter.copy_(homes.get(name)!);
        }
      });
    changed ||= changes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--users > 0) return;
      if (changed)
        noGrad(() => {
          for (const [name, parameter] of parameters) homes.get(name)!.copy_(parameter);
        });
      changed = false;
      leave();
    };
  }

  return Object.defineProperties(
    {
      fetch,
      dispose() {
        dispose(homes);
        model.dispose();
      },
    },
    // `output` and an adapter are looked up each time.
    withoutNames(Object.getOwnPropertyDescriptors(model), ["dispose", "fetch"]),
  ) as Model;
}

function withoutNames(descriptors: PropertyDescriptorMap, names: readonly string[]) {
  return Object.fromEntries(Object.entries(descriptors).filter(([name]) => !names.includes(name)));
}
