/**
 * @file Step groups: steps of one task that were taken in the same state, across trajectories and
 * time. The same: equal anchors or, with a threshold, similar texts.
 *
 * Equal texts are found without hashing them whole: a few characters choose the candidates, and a
 * comparison, which runs at the speed of memory, decides.
 *
 * Similar texts: greedy, each text against the first of every group so far, in the order of
 * trajectories (by id) and time; the first group that is similar enough takes it. verl-agent goes
 * through the rows in the order in which they stand; this is the same when they stand in the order of
 * their ids, and does not change when they do not.
 *
 * Source: GiGPO Eq. 6, arXiv:2505.10978; verl-agent build_step_group.
 */
import type { Id, Ids } from "../rows.ts";
import { anchorKey } from "./anchor.ts";
import { groupSimilarTexts } from "./similar-texts.ts";

export interface StepGroups {
  /** [steps] Consecutive numbers from 0. */
  groupOf: Int32Array;
  /** How many step groups. */
  count: number;
}

/** Steps of one group with equal anchors. `groupOf` numbers the tasks of the steps. */
export function equalSteps(anchors: readonly unknown[], groupOf: Int32Array): StepGroups {
  const keys = anchors.map(anchorKey);
  const result = new Int32Array(keys.length);
  const firsts: number[] = []; // per step group: its first step
  const candidates = new Map<number, number[]>(); // fingerprint to step groups
  const crowded = new Map<string, number>(); // whole keys, for fingerprints that many groups share
  for (let step = 0; step < keys.length; step++) {
    const key = keys[step]!;
    const task = groupOf[step]!;
    const print = fingerprint(key, task);
    let found = -1;
    const bucket = candidates.get(print);
    for (const group of bucket ?? [])
      if (groupOf[firsts[group]!] === task && keys[firsts[group]!] === key) {
        found = group;
        break;
      }
    const crowdedKey = bucket && bucket.length >= CROWD ? `${task}:${key}` : undefined;
    if (found < 0 && crowdedKey !== undefined) found = crowded.get(crowdedKey) ?? -1;
    if (found < 0) {
      found = firsts.length;
      firsts.push(step);
      if (crowdedKey !== undefined) crowded.set(crowdedKey, found);
      else if (bucket) bucket.push(found);
      else candidates.set(print, [found]);
    }
    result[step] = found;
  }
  return { groupOf: result, count: firsts.length };
}

/** So many groups with one fingerprint are compared one by one; more go by their whole key. */
const CROWD = 8;

/** A number from the task, the length and 24 characters spread over the key. */
function fingerprint(key: string, task: number): number {
  let hash = Math.imul(task + 1, 0x9e3779b1) ^ key.length;
  const stride = Math.max(1, Math.floor(key.length / 24));
  for (let i = key.length - 1; i >= 0; i -= stride)
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}

export interface SimilarStepsInput {
  /** [steps] Texts. */
  anchors: readonly unknown[];
  /** [steps] The number of the step's task. */
  groupOf: Int32Array;
  /** [steps] */
  trajectories: Ids;
  /** [steps] The place in time inside the trajectory; without it, the given order. */
  order?: ArrayLike<number> | undefined;
}

/** Steps of one group whose anchor texts are similar by at least the threshold, in (0, 1). */
export function similarSteps(input: SimilarStepsInput, threshold: number): StepGroups {
  const { anchors, groupOf, trajectories, order } = input;
  if (!(threshold > 0 && threshold < 1))
    throw new RangeError(
      `The similarity threshold is ${threshold}, expected a number between 0 and 1 (0.95 is usual; ` +
        "for equal anchors leave similarity off).",
    );
  for (let step = 0; step < anchors.length; step++)
    if (typeof anchors[step] !== "string")
      throw new TypeError(
        `The anchor of step ${step} is not a text; only texts can be similar. Leave similarity off.`,
      );
  // Equal texts go the same way, so each distinct one is placed once.
  const equal = equalSteps(anchors, groupOf);
  const steps = Array.from({ length: anchors.length }, (_, step) => step);
  steps.sort(
    (a, b) =>
      groupOf[a]! - groupOf[b]! ||
      compareIds(trajectories[a]!, trajectories[b]!) ||
      (order ? order[a]! - order[b]! : a - b),
  );
  const placed = new Int32Array(equal.count).fill(-1);
  let count = 0;
  for (let from = 0; from < steps.length; ) {
    const task = groupOf[steps[from]!];
    const texts: { equal: number; text: string }[] = [];
    for (; from < steps.length && groupOf[steps[from]!] === task; from++) {
      const group = equal.groupOf[steps[from]!]!;
      if (placed[group]! >= 0) continue;
      placed[group] = 0; // seen; its place is found below
      texts.push({ equal: group, text: anchors[steps[from]!] as string });
    }
    const groups = groupSimilarTexts(
      texts.map(({ text }) => text),
      threshold,
    );
    for (const [i, { equal: group }] of texts.entries()) placed[group] = count + groups[i]!;
    count += groups.reduce((most, group) => Math.max(most, group + 1), 0);
  }
  return { groupOf: equal.groupOf.map((group) => placed[group]!), count };
}

/** Numbers by value, texts by their characters, numbers first. */
function compareIds(a: Id, b: Id): number {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
