/**
 * @file The explorer's thoughts in words: what is still needed, and what comes next if it is known where
 * that is. They carry the state from turn to turn: whoever reads the last thought and what was seen after
 * it knows how to go on. Where a thing was found, its name stands right behind that of its kind: a small
 * model then only has to look for a name like the last one.
 */
import type { Wish } from "./wish.ts";

export interface Sighting {
  readonly found: string;
  readonly place: string;
}

export interface Intent {
  /** The thing that is wanted now, and where it is, once it was seen. */
  readonly next?: Sighting | undefined;
  /** Of two things that are wanted, the other one, at the same place. */
  readonly other?: Sighting | undefined;
  /** What is still to be done to the thing. */
  readonly treatment?: Wish["treatment"];
}

/**
 * "rack needs cool sieve", "rack needs cool sieve sieve 2 at trolley 1", "rack needs cool sieve, have sieve 2",
 * "lantern needs beret, have beret 1, lantern 1 at hutch 2", "rack needs two whisk",
 * "rack needs two whisk whisk 3, whisk 1 at hutch 1",
 * "rack needs two whisk, have whisk 3, whisk 1 at hutch 1", "rack has whisk 3, needs whisk whisk 1 at hutch 1".
 */
export function thoughtOf(
  { object, count, target, lamp }: Wish,
  held: string | undefined,
  placed: string | undefined,
  { next, other, treatment }: Intent,
): string {
  const has = placed === undefined ? "" : `has ${placed}, `;
  const number = count === 2 && placed === undefined ? "two " : "";
  const kind = `${number}${treatment === undefined ? "" : `${treatment} `}${object}`;
  const needs = `${lamp ?? target} ${has}needs ${kind}`;
  const have = held === undefined ? "" : `, have ${held}`;
  const seen = [next, other].filter((one) => one !== undefined);
  if (seen.length === 0) return needs + have;
  const names = seen.map(({ found }) => found).join(", ");
  return `${needs}${have}${have && ","} ${names} at ${seen[0]!.place}`;
}
