/**
 * @file The explorer's thoughts in words: what is still needed, and what comes next if it is known where
 * that is. They carry the state from turn to turn: whoever reads the last thought and what was seen after
 * it knows how to go on. Where a thing was found, its name stands right behind that of its kind: a small
 * model then only has to look for a name like the last one.
 */
import type { Wish } from "./wish.ts";

export interface Intent {
  /** The thing that is wanted now, and where it is, once it was seen. */
  readonly found?: string;
  readonly place?: string;
  /** What is still to be done to the thing. */
  readonly treatment?: Wish["treatment"];
}

/**
 * "fridge needs cool apple", "fridge needs cool apple apple 2 at shelf 1",
 * "fridge needs cool apple, have apple 2", "desklamp needs book, have book 1, desklamp 1 at desk 2",
 * "shelf needs two pen", "shelf has pen 3, needs pen pen 1 at desk 1".
 */
export function thoughtOf(
  { object, count, target, lamp }: Wish,
  held: string | undefined,
  placed: string | undefined,
  { found, place, treatment }: Intent,
): string {
  const has = placed === undefined ? "" : `has ${placed}, `;
  const number = count === 2 && placed === undefined ? "two " : "";
  const kind = `${number}${treatment === undefined ? "" : `${treatment} `}${object}`;
  const needs = `${lamp ?? target} ${has}needs ${kind}`;
  const where = found === undefined ? "" : ` ${found} at ${place}`;
  return held === undefined ? needs + where : `${needs}, have ${held}${where && `,${where}`}`;
}
