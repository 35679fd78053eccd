/**
 * @file Drawing by weights, without putting back: of tasks (curricula) and of stored episodes (replay).
 */
import { seededRandom } from "../environments/index.ts";

/**
 * All indices in the order in which they are drawn without putting back, each with a probability by its weight among those
 * that are left: sorted by −ln(u) / weight, as Efraimidis and Spirakis do it.
 */
export function weightedOrder(
  weights: Float64Array,
  ...seed: readonly (string | number)[]
): number[] {
  const random = seededRandom(...seed);
  const keys = weights.map((weight) => -Math.log(random.unit()) / weight);
  return [...keys.keys()].sort((a, b) => keys[a]! - keys[b]! || a - b);
}
