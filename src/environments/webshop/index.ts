/**
 * @file WebShop: find a product by an instruction, choose its options and buy it. The original's data
 * files, or a shop of our own.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineWorld } from "../define.ts";
import { EnvironmentError } from "../environment.ts";
import { SHOPPERS, type ShopperKind } from "./expert/kind.ts";
import { MODES, type Mode } from "./pages/mode.ts";

/** Where `data get webshop` puts the files unless told otherwise. */
export const DEFAULT_DATA_FOLDER = join("data", "webshop");

/** The order of goals that the original and AgentGym have. */
const ORIGINAL_SEED = 233;
const BUILT_IN_PRODUCTS = 1000;

export const webshop = defineWorld({
  name: "webshop",
  aliases: ["WebAgentTextEnv", "WebAgentTextEnv-v0", "webshop/WebAgentTextEnv"],
  summary: "WebShop: search, compare, choose options and buy, in its own data or a built-in shop",
  maximumSteps: 15,
  options: {
    data: {
      kind: "text",
      about:
        'a folder with items_shuffle.json and its companions, or "builtin" for our own shop; unless ' +
        `said: $WEBSHOP_DATA or ${DEFAULT_DATA_FOLDER} where there is one, else builtin`,
    },
    mode: {
      kind: "text",
      choices: MODES,
      default: "text",
      about: "how pages are shown",
    },
    human: {
      kind: "boolean",
      default: false,
      about: "goals written by people in place of synthetic ones; not in the built-in shop",
    },
    small: {
      kind: "boolean",
      about: "the files of a thousand products (true) or of all (false), where there are both",
    },
    products: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 10_000_000,
      about: `how many products; default: all in the files, or ${BUILT_IN_PRODUCTS} built-in ones`,
    },
    goals: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 100_000_000,
      default: 10_000,
      about: "how many goals the split train of the built-in shop has",
    },
    shops: {
      kind: "number",
      integer: true,
      minimum: 1,
      maximum: 1_000_000,
      default: 1,
      about:
        "in how many built-in shops the goals are, each with products of its own under the same codes: " +
        "who shops in many learns to shop, and not which code is which product",
    },
    unseenShops: {
      kind: "number",
      integer: true,
      minimum: 0,
      maximum: 1_000_000,
      default: 0,
      about:
        "so many more built-in shops, in which no other split has a goal: the split " +
        '"unseen_shops"; not for files',
    },
    valid: {
      kind: "number",
      integer: true,
      minimum: 0,
      default: 0,
      about: "how many goals of the files, after the 500 of the test, become the split valid",
    },
    seed: {
      kind: "number",
      integer: true,
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: ORIGINAL_SEED,
      about: "draws prices, price limits and the order of the goals; another built-in shop",
    },
    showAttributes: {
      kind: "boolean",
      default: false,
      about: "whether products have a page of their attributes",
    },
    previousObservations: {
      kind: "number",
      integer: true,
      minimum: 0,
      maximum: 100,
      default: 0,
      about: "how many earlier observations each observation begins with",
    },
    previousActions: {
      kind: "number",
      integer: true,
      minimum: 0,
      maximum: 100,
      default: 0,
      about: "how many earlier actions each observation begins with",
    },
    winReward: {
      kind: "number",
      default: 10,
      about: "the reward of a purchase that scores 1",
    },
    expert: {
      kind: "text",
      choices: SHOPPERS,
      default: "thorough",
      about:
        "how the expert shops: thorough reads the features of what seems to lack something, trusting " +
        "relies on the search and chooses options only",
    },
    cache: {
      kind: "text",
      about:
        'where the search index of a large shop is kept, or "off"; default: the user\'s cache ' +
        "folder, from 20,000 products on",
    },
  },
  async open({
    data = dataFolder(),
    human,
    small,
    products,
    goals,
    shops,
    unseenShops,
    valid,
    seed,
    cache,
    expert,
    ...rest
  }) {
    if (human && data === "builtin")
      throw new EnvironmentError(
        "webshop",
        "the built-in shop has no goals by people; human=true needs data=FOLDER with items_human_ins.json.",
      );
    if (unseenShops > 0 && data !== "builtin")
      throw new EnvironmentError(
        "webshop",
        `${data} is one shop, so there is none that was never seen; unseenShops is for data=builtin.`,
      );
    const shop =
      data === "builtin"
        ? (await import("./generator/generated-shop.ts")).generatedShop({
            ...{ products: products ?? BUILT_IN_PRODUCTS, goals, shops, unseenShops, seed, cache },
          })
        : (await import("./data/file-shop.ts")).fileShop(data, {
            ...{ human, small, products, valid, seed, cache },
          });
    const { shopWorld } = await import("./world.ts");
    return shopWorld(
      { name: "webshop", shop, ...rest, mode: rest.mode as Mode },
      expert as ShopperKind,
    );
  },
});

/** The variable comes first. */
function dataFolder(): string {
  const candidates = [process.env.WEBSHOP_DATA, DEFAULT_DATA_FOLDER];
  return candidates.find((folder) => folder && existsSync(folder)) ?? "builtin";
}
