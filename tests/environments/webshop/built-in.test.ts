/**
 * @file The built-in shop and the scripted shopper.
 */
import { describe, expect, it } from "vitest";
import { type LocalEnvironment, openWorld, type World } from "../../../src/environments/index.ts";
import { readPage } from "../../../src/environments/webshop/expert/reading.ts";
import { wishesOf } from "../../../src/environments/webshop/expert/wishes.ts";
import {
  asinOf,
  generatedProduct,
  indexOfAsin,
  splitOf,
} from "../../../src/environments/webshop/generator/generate.ts";
import {
  generatedShop,
  stampOf,
} from "../../../src/environments/webshop/generator/generated-shop.ts";
import { COLOURS, KINDS } from "../../../src/environments/webshop/generator/vocabulary.ts";
import { matchedOptions } from "../../../src/environments/webshop/reward/options.ts";
import { steps, withShopWorld } from "./material.ts";

const open = async (options: Record<string, unknown> = {}) =>
  (await openWorld("webshop", { data: "builtin", ...options })) as World<LocalEnvironment>;

/** Plays tasks with the expert; how many were won, and the mean score. */
async function shopping(world: World<LocalEnvironment>, split: string, count: number) {
  const tasks = await world.tasks(split);
  const environment = world.environment();
  let won = 0;
  let score = 0;
  for (let i = 0; i < count; i++) {
    const expert = world.expert!(i);
    let observation = environment.reset(tasks.task(i));
    for (let step = 0; step < 15; step++) {
      const result = environment.step(expert.act(observation));
      observation = result.observation;
      if (!result.done) continue;
      if (result.won) won++;
      score += result.score;
      break;
    }
  }
  return { won, score: score / count };
}

describe("the built-in shop", () => {
  it("has goals that can all be fulfilled: known actions score 1", async () => {
    const world = await open();
    const environment = world.environment();
    for (const split of world.splits) {
      const tasks = await world.tasks(split);
      for (let i = 0; i < 500; i++) {
        environment.reset(tasks.task(i));
        const solution = (await world.solution!(tasks.task(i)))!;
        const result = steps(environment, ...solution);
        if (!result.won)
          expect.fail(`${tasks.task(i).id}: ${JSON.stringify(result.observation.info)}`);
        expect(result.reward).toBe(10);
      }
    }
  });

  it("has options that match themselves in the reward, each of them", () => {
    const all = [
      ...COLOURS.map((value) => ["color", value] as const),
      ...KINDS.flatMap(({ option }) => option.values.map((value) => [option.name, value] as const)),
    ];
    for (const pair of all)
      expect([pair, matchedOptions({ kind: "named", pairs: [pair] }, [pair[1]])]).toEqual([
        pair,
        1,
      ]);
  });

  it("keeps the products of its splits apart", () => {
    const shop = generatedShop({ products: 1000, goals: 300, seed: 1, cache: "off" });
    for (const split of ["train", "valid", "test"] as const)
      for (let i = 0; i < 300; i++) {
        const goal = shop.goals.find(`${split}/${i}`)!;
        expect(splitOf(1, shop.catalogue.find(goal.asin)!)).toBe(split);
      }
  });

  it("is the same for the same seed, in any order, and another for another", async () => {
    const [one, two] = [await open(), await open()];
    const tasks = await one.tasks("train");
    const texts = (world: World<LocalEnvironment>, order: readonly number[]): string[] => {
      const found: string[] = [];
      for (const i of order) found[i] = world.environment().reset(tasks.task(i)).text;
      return found;
    };
    const order = Array.from({ length: 50 }, (_, i) => i);
    expect(texts(one, order)).toEqual(texts(two, order.toReversed()));
    expect(texts(await open({ seed: 1 }), order)).not.toEqual(texts(one, order));
    expect(generatedProduct(5, 7)).toEqual(generatedProduct(5, 7));
  });

  it("comes in any size", async () => {
    for (const products of [1, 2, 10, 30_000]) {
      const world = await open({ products, cache: "off" });
      const { score } = await shopping(world, "test", 5);
      expect(score).toBeGreaterThan(products < 100 ? 0.99 : 0.8);
    }
    for (const index of [0, 35, 36, 999_999, 123_456_789])
      expect(indexOfAsin(asinOf(index))).toBe(index);
    expect(indexOfAsin("b000000001")).toBeUndefined();
  });

  it("names its index by its products, so that other words never meet an old index", () => {
    expect(stampOf(1000, 1)).toBe(stampOf(1000, 1));
    const stamps = [stampOf(1000, 1), stampOf(1000, 2), stampOf(999, 1)];
    expect(new Set(stamps.map((stamp) => stamp.split(", ").at(-1))).size).toBe(3);
  });

  it("has tasks by department", async () => {
    const tasks = await (await open()).tasks("train");
    const types = new Set(Array.from({ length: 100 }, (_, i) => tasks.type(i)));
    expect([...types].sort()).toEqual([
      ...["beauty", "clothing", "electronics", "food", "home", "kitchen", "outdoor", "shoes"],
    ]);
  });

  it("has no goals by people", async () => {
    await expect(open({ human: true })).rejects.toThrow(/the built-in shop has no goals by people/);
  });
});

describe("the shopper", () => {
  it("fulfils at least 98 of 100 goals of the test within 15 steps", async () => {
    const { won, score } = await shopping(await open(), "test", 500);
    expect(won).toBeGreaterThanOrEqual(490);
    expect(score).toBeGreaterThan(0.98);
  });

  it("shops in the original's files too", () =>
    withShopWorld({}, async (world) => {
      const { won } = await shopping(world, "test", 6);
      expect(won).toBeGreaterThanOrEqual(4);
    }));

  it("reads instructions as people do", () => {
    expect(
      wishesOf(
        "Find me x with y with color: a, b, and size: 9.5, and price lower than 70.00 dollars",
      ),
    ).toEqual({
      query: "Find me x with y a, b 9.5",
      terms: new Set(["x", "y"]),
      options: [
        ["color", "a, b"],
        ["size", "9.5"],
      ],
      priceLimit: 70,
    });
    expect(wishesOf("i want [something] <nice>")).toMatchObject({
      ...{ query: "i want something nice", options: [], priceLimit: Infinity },
    });
    expect(wishesOf("").query).toBe("anything");
  });

  it("does not take the instruction above a page for what the page says", async () => {
    const world = await open();
    const environment = world.environment();
    const { instruction } = environment.reset((await world.tasks("test")).task(0));
    const { observation } = steps(environment, "search[shoes]", "click[next >]");
    const asin = observation.admissible!.at(-1)!;
    const features = steps(environment, asin, "click[features]").observation;
    expect(features.text).toContain(instruction);
    expect(readPage(features)).toEqual({
      kind: "other",
      text: expect.stringMatching(/^What else you get/),
    });
  });

  it("says something to any page", async () => {
    const world = await open({ products: 5 });
    const expert = world.expert!(0);
    for (const text of ["", "x", "WebShop", "Page 1 (Total results: 0)", "[SEP]", "Price: $"])
      for (const admissible of [undefined, [], ["click[search]"], ["click[buy now]"]])
        expect(typeof expert.act({ text, anchor: text, info: {}, admissible })).toBe("string");
  });

  it("is only there where it can read", async () => {
    expect((await open({ mode: "html" })).expert).toBeUndefined();
    expect((await open({ previousActions: 1 })).expert).toBeUndefined();
  });
});
