/**
 * @file A batch as the estimators see it through the registry: all inputs and all options, of which each
 * takes its own.
 */
import type { Singleton } from "../groups.ts";
import type { Ids, Numbers, Rows } from "../rows.ts";
import type { Steps } from "./gigpo.ts";

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
  /** [rows] The row's place in time inside its episode; without it, the given order. */
  order?: ArrayLike<number> | undefined;
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
export function withFields<Name extends keyof AdvantageBatch>(
  who: string,
  batch: AdvantageBatch,
  ...names: Name[]
): AdvantageBatch & { [Key in Name]-?: Exclude<AdvantageBatch[Key], undefined> } {
  for (const name of names)
    if (batch[name] === undefined)
      throw new TypeError(`${who} needs ${FIELDS[name]}, but the batch has no ${name}.`);
  return batch as AdvantageBatch & { [Key in Name]-?: Exclude<AdvantageBatch[Key], undefined> };
}
