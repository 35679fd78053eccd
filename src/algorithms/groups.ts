/**
 * @file Groups: rows of one task, and what is known of their scores together.
 *
 *   μ_g = mean of the group's scores       σ_g = their unbiased standard deviation
 *
 * Counted is one value per row or, when trajectories are given, one per trajectory: that of its
 * earliest row. With one row per episode both are the same; with one row per step the first lets long
 * episodes weigh more.
 */
import { checkLength, type Id, type Ids } from "./rows.ts";
import { moments } from "./statistics.ts";

/** Which rows belong together. */
export interface Grouping {
  /** [rows] Consecutive numbers from 0, in the order of first appearance. */
  groupOf: Int32Array;
  /** [groups] The ids as given. */
  ids: Id[];
  /** Per group: the rows whose value counts. */
  counted: number[][];
}

export interface GroupStatistics {
  /** [groups] How many values counted. */
  count: Int32Array;
  /** [groups] */
  mean: Float64Array;
  /** [groups] Unbiased standard deviation; 0 for a single value. */
  deviation: Float64Array;
}

/** What a group of one value gets: nothing to compare with is either no signal or the bare score. */
export type Singleton = "zero" | "score";

/** Consecutive numbers for ids, in the order of first appearance. */
export function numberIds(ids: Ids): { numbers: Int32Array; ids: Id[] } {
  const known = new Map<Id, number>();
  const numbers = new Int32Array(ids.length);
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    let number = known.get(id);
    if (number === undefined) {
      number = known.size;
      known.set(id, number);
    }
    numbers[i] = number;
  }
  return { numbers, ids: [...known.keys()] };
}

/** Groups rows, or steps. `order` is the place in time inside the trajectory; without it, the given order. */
export function groupRows(
  who: string,
  count: number,
  groups: Ids,
  trajectories?: Ids,
  order?: ArrayLike<number>,
): Grouping {
  checkLength(who, "groups", groups.length, count);
  const { numbers: groupOf, ids } = numberIds(groups);
  const counted: number[][] = ids.map(() => []);
  if (trajectories === undefined) {
    for (let row = 0; row < count; row++) counted[groupOf[row]!]!.push(row);
    return { groupOf, ids, counted };
  }
  checkTrajectories(who, groups, trajectories);
  const earliest = new Map<Id, number>();
  for (let row = 0; row < count; row++) {
    const best = earliest.get(trajectories[row]!);
    if (best === undefined || (order !== undefined && order[row]! < order[best]!))
      earliest.set(trajectories[row]!, row);
  }
  for (const row of earliest.values()) counted[groupOf[row]!]!.push(row);
  return { groupOf, ids, counted };
}

/** A trajectory is one episode of one task: refuses one that stands in two groups. */
export function checkTrajectories(who: string, groups: Ids, trajectories: Ids): void {
  checkLength(who, "trajectories", trajectories.length, groups.length);
  const home = new Map<Id, Id>();
  for (let row = 0; row < groups.length; row++) {
    const group = home.get(trajectories[row]!);
    if (group === undefined) home.set(trajectories[row]!, groups[row]!);
    else if (group !== groups[row])
      throw new Error(
        `${who}: trajectory ${trajectories[row]} stands in the groups ${group} and ` +
          `${groups[row]} (row ${row}). A trajectory is one episode of one task: give every ` +
          "episode an id of its own.",
      );
  }
}

export function groupStatistics(scores: Float64Array, { counted }: Grouping): GroupStatistics {
  const count = new Int32Array(counted.length);
  const mean = new Float64Array(counted.length);
  const deviation = new Float64Array(counted.length);
  // One array for all groups: a batch has thousands of them, and each array is garbage.
  const largest = counted.reduce((most, rows) => Math.max(most, rows.length), 0);
  const values = new Float64Array(largest);
  for (let group = 0; group < counted.length; group++) {
    const rows = counted[group]!;
    for (let i = 0; i < rows.length; i++) values[i] = scores[rows[i]!]!;
    const found = moments(values, undefined, rows.length);
    count[group] = found.count;
    mean[group] = found.mean;
    deviation[group] = Math.sqrt(found.variance);
  }
  return { count, mean, deviation };
}

export interface NormalizeOptions {
  /** Divide by the group's deviation, or only subtract its mean. */
  divide: boolean;
  singleton: Singleton;
  /** Added to the deviation. */
  epsilon: number;
}

/** [rows] (score − μ) or (score − μ)/(σ + ε); a group of one has μ 0, σ 1 or gets 0. */
export function normalizeByGroup(
  scores: Float64Array,
  grouping: Grouping,
  { divide, singleton, epsilon }: NormalizeOptions,
): Float64Array {
  const { count, mean, deviation } = groupStatistics(scores, grouping);
  const result = new Float64Array(scores.length);
  for (let row = 0; row < scores.length; row++) {
    const group = grouping.groupOf[row]!;
    const alone = count[group] === 1;
    if (alone && singleton === "zero") continue;
    const centred = scores[row]! - (alone ? 0 : mean[group]!);
    result[row] = divide ? centred / ((alone ? 1 : deviation[group]!) + epsilon) : centred;
  }
  return result;
}
