/**
 * @file Reading JSON that somebody else wrote: what is not as expected is a TypeError that says so.
 */
import { shown } from "../../network/index.ts";

export { shown };

/** Characters of a text: far more than fits into any prompt. */
const LONGEST_TEXT = 1_000_000;
/** What a server may list: far more than any world's, and little enough to be compared with an action. */
const MOST_TEXTS = 20_000;
const LONGEST_LISTED = 10_000;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function recordOf(answer: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(answer)) return answer;
  throw new TypeError(`expected an object, got ${shown(answer)}`);
}

export function textIn(answer: unknown, field: string): string {
  const value = recordOf(answer)[field];
  if (typeof value === "string") return textOf(value);
  throw new TypeError(`expected a text in "${field}", got ${shown(value)} in ${shown(answer)}`);
}

/** A text as it is, unless it is longer than any that is meant to be read. */
export function textOf(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  throw new TypeError(`expected a text of at most ${LONGEST_TEXT} characters, got ${text.length}`);
}

export function numberIn(answer: unknown, field: string): number {
  const value = recordOf(answer)[field];
  if (typeof value === "number" && Number.isFinite(value)) return value;
  // Python's True, from a comparison that somebody took for a number.
  if (typeof value === "boolean") return value ? 1 : 0;
  throw new TypeError(`expected a number in "${field}", got ${shown(value)} in ${shown(answer)}`);
}

export function booleanIn(answer: unknown, field: string): boolean {
  const value = recordOf(answer)[field];
  if (typeof value === "boolean") return value;
  throw new TypeError(
    `expected true or false in "${field}", got ${shown(value)} in ${shown(answer)}`,
  );
}

export function textsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw new TypeError(`expected a list of texts, got ${shown(value)}`);
  if (value.length > MOST_TEXTS)
    throw new TypeError(`expected a list of at most ${MOST_TEXTS} texts, got ${value.length}`);
  const long = value.find(({ length }) => length > LONGEST_LISTED);
  if (long === undefined) return value;
  throw new TypeError(
    `expected texts of at most ${LONGEST_LISTED} characters, got one of ${long.length}: ${shown(long, 60)}`,
  );
}

/** Texts and numbers that are good to know, as far as they are there. */
export function factsIn(answer: unknown, ...fields: readonly string[]) {
  const facts: Record<string, string | number> = {};
  for (const field of fields) {
    const value = recordOf(answer)[field];
    if (typeof value === "string" || typeof value === "number") facts[field] = value;
  }
  return facts;
}

/** The number of an environment: 0, 1, 2, … */
export function numberOf(value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`expected an environment's number, got ${shown(value)}`);
}
