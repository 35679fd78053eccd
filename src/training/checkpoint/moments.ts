/**
 * @file An optimiser's memory in a file: its moments by name. How many steps it has made is the checkpoint's to
 * remember.
 */
import { type LaterTensor, openSafetensors, writeSafetensors } from "../../models/index.ts";
import { type OptimizerState, type Tensor, tidy } from "../../torch/index.ts";

/** What of an optimiser is saved. */
export interface OptimizerMemory {
  state(): OptimizerState;
  load(state: OptimizerState): void;
}

/** Gives the number of steps. */
export function saveMoments(
  optimizer: { state(): { step: number; tensors: ReadonlyMap<string, Tensor | LaterTensor> } },
  file: string,
): number {
  const { step, tensors } = optimizer.state();
  writeSafetensors(file, tensors);
  return step;
}

export function loadMoments(optimizer: OptimizerMemory, file: string, step: number): void {
  tidy(() => {
    const opened = openSafetensors(file);
    try {
      const tensors = new Map<string, Tensor>();
      for (const name of opened.tensors.keys())
        tensors.set(name, opened.load(name, { copy: true }));
      optimizer.load({ step, tensors });
    } finally {
      opened.close();
    }
  });
}
