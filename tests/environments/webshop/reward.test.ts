/**
 * @file The reward, against cases that were worked out by hand from the formula
 *
 *     factor · (attributes + options + price) / (wanted attributes + wanted options + 1)
 *
 * Nouns are the words of a title here, so that titles can be chosen to give any share. R(a, b) below is
 * 100 · 2 · matching characters / all characters of the two texts, rounded.
 */
import { describe, expect, it } from "vitest";
import type { Goal, GoalOptions } from "../../../src/environments/webshop/goal.ts";
import type { Product } from "../../../src/environments/webshop/product.ts";
import { rewardOf } from "../../../src/environments/webshop/reward/reward.ts";
import { GOAL, PRODUCT } from "./lamp.ts";

interface Case {
  readonly product?: Partial<Product>;
  readonly goal?: Partial<Goal>;
  readonly price?: number;
  /** Chosen values, of options with any names. */
  readonly chosen?: readonly string[];
}

const scoreOf = ({ product, goal, price = 20, chosen = [] }: Case): number =>
  rewardOf(
    {
      product: { ...PRODUCT, ...product },
      price,
      options: chosen.map((value, i) => [`option ${i}`, value]),
    },
    { ...GOAL, ...goal },
    (title) => (title === "" ? [] : title.split(" ")),
  ).score;

const named = (...pairs: (readonly [string, string])[]): Partial<Goal> => ({
  options: { kind: "named", pairs } satisfies GoalOptions,
});
const values = (...list: string[]): Partial<Goal> => ({
  options: { kind: "values", values: list } satisfies GoalOptions,
});

/** Neither the query nor two levels of the category: only the title can tell. */
const stranger = { query: "other", productCategory: "X › Y › Z" };

type Row = readonly [title: string, score: number, case_: Case];

/** One attribute matches and the price fits in all of these: (1 + 0 + 1) / 2 = 1 times the factor. */
const TYPE: readonly Row[] = [
  ["the very product", 1, {}],
  ["another query, the same category", 1, { product: { query: "other" } }],
  ["only the title, all of it: 4/4 > 0.2", 1, { product: stranger }],
  ["1 of 4 nouns: 0.25 > 0.2", 1, { product: { ...stranger, title: "lamp x y z" } }],
  [
    "1 of 5 nouns: 0.2 is not above 0.2, and nothing else fits",
    0.5,
    { product: { ...stranger, title: "lamp" }, goal: { name: "lamp a b c d" } },
  ],
  [
    "1 of 10 nouns: 0.1 is not below 0.1",
    0.5,
    { product: { ...stranger, title: "lamp" }, goal: { name: "lamp a b c d e f g h i" } },
  ],
  [
    "1 of 10 nouns and the query",
    1,
    { product: { title: "lamp" }, goal: { name: "lamp a b c d e f g h i" } },
  ],
  [
    "1 of 11 nouns: 0.0909 is below 0.1, whatever the query",
    0.1,
    { product: { title: "lamp" }, goal: { name: "lamp a b c d e f g h i j" } },
  ],
  ["no common noun, whatever the query", 0, { product: { title: "x y" } }],
  ["no common noun and nothing else", 0, { product: { ...stranger, title: "x y" } }],
  ["no nouns wanted counts as 0.2; the query fits", 1, { goal: { name: "" } }],
  ["no nouns wanted counts as 0.2; nothing fits", 0.5, { product: stranger, goal: { name: "" } }],
  [
    "two common levels, in another order",
    1,
    {
      product: { query: "other", productCategory: "C › X › A", title: "lamp" },
      goal: { name: "lamp a b c d" },
    },
  ],
  [
    "one common level",
    0.5,
    {
      product: { query: "other", productCategory: "A › X › Y", title: "lamp" },
      goal: { name: "lamp a b c d" },
    },
  ],
  [
    "one common level twice is one",
    0.5,
    {
      product: { query: "other", productCategory: "A › A › Y", title: "lamp" },
      goal: { name: "lamp a b c d" },
    },
  ],
  [
    "levels without spaces around the sign",
    1,
    {
      product: { query: "other", productCategory: "A›B", title: "lamp" },
      goal: { name: "lamp a b c d" },
    },
  ],
  [
    "two empty categories have one level in common, the empty one",
    0.5,
    {
      product: { query: "other", productCategory: "", title: "lamp" },
      goal: { name: "lamp a b c d", productCategory: "" },
    },
  ],
  [
    "a wanted noun three times counts three times below: 1/3",
    1,
    { product: { ...stranger, title: "lamp" }, goal: { name: "lamp lamp lamp" } },
  ],
  [
    "five times: 1/5",
    0.5,
    { product: { ...stranger, title: "lamp" }, goal: { name: "lamp lamp lamp lamp lamp" } },
  ],
  [
    "a bought noun five times counts once",
    1,
    { product: { ...stranger, title: "lamp lamp lamp lamp lamp" }, goal: { name: "lamp" } },
  ],
];

