/**
 * @file What an instruction asks for, read as a person would read it.
 */
import { termsOf } from "../search/analysis.ts";

export interface Wishes {
  /** What to search for: the request without the price. */
  readonly query: string;
  /** The terms of the request that say something about the product. */
  readonly terms: ReadonlySet<string>;
  /** Options that are named with their values. */
  readonly options: readonly (readonly [string, string])[];
  /** In dollars. */
  readonly priceLimit: number;
}

/** Words of people who ask for something. */
const ASKING = new Set(
  termsOf(
    "am are broke buy can could described find get give have help i id im is like look looking me my " +
      "need new old ones order please offer search so should some that them they want which would you",
  ),
);

export function wishesOf(instruction: string): Wishes {
  const [, request = instruction, limit] =
    /^(.*), and price lower than (\d+\.\d\d) dollars\s*$/s.exec(instruction) ?? [];
  const [text, options] = separated(request);
  const query = [text, ...options.map(([, value]) => value)].join(" ");
  return {
    query: query.replace(/[[\]<>\s]+/g, " ").trim() || "anything",
    terms: new Set(termsOf(text).filter((term) => !ASKING.has(term))),
    options,
    priceLimit: limit === undefined ? Infinity : Number(limit),
  };
}

/** The request without its options, and the options: " with color: red, and size: 7.5" at the end. */
function separated(request: string): [string, [string, string][]] {
  // Earlier places may belong to the request: "a lamp with a switch with color: red".
  for (let at = request.lastIndexOf(" with "); at >= 0; ) {
    const parts = request.slice(at + " with ".length).split(", and ");
    const pairs = parts.map((part) => /^([^:]+): (.+)$/s.exec(part));
    if (pairs.every((pair) => pair !== null))
      return [request.slice(0, at), pairs.map((pair) => [pair[1]!, pair[2]!])];
    at = at === 0 ? -1 : request.lastIndexOf(" with ", at - 1);
  }
  return [request, []];
}
