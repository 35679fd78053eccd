/**
 * @file The kinds of generated questions: how each is asked, and which facts and which calculation
 * answer it. The same table makes questions, solves them, and lets the expert understand them.
 */
import type { Random } from "../../random.ts";
import type { Place } from "./country.ts";

/** A fact of a place; "*" is the place that the fact before named. */
export type Need = readonly [place: string, field: string];

export interface Kind {
  readonly name: string;
  /** "{0}" are names of places. */
  readonly text: string;
  readonly places: readonly Place["kind"][];
  needs(names: readonly string[]): readonly Need[];
  /** An expression over the facts in their order; undefined: the last fact is the answer. */
  expression?(values: readonly string[]): string;
  /** Whether these facts make a sensible question. */
  suits?(values: readonly number[]): boolean;
}

const populations = (names: readonly string[]): readonly Need[] =>
  names.map((name) => [name, "population"]);

export const KINDS: readonly Kind[] = [
  {
    name: "lookup",
    text: "In which year was the town of {0} founded?",
    places: ["town"],
    needs: ([town]) => [[town!, "founded"]],
  },
  {
    name: "two_hops",
    text: "How many inhabitants does the town have in which the {0} stands?",
    places: ["museum"],
    needs: ([museum]) => [
      [museum!, "town"],
      ["*", "population"],
    ],
  },
  {
    name: "difference",
    text: "How many more inhabitants does {0} have than {1}?",
    places: ["town", "town"],
    needs: populations,
    expression: ([a, b]) => `${a} - ${b}`,
    suits: ([a, b]) => a! > b!,
  },
  {
    name: "total",
    text: "How many inhabitants do {0}, {1} and {2} have together?",
    places: ["town", "town", "town"],
    needs: populations,
    expression: (values) => values.join(" + "),
  },
  {
    name: "density",
    text: "How many inhabitants does {0} have per square kilometre, rounded to a whole number?",
    places: ["town"],
    needs: ([town]) => [
      [town!, "population"],
      [town!, "area"],
    ],
    expression: ([population, area]) => `round(${population} / ${area})`,
  },
  {
    name: "income",
    text: "How many crowns did the {0} take from tickets last year, rounded to a whole number?",
    places: ["museum"],
    needs: ([museum]) => [
      [museum!, "visitors"],
      [museum!, "price"],
    ],
    expression: ([visitors, price]) => `round(${visitors} * ${price})`,
  },
];

export function wording({ text }: Kind, names: readonly string[]): string {
  return text.replace(/\{(\d)\}/g, (_, index: string) => names[Number(index)]!);
}

/** The kind and names of a question that was worded so; undefined for any other. */
export function understood(question: string): { kind: Kind; names: readonly string[] } | undefined {
  for (const kind of KINDS) {
    const parts = kind.text.split(/\{\d\}/).map((part) => part.replace(/[?.]/g, "\\$&"));
    const match = new RegExp(`^${parts.join("([\\w ]+?)")}$`).exec(question);
    if (match) return { kind, names: match.slice(1) };
  }
  return undefined;
}

/** Names of places that suit a kind, drawn from those given. */
export function drawNames(
  kind: Kind,
  places: readonly Place[],
  random: Random,
): readonly Place[] | undefined {
  for (let attempt = 0; attempt < 100; attempt++) {
    const shuffled = random.shuffled(places);
    const chosen = kind.places.map((wanted, index) => {
      const before = kind.places.slice(0, index).filter((other) => other === wanted).length;
      return shuffled.filter((place) => place.kind === wanted)[before];
    });
    if (chosen.some((place) => place === undefined)) return undefined;
    const found = chosen as Place[];
    const values = found.map(({ facts }) => Number(facts.population));
    if (kind.suits?.(values) ?? true) return found;
  }
  return undefined;
}