/** The factor is 1 and the price fits: (attributes + 1) / (wanted + 1). */
const ATTRIBUTES: readonly Row[] = [
  ["both of two", 1, { goal: { attributes: ["machine wash", "long sleeve"] } }],
  ["one of two: 2/3", 2 / 3, { goal: { attributes: ["machine wash", "zip pocket"] } }],
  ["none of one: 1/2", 1 / 2, { goal: { attributes: ["zip pocket"] } }],
  ["none of three: 1/4", 1 / 4, { goal: { attributes: ["zip pocket", "hood", "xyz"] } }],
  ["part of the title", 1, { goal: { attributes: ["shade cor"] } }],
  ["in a bullet", 1, { goal: { attributes: ["cotton blend"] } }],
  ["in the description", 1, { goal: { attributes: ["soft fleece"] } }],
  [
    "the title is read in lower case",
    1,
    { product: { title: "LAMP Shade" }, goal: { name: "LAMP Shade", attributes: ["lamp shade"] } },
  ],
  ["the attribute is not", 1 / 2, { goal: { attributes: ["Soft Fleece"] } }],
  [
    "across two bullets, which are joined by a space",
    1,
    { product: { bullets: ["so long", "lasting it is"] }, goal: { attributes: ["long lasting"] } },
  ],
  [
    // R(essential oil, essential oils) = 2·13/27 = 96.
    "one letter less",
    1,
    { product: { attributes: ["essential oil"] }, goal: { attributes: ["essential oils"] } },
  ],
  ["the words in another order: the same set", 1, { goal: { attributes: ["sleeve long"] } }],
  ["more words than the product has", 1, { goal: { attributes: ["machine wash cold"] } }],
  ["fewer words than the product has", 1, { goal: { attributes: ["machine"] } }],
  [
    // tea | tea bag | tea tree: R = 6/10, 6/11, 8/15: at most 60.
    "one word of two",
    1 / 2,
    { product: { attributes: ["tea bag"] }, goal: { attributes: ["tea tree"] } },
  ],
  [
    // 17 common letters of 20 and 20: R = 34/40 = 85, which is not above 85.
    "alike by exactly 85",
    1 / 2,
    {
      product: { attributes: ["abcdefghijklmnopq123"] },
      goal: { attributes: ["abcdefghijklmnopq456"] },
    },
  ],
  [
    // R = 12/14 = 85.7, rounded 86.
    "alike by 86",
    1,
    { product: { attributes: ["abcdef1"] }, goal: { attributes: ["abcdef2"] } },
  ],
  ["nothing wanted but the price: 1/1", 1, { goal: { attributes: [] } }],
  ["nothing known of the product", 1 / 2, { product: { attributes: ["DUMMY_ATTR"] } }],
  [
    "accented letters of Latin-1 vanish on both sides",
    1,
    { product: { attributes: ["crème"] }, goal: { attributes: ["crme"] } },
  ],
  ["a hyphen is a space", 1, { product: { attributes: ["machine-wash"] } }],
  [
    // x_y stays one word: R(x_y, x y) = 4/6 = 67.
    "an underscore is not",
    1 / 2,
    { product: { attributes: ["x_y"] }, goal: { attributes: ["x y"] } },
  ],
  [
    "two of the product's are like one: it counts once",
    1,
    { product: { attributes: ["machine wash", "machine wash cold"] } },
  ],
];

const PRICE: readonly Row[] = [
  ["exactly the limit", 1, { price: 30 }],
  ["a cent above: (1 + 0) / 2", 1 / 2, { price: 30.01 }],
  ["no limit", 1, { price: 999, goal: { priceUpper: 1_000_000 } }],
  ["nothing fits but the kind: 0/2", 0, { price: 31, goal: { attributes: ["zip pocket"] } }],
];

