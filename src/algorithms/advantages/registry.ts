/**
 * @file The advantage estimators by the names of `algorithm.adv_estimator`: what each needs, and how it
 * is called on a batch.
 */
import type { Singleton } from "../groups.ts";
import type { Advantages, Ids, Numbers, Rows } from "../rows.ts";
import { gae } from "./gae.ts";
import { gigpo, type Steps } from "./gigpo.ts";
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

/** Everything that some estimator needs; each says by `needs` what it must find. */
export interface AdvantageBatch {
  rows: Rows;
  /** [tokens] */
  rewards: Numbers;
  /** [tokens] From a critic. */
  values?: Numbers | undefined;
  /** [rows] Which task. */
  groups?: Ids | undefined;
  /** [rows] Which episode. */
  trajectories?: Ids | undefined;
  /** [rows] Scores of greedy episodes. */
  baselines?: Numbers | undefined;
  /** [tokens] */
  oldLogprobs?: Numbers | undefined;
  /** [tokens] Σ π² over the vocabulary. */
  squaredProbabilities?: Numbers | undefined;
  /** [tokens] */
  importanceWeights?: Numbers | undefined;
  steps?: Steps | undefined;
}

/** The options of all estimators; each reads its own. Defaults are the estimators'. */
export interface AdvantageOptions {
  gamma?: number | undefined;
  lambda?: number | undefined;
  whiten?: boolean | undefined;
  divideByDeviation?: boolean | undefined;
  epsilon?: number | undefined;
  singleton?: Singleton | undefined;
  normalizer?: number | undefined;
  zeroTail?: boolean | undefined;
  mode?: "mean_norm" | "mean_std_norm" | undefined;
  /** trajectories: group statistics count every episode once. Default rows. */
  episodeStatistics?: "rows" | "trajectories" | undefined;
  stepAdvantageWeight?: number | undefined;
  similarity?: number | undefined;
  historyLength?: number | undefined;
  lengthWeightAlpha?: number | undefined;
  baseGroup?: boolean | undefined;
}

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
  /** For people who choose one. */
  summary: string;
  needs: Needs;
  estimate(batch: AdvantageBatch, options?: AdvantageOptions): Advantages;
}

const FIELDS: Record<string, string> = {
  values: "the critic's values [tokens]",
  groups: "one id per row that says which task it is",
  trajectories: "one id per row that says which episode it is",
  baselines: "the scores of greedy episodes [rows]",
  oldLogprobs: "log-probabilities before the update [tokens]",
  squaredProbabilities: "Σ π² over the vocabulary [tokens]",
  steps: "the steps with their anchors and returns",
};

/** The batch with fields that must be there. */
function withFields<Name extends keyof AdvantageBatch>(
  who: string,
  batch: AdvantageBatch,
  ...names: Name[]
): AdvantageBatch & { [Key in Name]-?: Exclude<AdvantageBatch[Key], undefined> } {
  for (const name of names)
    if (batch[name] === undefined)
      throw new TypeError(`${who} needs ${FIELDS[name]}, but the batch has no ${name}.`);
  return batch as AdvantageBatch & { [Key in Name]-?: Exclude<AdvantageBatch[Key], undefined> };
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
    estimate: (batch, options) => gae(withFields("gae", batch, "values"), options),
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
    estimate: (batch, options) => reinforcePlusPlus(batch, options),
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
    estimate: (batch, options) =>
      gigpo(withFields("gigpo", batch, "groups", "trajectories", "steps"), options),
  },
  hgpo: {
    summary: "steps compared inside their state, for each length of history",
    needs: { groups: true, anchors: true },
    estimate: (batch, options) =>
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
