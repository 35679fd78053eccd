/**
 * @file The goals of the original's data: one for each way to choose the options of each product that
 * has an instruction (synthetic), or one for each instruction by a person (human).
 *
 * Goals are made when asked for: the full data has millions of synthetic ones. Their order and price
 * limits are those of the original with the same seed, because they are drawn by the same generator.
 */
import { type Goal, type GoalOptions, NO_LIMIT, priceLimits, priceText } from "../goal.ts";
import type { Product } from "../product.ts";
import { type PythonRandom, pythonRandom } from "../python-random.ts";
import type { Annotations, HumanInstructions } from "./annotations.ts";
import type { FileCatalogue } from "./file-catalogue.ts";
import { DataError } from "./json-array.ts";

export interface Goals {
  readonly length: number;
  goal(index: number): Goal;
}

/** More goals than this do not fit into one array of their order. */
const MOST_GOALS = 2 ** 30;

export function syntheticGoals(
  catalogue: FileCatalogue,
  annotations: Annotations,
  random: PythonRandom,
  seed: number,
): Goals {
  const { table } = catalogue;
  const wanted: { place: number; limit: number; end: number }[] = [];
  let total = 0;
  for (const [place, asin] of table.asins.entries()) {
    const known = annotations(asin);
    if (known?.instruction === undefined || known.instructionAttributes.length === 0) continue;
    const limit = drawLimit(catalogue.price(place), random);
    total += table.combinations[place]!;
    if (total > MOST_GOALS)
      throw new DataError(`there are more than ${MOST_GOALS} synthetic goals; use human ones`);
    wanted.push({ place, limit, end: total });
  }
  const order = shuffled(total, seed);
  return {
    length: total,
    goal(index) {
      const number = order[index]!;
      const { place, limit, end } = wanted[firstAbove(wanted, number)]!;
      const product = catalogue.product(place);
      const pairs = combination(product, number - (end - table.combinations[place]!));
      const known = annotations(product.asin)!;
      const chosen = pairs.map(([name, value]) => `${name}: ${value}`).join(", and ");
      const text = `${known.instruction}${chosen && ` with ${chosen}`}`;
      return goalOf(product, text, known.instructionAttributes, limit, { kind: "named", pairs });
    },
  };
}

export function humanGoals(
  catalogue: FileCatalogue,
  instructions: HumanInstructions,
  random: PythonRandom,
  seed: number,
): Goals {
  const wanted: { place: number; number: number; limit: number }[] = [];
  for (const [place, asin] of catalogue.table.asins.entries())
    for (const [number, { attributes }] of instructions(asin).entries()) {
      if (attributes.length === 0) continue;
      wanted.push({ place, number, limit: drawLimit(catalogue.price(place), random) });
    }
  const order = shuffled(wanted.length, seed);
  return {
    length: wanted.length,
    goal(index) {
      const { place, number, limit } = wanted[order[index]!]!;
      const product = catalogue.product(place);
      const { instruction, attributes, options } = instructions(product.asin)[number]!;
      const text = instruction.replace(/^\.+/, "").replace(/(?<!\.)\.+$/, "");
      return goalOf(product, text, attributes, limit, { kind: "values", values: options });
    },
  };
}

function goalOf(
  product: Product,
  text: string,
  attributes: readonly string[],
  priceUpper: number,
  options: GoalOptions,
): Goal {
  const { asin, category, query, title, productCategory } = product;
  const instruction = text + priceText(priceUpper);
  return {
    ...{ asin, category, query, name: title, productCategory },
    ...{ instruction, attributes, priceUpper, options },
  };
}

/** The larger of two of the possible limits. */
function drawLimit(price: number, random: PythonRandom): number {
  const limits = priceLimits(price);
  if (limits.length < 2) return NO_LIMIT;
  return Math.max(...random.sample(limits.length, 2).map((i) => limits[i]!));
}

function shuffled(length: number, seed: number): Uint32Array {
  const order = Uint32Array.from({ length }, (_, i) => i);
  // The original seeds again before it shuffles.
  pythonRandom(seed).shuffle(order);
  return order;
}

/** The number-th way to choose a value of each option; the options by name, the last changes fastest. */
function combination(product: Product, number: number): [string, string][] {
  const options = [...product.options].sort((a, b) => (a.name < b.name ? -1 : 1));
  const pairs: [string, string][] = [];
  let rest = number;
  for (const { name, values } of options.reverse()) {
    pairs.push([name, values[rest % values.length]!]);
    rest = Math.floor(rest / values.length);
  }
  return pairs.reverse();
}

/** The first whose end is above the number. */
function firstAbove(list: readonly { readonly end: number }[], number: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.end <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}