/** One attribute matches and the price fits: (1 + options + 1) / (1 + wanted + 1). */
const OPTIONS: readonly Row[] = [
  ["the colour", 1, { goal: named(["color", "red"]), chosen: ["red"] }],
  ["nothing chosen: 2/3", 2 / 3, { goal: named(["color", "red"]) }],
  ["another colour: 2/3", 2 / 3, { goal: named(["color", "red"]), chosen: ["blue"] }],
  [
    // "dark red" is the colour "dark", which is one of the words color, dark, red.
    "two words: the first known colour is among the words",
    1,
    { goal: named(["color", "dark red"]), chosen: ["dark red"] },
  ],
  [
    // "dark blue" is "blue" (b before d), not among color, dark, red. R(blue, color dark red) = 4/18.
    "another shade",
    2 / 3,
    { goal: named(["color", "dark red"]), chosen: ["dark blue"] },
  ],
  ["less than wanted", 1, { goal: named(["color", "dark red"]), chosen: ["red"] }],
  [
    // "dark red" is "dark", the goal is "red": R = 2·1/7.
    "more than wanted",
    2 / 3,
    { goal: named(["color", "red"]), chosen: ["dark red"] },
  ],
  ["lay-er-ed holds red", 1, { goal: named(["color", "red"]), chosen: ["layered"] }],
  ["a size with a dot", 1, { goal: named(["size", "9.5"]), chosen: ["9.5"] }],
  ["9 is among size, 9, 5", 1, { goal: named(["size", "9.5"]), chosen: ["9"] }],
  [
    // 9 | 9 5 | 9 size: R = 2/4, 2/7, 4/9: at most 50.
    "9.5 is not among size, 9",
    2 / 3,
    { goal: named(["size", "9"]), chosen: ["9.5"] },
  ],
  ["both of two", 1, { goal: named(["color", "red"], ["size", "9"]), chosen: ["9", "red"] }],
  ["one of two: 3/4", 3 / 4, { goal: named(["color", "red"], ["size", "9"]), chosen: ["9"] }],
  ["one choice for two wishes", 1, { goal: named(["a", "red"], ["b", "red"]), chosen: ["red"] }],
  [
    "two choices for one wish count once",
    1,
    { goal: named(["color", "dark red"]), chosen: ["dark", "red"] },
  ],
  [
    "a name that is a colour stands for the wish",
    2 / 3,
    { goal: named(["gold", "x"]), chosen: ["x"] },
  ],
  ["the name of the option as a value", 1, { goal: named(["color", "teal x"]), chosen: ["color"] }],
  [
    // Python writes the no-break space as \xa0: color, wine, xa0red. The choice is "red".
    // R(red, color wine xa0red) = 6/20.
    "a no-break space makes even the right choice wrong",
    2 / 3,
    { goal: named(["color", "wine\u00a0red"]), chosen: ["wine\u00a0red"] },
  ],
  ["values without names", 1, { goal: values("grey", "xl"), chosen: ["xl", "grey"] }],
  ["one value of three: 3/5", 3 / 5, { goal: values("grey", "xl", "men"), chosen: ["xl"] }],
  ["fewer words", 1, { goal: values("cool powder snow"), chosen: ["powder snow"] }],
  [
    // "grey" comes before "light" and "heather" in the alphabet.
    "both are grey",
    1,
    { goal: values("light grey"), chosen: ["heather grey"] },
  ],
  [
    // of pack | of pack 2: R = 14/16 = 88.
    "two of twelve is like enough",
    1,
    { goal: values("pack of 12"), chosen: ["pack of 2"] },
  ],
  ["choices that nobody asked for", 1, { chosen: ["red", "9"] }],
];

const TOGETHER: readonly Row[] = [
  [
    "0.5 · (1 + 0 + 1) / 3",
    1 / 3,
    {
      product: { ...stranger, title: "lamp" },
      goal: { name: "lamp a b c d", attributes: ["machine wash", "hood"] },
    },
  ],
  [
    "0.1 · (1 + 1 + 0) / 3",
    0.1 * (2 / 3),
    {
      product: { title: "lamp" },
      goal: { name: "lamp a b c d e f g h i j", ...named(["color", "red"]) },
      price: 40,
      chosen: ["red"],
    },
  ],
  [
    "1 · (2 + 1 + 1) / (3 + 2 + 1)",
    4 / 6,
    {
      goal: {
        attributes: ["machine wash", "long sleeve", "hood"],
        ...named(["color", "red"], ["size", "9"]),
      },
      chosen: ["red"],
    },
  ],
];

const ALL = { TYPE, ATTRIBUTES, PRICE, OPTIONS, TOGETHER };

describe("the reward", () => {
  it("is checked in more than fifty cases", () => {
    expect(Object.values(ALL).flat().length).toBeGreaterThanOrEqual(50);
  });

  for (const [part, rows] of Object.entries(ALL))
    it.each(rows)(`${part.toLowerCase()}: %s`, (_, score, case_) => {
      expect(scoreOf(case_)).toBeCloseTo(score, 14);
    });
});
