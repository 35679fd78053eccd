/**
 * @file Actions that buy the product of a goal, by someone who knows it.
 */
import type { Goal } from "./goal.ts";
import type { Catalogue, Product } from "./product.ts";
import { colourOf, matchedOptions } from "./reward/options.ts";

const PER_PAGE = 10;
const MOST_HITS = 50;

/** Undefined where the product cannot be found by any of the searches that are tried. */
export function solutionOf(goal: Goal, catalogue: Catalogue): string[] | undefined {
  const index = catalogue.find(goal.asin);
  if (index === undefined) return undefined;
  const product = catalogue.product(index);
  for (const query of queriesFor(product)) {
    const place = catalogue.search(query.toLowerCase(), MOST_HITS).indexOf(index);
    if (place < 0) continue;
    const turns = Array.from({ length: Math.floor(place / PER_PAGE) }, () => "click[next >]");
    const choices = choicesFor(goal, product).map((value) => `click[${value}]`);
    return [
      `search[${query}]`,
      ...turns,
      `click[${product.asin.toLowerCase()}]`,
      ...choices,
      "click[buy now]",
    ];
  }
  return undefined;
}

/** What a search cannot hold: brackets would end it. */
function queriesFor({ title, description, bullets }: Product): string[] {
  const words = (text: string): string => text.replace(/[^\p{L}\p{N}.,'-]+/gu, " ").trim();
  const whole = words(`${title} ${description} ${bullets[0] ?? ""}`).slice(0, 2000);
  return [words(title), whole].filter((query) => query !== "" && !query.startsWith("<"));
}

/** The value to click for each wanted option. */
function choicesFor({ options }: Goal, product: Product): string[] {
  if (options.kind === "named") return options.pairs.map(([, value]) => value);
  // Of every option the value that is like most of the wanted ones.
  return product.options.flatMap(({ values }) => {
    const scored = values.map((value) => ({
      value,
      exact: options.values.some((wanted) => colourOf(wanted) === value || wanted === value),
      matches: matchedOptions(options, [value]),
    }));
    const best = scored.sort(
      (a, b) => Number(b.exact) - Number(a.exact) || b.matches - a.matches,
    )[0];
    return best && best.matches > 0 ? [best.value] : [];
  });
}
