/**
 * @file Reads pages of text as a person would.
 */
import type { Observation } from "../../environment.ts";
import { SEPARATOR } from "../pages/render.ts";

export interface Offer {
  readonly asin: string;
  /** What stands on the page before it, with the sign between. */
  readonly before: string;
  readonly title: string;
  /** The lowest and the highest price of the tag, in dollars. */
  readonly low: number;
  readonly high: number;
}

export interface ItemReading {
  readonly kind: "item";
  readonly title: string;
  /** Values by the name of their option. */
  readonly options: ReadonlyMap<string, readonly string[]>;
}

export type Reading =
  | { readonly kind: "search" }
  | { readonly kind: "results"; readonly offers: readonly Offer[] }
  | ItemReading
  /** A page of a product's description or features: its text without the head. */
  | { readonly kind: "other"; readonly text: string };

export function readPage({ text, admissible = [] }: Observation): Reading {
  const pieces = text.split(SEPARATOR);
  if (admissible.includes("click[search]")) return { kind: "search" };
  const heading = pieces.findIndex((piece) => /^Page -?\d+ \(Total results: \d+\)$/.test(piece));
  if (heading >= 0)
    return { kind: "results", offers: offersOf(pieces.slice(heading + 1), admissible) };
  const price = pieces.findLastIndex((piece) => piece.startsWith("Price: $"));
  if (price >= 0 && admissible.includes("click[buy now]")) {
    const begin = pieces.indexOf("< Prev") + 1;
    const options = optionsOf(pieces.slice(begin, price - 1), admissible);
    return { kind: "item", title: pieces[price - 1] ?? "", options };
  }
  // What is above the page's own text repeats the instruction.
  const head = pieces.indexOf("< Prev");
  return { kind: "other", text: pieces.slice(head + 1).join(" ") };
}

function offersOf(pieces: readonly string[], admissible: readonly string[]): Offer[] {
  const links = new Set(admissible);
  return pieces.flatMap((asin, at) => {
    if (!links.has(`click[${asin.toLowerCase()}]`)) return [];
    const prices = /^\$([\d.]+)(?: to \$([\d.]+))?$/.exec(pieces[at + 2] ?? "");
    if (!prices) return [];
    const low = Number(prices[1]);
    const high = prices[2] === undefined ? low : Number(prices[2]);
    const before = `${pieces[at - 1] ?? ""}${SEPARATOR}`;
    return [{ asin, before, title: pieces[at + 1]!, low, high }];
  });
}

/** What cannot be clicked is the name of an option, and what follows are its values. */
function optionsOf(
  pieces: readonly string[],
  admissible: readonly string[],
): Map<string, string[]> {
  const clickable = new Set(admissible);
  const options = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const piece of pieces) {
    if (clickable.has(`click[${piece}]`) && values) values.push(piece);
    else {
      values = [];
      options.set(piece, values);
    }
  }
  return options;
}
