/**
 * @file The dynamic-sampling filter: groups whose members all did equally well teach a group-relative
 * estimator nothing, and are replaced by others.
 *
 *   keep group g  ⇔  max_i s_i − min_i s_i > tolerance, or g has one member only
 *
 * The range instead of DAPO's deviation > 0: equal values can have a deviation of some 1e-17.
 * A group of one is kept, as in verl: whether it is of use is the estimator's business.
 *
 * Source: Yu et al. 2025 (DAPO), arXiv:2503.14476; verl recipe/dapo.
 */
import { groupRows } from "../groups.ts";
import { checkPerRow, type Id, type Ids, type Numbers } from "../rows.ts";

export interface DynamicSampling {
  /** Rows of the groups that are kept, ascending. */
  rows: Int32Array;
  kept: Id[];
  /** Groups without variance: to be replaced. */
  dropped: Id[];
}

/** `scores` is what is compared: one value per row (a reward, an accuracy, a success). */
export function dynamicSampling(scores: Numbers, groups: Ids, tolerance = 0): DynamicSampling {
  checkPerRow("dynamicSampling", "the score", scores, groups.length);
  const grouping = groupRows("dynamicSampling", scores.length, groups);
  const keep = grouping.counted.map((members) => {
    const values = members.map((row) => scores[row]!);
    return values.length === 1 || Math.max(...values) - Math.min(...values) > tolerance;
  });
  const rows: number[] = [];
  for (let row = 0; row < scores.length; row++) if (keep[grouping.groupOf[row]!]) rows.push(row);
  return {
    rows: Int32Array.from(rows),
    kept: grouping.ids.filter((_, group) => keep[group]),
    dropped: grouping.ids.filter((_, group) => !keep[group]),
  };
}
