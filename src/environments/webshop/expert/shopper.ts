/**
 * @file The scripted shopper. It searches for what the instruction says, opens the results one after the
 * other (those that are not too dear), reads their features, and buys the first that has everything; or,
 * when it has looked long enough, the best that it has seen.
 */
import type { Expert, Observation } from "../../environment.ts";
import { termsOf } from "../search/analysis.ts";
import { type Offer, type Reading, readPage } from "./reading.ts";
import { type Wishes, wishesOf } from "./wishes.ts";

/** An episode usually has 15 steps; these are needed at the end to open a product, choose and buy. */
const PATIENCE = 15 - 5;

interface Candidate {
  readonly asin: string;
  /** Wishes that its pages fulfil. */
  readonly fulfilled: number;
  /** Value to click for each wanted option that it has. */
  readonly choices: readonly string[];
  readonly complete: boolean;
}

export function shopper(): Expert {
  let wishes: Wishes | undefined;
  let steps = 0;
  const tried = new Set<string>();
  let best: Candidate | undefined;
  /** The product that is being looked at, and the terms that its pages have. */
  let current: { asin: string; terms: Set<string>; read: boolean } | undefined;
  let decided: Candidate | undefined;
  let chosen = new Set<string>();

  const results = (offers: readonly Offer[], wanted: Wishes): string => {
    chosen = new Set();
    if (decided && offers.some(({ asin }) => asin === decided!.asin)) {
      current = { asin: decided.asin, terms: new Set(), read: true };
      return click(decided.asin);
    }
    const next = offers.find(({ asin, price }) => !tried.has(asin) && price <= wanted.priceLimit);
    if (!next || (decided && tried.size > 0)) {
      const fallback = next ?? offers.find(({ asin }) => !tried.has(asin));
      if (!fallback)
        return offers.length > 0 && steps < PATIENCE ? "click[next >]" : searchAgain(wanted);
      tried.add(fallback.asin);
      current = { asin: fallback.asin, terms: new Set(termsOf(fallback.title)), read: true };
      return click(fallback.asin);
    }
    tried.add(next.asin);
    current = { asin: next.asin, terms: new Set(termsOf(next.title)), read: false };
    return click(next.asin);
  };

  const searchAgain = ({ query }: Wishes): string => `search[${query}]`;

  const item = (page: Reading & { kind: "item" }, wanted: Wishes): string => {
    const asin = current?.asin ?? "";
    if (decided?.asin !== asin) {
      const choices = choicesOf(page.options, wanted);
      const lacking = wanted.options.length - choices.length;
      const terms = current?.terms ?? new Set();
      const missing = [...wanted.terms].filter((term) => !terms.has(term));
      const late = steps >= PATIENCE;
      if (current && !current.read && missing.length > 0 && lacking <= 0 && !late) {
        current.read = true;
        return "click[features]";
      }
      const fulfilled = wanted.terms.size - missing.length + choices.length;
      const candidate = {
        asin,
        fulfilled,
        choices,
        complete: missing.length === 0 && lacking <= 0,
      };
      if (!best || fulfilled > best.fulfilled) best = candidate;
      if (!candidate.complete && !late) return "click[< prev]";
      decided = candidate.complete ? candidate : best;
      if (decided.asin !== asin) return "click[< prev]";
    }
    const missing = decided.choices.find((value) => !chosen.has(value));
    if (missing === undefined) return "click[buy now]";
    chosen.add(missing);
    return `click[${missing}]`;
  };

  return {
    act(observation: Observation) {
      wishes ??= wishesOf(observation.instruction ?? "");
      steps++;
      const page = readPage(observation);
      switch (page.kind) {
        case "search":
          return searchAgain(wishes);
        case "results":
          if (steps >= PATIENCE) decided ??= best;
          return results(page.offers, wishes);
        case "item":
          return item(page, wishes);
        case "other":
          for (const term of termsOf(page.text)) current?.terms.add(term);
          return "click[< prev]";
      }
    },
  };
}

function click(asin: string): string {
  return `click[${asin.toLowerCase()}]`;
}

/** The value to choose for each wanted option; where wishes name no options, values that are asked for. */
function choicesOf(
  options: ReadonlyMap<string, readonly string[]>,
  { options: wanted, terms }: Wishes,
): string[] {
  if (wanted.length > 0)
    return wanted.flatMap(([name, value]) => (options.get(name)?.includes(value) ? [value] : []));
  return [...options.values()].flatMap((values) => {
    const fitting = values.filter((value) => {
      const words = termsOf(value);
      return words.length > 0 && words.every((word) => terms.has(word));
    });
    const longest = fitting.sort((a, b) => b.length - a.length)[0];
    return longest === undefined ? [] : [longest];
  });
}
