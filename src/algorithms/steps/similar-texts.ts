/**
 * @file Groups of similar texts, greedily: each text joins the first group whose first text, its leader,
 * it is similar to, or leads a new one.
 *
 * Done plainly, every text is compared with every leader before its own. But the distance of texts
 * (common-subsequence.ts) is a metric: when a text x is close to a leader k, every leader j that is
 * known to be far from k is far from x,
 *
 *   distance(x, j) ≥ distance(j, k) − distance(x, k)
 *
 * and need not be looked at. So leaders are measured against each other once, a little further than the
 * threshold asks for, to have something to subtract from; and other texts mostly against one leader.
 */
import { textMatcher } from "./similarity.ts";

/** How much further than two similar texts could be. */
const MARGIN = 1.1;

/** [texts] The number of each text's group, from 0, in the order of their leaders. */
export function groupSimilarTexts(texts: readonly string[], threshold: number): Int32Array {
  const matcher = textMatcher(texts);
  const leaders: number[] = [];
  const apart: number[][] = []; // apart[k][j], j < k: what leaders j and k are at least apart

  /** The leader that looks closest, among those that could be close enough; −1 for none. */
  function closest(text: number): number {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [group, leader] of leaders.entries()) {
      const distance = matcher.glance(text, leader);
      if (distance >= least || distance > matcher.allowed(text, leader, threshold)) continue;
      least = distance;
      best = group;
    }
    return best;
  }

  /** The first group that takes a text, or a new one. */
  function place(text: number): number {
    const allowed = (leader: number) => matcher.allowed(text, leader, threshold);
    const near = closest(text);
    const toNear =
      near < 0 ? undefined : matcher.distance(text, leaders[near]!, allowed(leaders[near]!));
    const distances: number[] = [];
    for (const [group, leader] of leaders.entries()) {
      if (toNear !== undefined && group !== near) {
        const known = apart[Math.max(near, group)]![Math.min(near, group)]! - toNear;
        distances.push(known);
        if (known > allowed(leader)) continue;
      }
      const further = MARGIN * allowed(leader);
      const distance =
        group === near && toNear !== undefined ? toNear : matcher.distance(text, leader, further);
      if (distance !== undefined && distance <= allowed(leader))
        if (matcher.similarIfClose(text, leader, threshold)) return group;
      distances[group] = distance ?? further;
    }
    apart.push(distances);
    leaders.push(text);
    return leaders.length - 1;
  }

  return Int32Array.from(texts, (_, text) => place(text));
}
