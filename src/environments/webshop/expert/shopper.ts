/**
 * @file The scripted shopper. It searches for what the instruction says, opens the results one after the
 * other (those that are not too dear), and buys the first that has everything; or, when it has looked long
 * enough, the best that it has seen. A thorough one reads the features of what seems to lack something, a
 * trusting one relies on the search: it asks for no more than the wanted options.
 *
 * Its thoughts say what is still to be chosen (pages do not show what was), and quote the page where an
 * offer stands, as a small model can.
 */
import type { Expert, Observation } from "../../environment.ts";
import { termsOf } from "../search/analysis.ts";
import type { ShopperKind } from "./kind.ts";
import { type ItemReading, type Offer, type Reading, readPage } from "./reading.ts";
import { type Wishes, wishesOf } from "./wishes.ts";

/** Steps to look around: of an episode's usual 15, five are needed to open a product, choose and buy. */
const SEARCH_STEPS = 15 - 5;

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

export function shopper(kind: ShopperKind): Expert {
  let wishes: Wishes | undefined;
  let steps = 0;
  const judged = new Set<string>();
  let best: Candidate | undefined;
  let current: Current | undefined;
  let decided: Candidate | undefined;
  let chosen = new Set<string>();
  let page: Reading = { kind: "search" };
  let thought = "";
  /** Takes back what the last action would have done, in case that something else was done. */
  let takeBack = (): void => {};

  const search = ({ query }: Wishes): string => `search[${query}]`;

  const open = (offer: Offer, { priceLimit }: Wishes, read: boolean): string => {
    const before = current;
    takeBack = () => {
      current = before;
    };
    chosen = new Set();
    const affordable = likelihood(offer, priceLimit);
    current = { asin: offer.asin, terms: new Set(termsOf(offer.title)), affordable, read };
    thought += `: ${offer.before}${offer.asin}`;
    return `click[${offer.asin}]`;
  };

  const results = (offers: readonly Offer[], wanted: Wishes): string => {
    const known = offers.find(({ asin }) => asin === decided?.asin);
    if (known) return open(known, wanted, true);
    const unknown = offers.filter(({ asin }) => !judged.has(asin));
    const next = unknown.find((offer) => likelihood(offer, wanted.priceLimit) > 0);
    if (next) return open(next, wanted, decided !== undefined);
    if (steps < SEARCH_STEPS && offers.length > 0) return "click[next >]";
    return unknown[0] ? open(unknown[0], wanted, true) : search(wanted);
  };

  const judge = (page: ItemReading, wanted: Wishes, item: Current) => {
    const choices = choicesOf(page.options, wanted);
    const missing = [...wanted.terms].filter((term) => !item.terms.has(term)).length;
    const hasOptions = choices.length >= wanted.options.length;
    const fulfilled = wanted.terms.size - missing + choices.length + item.affordable;
    const unsure = missing > 0 && kind === "thorough";
    const complete = !unsure && hasOptions && item.affordable >= 0.5;
    return { asin: item.asin, fulfilled, choices, complete, hasOptions, unsure };
  };

  const item = (page: ItemReading, wanted: Wishes): string => {
    const here = current ?? { asin: "", terms: new Set(), affordable: 1, read: true };
    current = here;
    if (decided?.asin !== here.asin) {
      const candidate = judge(page, wanted, here);
      const late = steps >= SEARCH_STEPS;
      if (!here.read && candidate.unsure && candidate.hasOptions && !late) {
        here.read = true;
        takeBack = () => {
          here.read = false;
        };
        return "click[features]";
      }
      judged.add(here.asin);
      if (!best || candidate.fulfilled > best.fulfilled) best = candidate;
      if (!candidate.complete && !late) return "click[< prev]";
      decided = candidate.complete ? candidate : best;
      if (decided.asin !== here.asin) return "click[< prev]";
    }
    const left = decided.choices.filter((value) => !chosen.has(value));
    thought = thoughtOf(left);
    const [unchosen] = left;
    if (unchosen === undefined) return "click[buy now]";
    chosen.add(unchosen);
    takeBack = () => chosen.delete(unchosen);
    return `click[${unchosen}]`;
  };

  return {
    act(observation: Observation) {
      wishes ??= wishesOf(observation.instruction ?? "");
      thought = thoughtOf(wishes.options.map(([, value]) => value));
      takeBack = () => {};
      steps++;
      page = readPage(observation);
      switch (page.kind) {
        case "search":
          return search(wishes);
        case "results":
          if (steps >= SEARCH_STEPS) decided ??= best;
          return results(page.offers, wishes);
        case "item":
          return item(page, wishes);
        case "other":
          for (const term of termsOf(page.text)) current?.terms.add(term);
          return "click[< prev]";
      }
    },
    thought: () => thought,
    acted(action) {
      takeBack();
      const clicked = /^click\[(.*)\]$/s.exec(action.trim())?.[1]?.toLowerCase();
      if (clicked === undefined || !wishes) return;
      if (page.kind === "results") {
        const offer = page.offers.find(({ asin }) => asin.toLowerCase() === clicked);
        if (offer) open(offer, wishes, false);
      } else if (page.kind === "item") {
        // Another value of an option takes the place of the one that was chosen.
        for (const values of page.options.values())
          if (values.includes(clicked)) for (const value of values) chosen.delete(value);
        chosen.add(clicked);
      }
    },
  };
}

/** "need plum, 32 ounce", "need nothing". */
function thoughtOf(values: readonly string[]): string {
  return `need ${values.join(", ") || "nothing"}`;
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
