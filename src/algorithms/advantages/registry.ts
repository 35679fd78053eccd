/**
 * @file The advantage estimators by the names of `algorithm.adv_estimator`: what each needs, and how it
 * is called on a batch.
 */
import type { Advantages } from "../rows.ts";
import { type AdvantageBatch, type AdvantageOptions, withFields } from "./batch.ts";
import { gae } from "./gae.ts";
import { gigpo } from "./gigpo.ts";
import { gpg } from "./gpg.ts";
import { grpo } from "./grpo.ts";
import { grpoPassAtK } from "./grpo-passk.ts";
import { hgpo } from "./hgpo.ts";
import { opo } from "./opo.ts";
import { optimalTokenBaseline } from "./optimal-token-baseline.ts";
import { reinforcePlusPlus } from "./reinforce-plus-plus.ts";
import { reinforcePlusPlusBaseline } from "./reinforce-plus-plus-baseline.ts";
import { remax } from "./remax.ts";
import { rloo } from "./rloo.ts";

export interface Needs {
  /** A critic, and its values. */
  critic?: true;
  /** Several episodes per task. */
  groups?: true;
  /** Environments whose observations have anchors, and steps. */
  anchors?: true;
  /** A greedy episode per task. */
  greedyBaseline?: true;
  /** Σ π² of the policy at each token. */
  squaredProbabilities?: true;
}

export interface AdvantageEstimator {
  /** For one of one's own: what reports and metrics call it. */
  name?: string;
  /** For people who choose one. */
  summary: string;
  needs: Needs;
  estimate(batch: AdvantageBatch, options?: AdvantageOptions): Advantages;
}

/** An estimator that compares scores inside groups. */
function ofGroups(
  name: string,
  summary: string,
  estimate: (input: Parameters<typeof grpo>[0], options: AdvantageOptions) => Advantages,
): AdvantageEstimator {
  return {
    summary,
    needs: { groups: true },
    estimate(batch, options = {}) {
      const once = options.episodeStatistics === "trajectories";
      const input = withFields(name, batch, "groups", ...(once ? (["trajectories"] as const) : []));
      return estimate({ ...input, trajectories: once ? batch.trajectories : undefined }, options);
    },
  };
}

function ofTokenBaseline(name: string, align: "position" | "turn"): AdvantageEstimator {
  return {
    summary: `the baseline of least variance for each token, aligned by ${align}`,
    needs: { groups: true, squaredProbabilities: true },
    estimate: (batch, options = {}) =>
      optimalTokenBaseline(
        withFields(name, batch, "groups", "oldLogprobs", "squaredProbabilities"),
        { align, zeroTail: options.zeroTail },
      ),
  };
}

export const advantageEstimators = {
  gae: {
    summary: "generalized advantage estimation with a critic (PPO)",
    needs: { critic: true },
    estimate: (batch, options = {}) => gae(withFields("gae", batch, "values"), options),
  },
  grpo: ofGroups("grpo", "scores normalized inside their group", grpo),
  grpo_vectorized: ofGroups("grpo_vectorized", "the same as grpo", grpo),
  dr_grpo: ofGroups("dr_grpo", "scores centred inside their group, not divided", (batch, options) =>
    grpo(batch, { ...options, divideByDeviation: false }),
  ),
  grpo_passk: ofGroups("grpo_passk", "only the best of a group, against the second", grpoPassAtK),
  rloo: ofGroups("rloo", "each score against the mean of the others", rloo),
  rloo_vectorized: ofGroups("rloo_vectorized", "the same as rloo", rloo),
  opo: ofGroups("opo", "scores against their length-weighted mean", opo),
  gpg: ofGroups("gpg", "centred scores, scaled by how few rows have one", gpg),
  reinforce_plus_plus: {
    summary: "returns per token, whitened over the batch",
    needs: {},
    estimate: (batch, options = {}) => reinforcePlusPlus(batch, options),
  },
  reinforce_plus_plus_baseline: ofGroups(
    "reinforce_plus_plus_baseline",
    "scores centred inside their group, whitened over the batch",
    reinforcePlusPlusBaseline,
  ),
  remax: {
    summary: "returns against the score of a greedy episode",
    needs: { greedyBaseline: true },
    estimate: (batch) => remax(withFields("remax", batch, "baselines")),
  },
  optimal_token_baseline: ofTokenBaseline("optimal_token_baseline", "position"),
  tir_optimal_token_baseline: ofTokenBaseline("tir_optimal_token_baseline", "turn"),
  gigpo: {
    summary: "episodes compared inside their group, steps inside their state",
    needs: { groups: true, anchors: true },
    estimate: (batch, options = {}) =>
      gigpo(withFields("gigpo", batch, "groups", "trajectories", "steps"), options),
  },
  hgpo: {
    summary: "steps compared inside their state, for each length of history",
    needs: { groups: true, anchors: true },
    estimate: (batch, options = {}) =>
      hgpo(withFields("hgpo", batch, "groups", "trajectories", "steps"), options),
  },
} satisfies Record<string, AdvantageEstimator>;

export type AdvantageEstimatorName = keyof typeof advantageEstimators;

/** The estimator of a name, with the known names in the error where there is none. */
export function advantageEstimator(name: string): AdvantageEstimator {
  if (!Object.hasOwn(advantageEstimators, name))
    throw new RangeError(
      `Unknown advantage estimator ${name}; expected one of ` +
        `${Object.keys(advantageEstimators).join(", ")}`,
    );
  return advantageEstimators[name as AdvantageEstimatorName];
}
