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

/** The product that is being looked at. */
interface Current {
  readonly asin: string;
  /** The terms that its pages have. */
  readonly terms: Set<string>;
  /** Which price it has within its range is only known when it is bought: how likely it fits. */
  readonly affordable: number;
  /** Whether its features were read, or are not worth reading. */
  read: boolean;
}

export function shopper(): Expert {
  let wishes: Wishes | undefined;
  let steps = 0;
  const tried = new Set<string>();
  let best: Candidate | undefined;
  let current: Current | undefined;
  let decided: Candidate | undefined;
  let chosen = new Set<string>();

  const search = ({ query }: Wishes): string => `search[${query}]`;

  const results = (offers: readonly Offer[], wanted: Wishes): string => {
    chosen = new Set();
    const open = (offer: Offer, read: boolean): string => {
      tried.add(offer.asin);
      const affordable = likelihood(offer, wanted.priceLimit);
      current = { asin: offer.asin, terms: new Set(termsOf(offer.title)), affordable, read };
      return `click[${offer.asin}]`;
    };
    const known = offers.find(({ asin }) => asin === decided?.asin);
    if (known) return open(known, true);
    const untried = offers.filter(({ asin }) => !tried.has(asin));
    const next = untried.find((offer) => likelihood(offer, wanted.priceLimit) > 0);
    if (next) return open(next, decided !== undefined);
    if (steps < PATIENCE && offers.length > 0) return "click[next >]";
    return untried[0] ? open(untried[0], true) : search(wanted);
  };

  const judged = (page: Reading & { kind: "item" }, wanted: Wishes, item: Current) => {
    const choices = choicesOf(page.options, wanted);
    const missing = [...wanted.terms].filter((term) => !item.terms.has(term)).length;
    const hasOptions = choices.length >= wanted.options.length;
    const fulfilled = wanted.terms.size - missing + choices.length + item.affordable;
    const complete = missing === 0 && hasOptions && item.affordable >= 0.5;
    return { asin: item.asin, fulfilled, choices, complete, hasOptions, missing };
  };

  const item = (page: Reading & { kind: "item" }, wanted: Wishes): string => {
    current ??= { asin: "", terms: new Set(), affordable: 1, read: true };
    if (decided?.asin !== current.asin) {
      const candidate = judged(page, wanted, current);
      const late = steps >= PATIENCE;
      if (!current.read && candidate.missing > 0 && candidate.hasOptions && !late) {
        current.read = true;
        return "click[features]";
      }
      if (!best || candidate.fulfilled > best.fulfilled) best = candidate;
      if (!candidate.complete && !late) return "click[< prev]";
      decided = candidate.complete ? candidate : best;
      if (decided.asin !== current.asin) return "click[< prev]";
    }
    const unchosen = decided.choices.find((value) => !chosen.has(value));
    if (unchosen === undefined) return "click[buy now]";
    chosen.add(unchosen);
    return `click[${unchosen}]`;
  };

  return {
    act(observation: Observation) {
      wishes ??= wishesOf(observation.instruction ?? "");
      steps++;
      const page = readPage(observation);
      switch (page.kind) {
        case "search":
          return search(wishes);
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

/** How likely a price that is drawn from the offer's range is within the limit. */
function likelihood({ low, high }: Offer, limit: number): number {
  if (high <= limit) return 1;
  return low > limit ? 0 : (limit - low) / (high - low);
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
