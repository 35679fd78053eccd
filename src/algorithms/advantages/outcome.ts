/**
 * @file What the estimators without a critic share: one score per row, compared inside its group, and
 * the same advantage on each of the row's trained tokens.
 */
import type { Singleton } from "../groups.ts";
import { type Advantages, broadcast, type Ids, type Numbers, type Rows } from "../rows.ts";

export interface OutcomeInput {
  rows: Rows;
  /** [tokens] A row's score is the sum over its trained tokens. */
  rewards: Numbers;
  /** [rows] Which task: rows of one task are compared with each other. */
  groups: Ids;
  /**
   * [rows] Which episode. Given: a group's statistics count each episode once, by its earliest row.
   * Not given: they count every row.
   */
  trajectories?: Ids | undefined;
  /** [rows] The row's place in time inside its episode; without it, the given order. */
  order?: ArrayLike<number> | undefined;
}

export interface OutcomeOptions {
  /** What a group of one gets. The default is the estimator's own. */
  singleton?: Singleton | undefined;
}

/** One advantage per row on its trained tokens; there is no critic, so returns are the same array. */
export function perRow(rows: Rows, values: Float64Array): Advantages {
  const advantages = broadcast(rows, values);
  return { advantages, returns: advantages };
}
