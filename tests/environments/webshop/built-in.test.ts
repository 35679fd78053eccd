/**
 * @file The built-in shop.
 */
import { describe, expect, it } from "vitest";
import type { LocalEnvironment, World } from "../../../src/environments/index.ts";
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
import { steps } from "./material.ts";
import { openShop as open, shopping } from "./shopping.ts";

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

  it("has several shops where asked: the same codes for other products, and goals in all of them", async () => {
    const shops = generatedShop({ products: 50, goals: 30, shops: 3, seed: 7, cache: "off" });
    const first = generatedShop({ products: 50, goals: 30, seed: 7, cache: "off" });
    const titles = [0, 1, 2, 3].map((i) => shops.catalogueOf!(`train/${i}`).product(4).title);
    expect(new Set(titles).size).toBe(3);
    expect(titles[3]).toBe(titles[0]);
    expect(first.catalogue.product(4).title).toBe(titles[0]);
    expect(first.goals.find("train/3")).toEqual(shops.goals.find("train/3"));
    const world = await open({ products: 50, shops: 20, goals: 60 });
    const { won } = await shopping(world, "train", 60);
    expect(won).toBeGreaterThanOrEqual(57);
    const environment = world.environment();
    const tasks = await world.tasks("test");
    for (let i = 0; i < 30; i++) {
      environment.reset(tasks.task(i));
      expect(steps(environment, ...(await world.solution!(tasks.task(i)))!).won).toBe(true);
    }
  });

  it("keeps shops apart that no other split enters", async () => {
    const options = { products: 50, goals: 60, shops: 3, unseenShops: 2, seed: 7, cache: "off" };
    const shop = generatedShop(options);
    expect(shop.goals.splits).toEqual(["train", "valid", "test", "unseen_shops"]);
    const shopsOf = (split: string) =>
      new Set(
        Array.from({ length: 60 }, (_, i) => shop.catalogueOf!(`${split}/${i}`).product(4).title),
      );
    const known = new Set(["train", "valid", "test"].flatMap((split) => [...shopsOf(split)]));
    expect(known.size).toBe(3);
    expect(shopsOf("unseen_shops").size).toBe(2);
    for (const title of shopsOf("unseen_shops")) expect(known.has(title)).toBe(false);
    // Nothing of the other splits changes by it.
    const without = generatedShop({ ...options, unseenShops: 0 });
    expect(without.goals.splits).not.toContain("unseen_shops");
    expect(without.goals.find("unseen_shops/0")).toBeUndefined();
    for (const id of ["train/5", "valid/5", "test/499"])
      expect(shop.goals.find(id)).toEqual(without.goals.find(id));
    expect(shop.goals.find("unseen_shops/500")).toBeUndefined();
    const world = await open({ products: 50, shops: 3, unseenShops: 2, goals: 60 });
    const { won } = await shopping(world, "unseen_shops", 60);
    expect(won).toBeGreaterThanOrEqual(57);
  });

  it("has no shops apart where the shop is a folder's", async () => {
    await expect(open({ data: "some/folder", unseenShops: 2 })).rejects.toThrow(
      "some/folder is one shop, so there is none that was never seen; unseenShops is for data=builtin.",
    );
  });

  it("has no goals by people", async () => {
    await expect(open({ human: true })).rejects.toThrow(/the built-in shop has no goals by people/);
  });
});
