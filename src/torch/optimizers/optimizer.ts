/**
 * @file What every optimiser is: groups of parameters with their settings, a step, a state that can
 * be saved.
 */
import type { Tensor } from "../tensor/tensor.ts";
import type { Parameters } from "./parameters.ts";

/** Parameters that share settings; what is left out is the optimiser's default. */
export type ParameterGroup<Settings> = { parameters: Parameters } & Partial<Settings>;

/** Everything an optimiser needs to go on exactly where it was. */
export interface OptimizerState {
  /** How many steps were taken. */
  step: number;
  /** State tensors by `<kind>.<parameter name>`: the optimiser's own, copy them before changing. */
  tensors: Map<string, Tensor>;
}

export interface Optimizer<Settings> {
  /** The groups with every setting filled in; settings may be changed between steps. */
  readonly groups: readonly ({ parameters: Parameters } & Settings)[];
  /**
   * Changes the parameters by their gradients. Parameters without a gradient stay as they are.
   * `gradientScale` multiplies the gradients on the way, e.g. with `clipFactor`.
   */
  step(options?: { gradientScale?: number }): void;
  /** Forgets all gradients. */
  clearGradients(): void;
  state(): OptimizerState;
  /** Takes over a saved state; it must fit the parameters. */
  load(state: OptimizerState): void;
  dispose(): void;
}

export function fillGroups<Settings>(
  groups: Parameters | readonly ParameterGroup<Settings>[],
  defaults: Settings,
): ({ parameters: Parameters } & Settings)[] {
  const list = Array.isArray(groups)
    ? (groups as readonly ParameterGroup<Settings>[])
    : [{ parameters: groups as Parameters } as ParameterGroup<Settings>];
  const seen = new Set<string>();
  for (const { parameters } of list)
    for (const name of parameters.keys()) {
      if (seen.has(name)) throw new Error(`optimizer: parameter ${name} is in two groups`);
      seen.add(name);
    }
  return list.map((group) => ({ ...defaults, ...group }));
}

/** Copies saved state tensors into the optimiser's own, and refuses any that do not fit. */
export function loadTensors(
  own: ReadonlyMap<string, Tensor>,
  saved: ReadonlyMap<string, Tensor>,
): void {
  for (const [name, tensor] of own) {
    const other = saved.get(name);
    if (!other) throw new Error(`optimizer: the saved state lacks ${name}`);
    if (String(other.shape) !== String(tensor.shape))
      throw new Error(
        `optimizer: the saved ${name} has shape [${other.shape}], expected [${tensor.shape}]`,
      );
  }
  for (const name of saved.keys())
    if (!own.has(name)) throw new Error(`optimizer: the saved state has ${name}, which is unknown`);
  for (const [name, tensor] of own) tensor.copy_(saved.get(name)!);
}
