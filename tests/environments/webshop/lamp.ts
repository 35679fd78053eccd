/**
 * @file A product and the goal that asks for it, for the tests of the reward.
 */
import type { Goal } from "../../../src/environments/webshop/goal.ts";
import type { Product } from "../../../src/environments/webshop/product.ts";

export const PRODUCT: Product = {
  asin: "A",
  title: "lamp shade cord bulb",
  description: "made of soft fleece",
  bullets: ["a cotton blend inside"],
  options: [],
  pricing: [20],
  priceTag: "$20.0",
  attributes: ["machine wash", "long sleeve"],
  category: "c",
  query: "q",
  productCategory: "A › B › C",
  image: "",
};

/** Wants what PRODUCT is: one attribute, no options, a limit above its price of 20. */
export const GOAL: Goal = {
  ...{ asin: "A", category: "c", query: "q", name: PRODUCT.title, productCategory: "A › B › C" },
  ...{ instruction: "", attributes: ["machine wash"], priceUpper: 30 },
  options: { kind: "values", values: [] },
};
