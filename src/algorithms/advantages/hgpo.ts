/**
 * @file HGPO, history-based group policy optimization: like GiGPO's step groups, for each length of
 * history, the longer the weightier.
 *
 *   for k = 1 … K+1: steps of a group whose last k observations are equal, at least two of them
 *   a_k = R − μ  or  (R − μ)/(σ + ε)             σ of the population (not unbiased), ε 1e-6
 *   A   = Σ_k w_k·a_k over the a_k ≠ 0,          w_k = (k+1)^α / (Σ (k+1)^α + ε), α 1
 *
 * With `baseGroup` the episode's advantage inside its group (as GiGPO's, counted over steps) joins as
 * k = 0. Steps without company get 0. An a_k is 0 when R is the mean up to rounding (1e-9 of the
 * largest return): exactly 0 would depend on the order of summation.
 *
 * Source: verl-agent recipe/hgpo/core_hgpo.py.
 */
import { groupRows, normalizeByGroup } from "../groups.ts";
import type { Advantages, Id } from "../rows.ts";
import { moments } from "../statistics.ts";
import { anchorKey } from "../steps/anchor.ts";
import { broadcastSteps } from "../steps/table.ts";
import { dividesByDeviation, type GigpoInput, readSteps } from "./gigpo.ts";

export interface HgpoOptions {
  /** Default mean_std_norm, as the reference. */
  mode?: "mean_norm" | "mean_std_norm" | undefined;
  /** K: observations before the current one that are looked at. Default 2. */
  historyLength?: number | undefined;
  /** α. Default 1. */
  lengthWeightAlpha?: number | undefined;
  /** Let the episode's advantage join. Default false. */
  baseGroup?: boolean | undefined;
  /** Default 1e-6. */
  epsilon?: number | undefined;
}

export function hgpo(input: GigpoInput, options: HgpoOptions = {}): Advantages {
  const { historyLength = 2, lengthWeightAlpha: alpha = 1, epsilon = 1e-6 } = options;
  if (!Number.isInteger(historyLength) || historyLength < 0)
    throw new RangeError(`hgpo: the history length is ${historyLength}, expected 0, 1, 2, …`);
  const divide = dividesByDeviation("hgpo", options.mode ?? "mean_std_norm");
  const { scores, returns, groups, groupOf, inTime } = readSteps("hgpo", input);

  const weighted = new Float64Array(returns.length);
  const weights = new Float64Array(returns.length);
  const join = (step: number, k: number, advantage: number): void => {
    const weight = (k + 1) ** alpha;
    weighted[step]! += weight * advantage;
    weights[step]! += weight;
  };
  if (options.baseGroup) {
    const episodes = groupRows("hgpo", scores.length, groups);
    const base = normalizeByGroup(scores, episodes, { divide, singleton: "score", epsilon });
    const rounding = 1e-9 * (divide ? 1 : largest(scores));
    for (const [step, advantage] of base.entries())
      if (Math.abs(advantage) > rounding) join(step, 0, advantage);
  }
  for (const [k, clusters] of clustersByHistory(input, groupOf, inTime, historyLength).entries())
    for (const members of clusters) {
      if (members.length < 2) continue;
      const values = members.map((step) => returns[step]!);
      const { count, mean, variance } = moments(values);
      const deviation = Math.sqrt((variance * (count - 1)) / count);
      const rounding = 1e-9 * largest(values);
      for (const step of members) {
        const centred = returns[step]! - mean;
        if (Math.abs(centred) > rounding)
          join(step, k + 1, divide ? centred / (deviation + epsilon) : centred);
      }
    }
  const joint = weighted.map((sum, step) => sum / (weights[step]! + epsilon));
  const advantages = broadcastSteps(input.rows, input.steps.spans, joint);
  return { advantages, returns: advantages };
}

function largest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

/** For k = 1 … K+1: the steps with equal last k observations, inside their group. */
function clustersByHistory(
  input: GigpoInput,
  groupOf: Int32Array,
  inTime: Map<Id, number[]>,
  historyLength: number,
): number[][][] {
  const keys = new Map<string, number>(); // observations, numbered, so that histories are short
  const number = (key: string): number => {
    const found = keys.get(key) ?? keys.size;
    keys.set(key, found);
    return found;
  };
  const observation = input.steps.anchors.map((anchor, step) => number(anchorKey(anchor, step)));
  const clusters = Array.from({ length: historyLength + 1 }, () => new Map<string, number[]>());
  for (const steps of inTime.values())
    for (const [time, step] of steps.entries()) {
      let history = `${groupOf[step]}`;
      for (let k = 0; k < clusters.length && k <= time; k++) {
        history += `,${observation[steps[time - k]!]}`;
        const members = clusters[k]!.get(history);
        if (members) members.push(step);
        else clusters[k]!.set(history, [step]);
      }
    }
  return clusters.map((byHistory) => [...byHistory.values()]);
}
