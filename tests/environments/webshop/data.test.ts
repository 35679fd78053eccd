/**
 * @file The original's files, and the products and goals that are made of them.
 */
import { describe, expect, it } from "vitest";
import { productOf } from "../../../src/environments/webshop/data/record.ts";
import { pythonRandom } from "../../../src/environments/webshop/python-random.ts";
import { FILES, PRODUCTS, steps, withShopWorld } from "./material.ts";

const PRODUCT_FILE = "items_shuffle_1000.json";

/** The instructions of a world's goals, by number. */
const instructions = (options: Record<string, unknown>, files?: Record<string, unknown>) =>
  withShopWorld(
    options,
    async (world) => {
      const environment = world.environment();
      const found: string[] = [];
      for (const split of world.splits) {
        const tasks = await world.tasks(split);
        for (let i = 0; i < tasks.length; i++) {
          const task = tasks.task(i);
          found[Number(task.id)] = environment.reset(task).instruction!;
        }
      }
      return found;
    },
    files,
  );

describe("products", () => {
  it("are read by the original's rules", () => {
    const product = productOf(PRODUCTS[0], ["x"]);
    expect(product).toMatchObject({
      ...{ title: "Walnut Desk Lamp with Dimmer", query: "desk lamps", image: "lamp.jpg" },
      pricing: [27, 1049.5],
      priceTag: "$27.0 to $1049.5",
      options: [
        { name: "size", values: ["small", "1 | 2 large"] },
        { name: "color", values: ["red", "dark blue"] },
      ],
    });
    expect(productOf(PRODUCTS[1], undefined)).toMatchObject({
      ...{ pricing: [100], priceTag: "$100.0", bullets: ["sturdy"], attributes: ["DUMMY_ATTR"] },
    });
    const three = { ...PRODUCTS[2], pricing: "$1.10$2$3" };
    expect(productOf(three, undefined).priceTag).toBe("$1.1 to $2.0");
  });

  it("are left out where the original leaves them out", async () => {
    const extra = [
      { ...PRODUCTS[0], asin: "nan" },
      { ...PRODUCTS[0], asin: "B0000000010" },
      { ...PRODUCTS[0], name: "the same number again" },
    ];
    const files = { ...FILES, [PRODUCT_FILE]: [...PRODUCTS, ...extra] };
    const { source } = await withShopWorld({}, (world) => world, files);
    expect(source).toMatch(/^3 products and 6 synthetic goals in /);
    const few = await withShopWorld({ products: 1 }, (world) => world);
    expect(few.source).toMatch(/^1 products and 4 synthetic goals/);
  });
});

describe("goals", () => {
  const lamp = "Find me dimmable lamps with linen shade with color:";
  const bulb = "Find me energy saving bulbs with style:";
  const limit = (dollars: number): string => `, and price lower than ${dollars}.00 dollars`;

  it("are the original's, in its order: as CPython draws with seed 233", async () => {
    expect(await instructions({})).toEqual([
      `${lamp} dark blue, and size: small${limit(750)}`,
      `${lamp} red, and size: small${limit(750)}`,
      `${lamp} dark blue, and size: 1 | 2 large${limit(750)}`,
      `${bulb} warm${limit(40)}`,
      `${lamp} red, and size: 1 | 2 large${limit(750)}`,
      `${bulb} cold${limit(40)}`,
    ]);
  });

  it("have another order and other limits with another seed: as CPython draws with seed 7", async () => {
    expect(await instructions({ seed: 7 })).toEqual([
      `${bulb} warm${limit(40)}`,
      `${lamp} red, and size: small${limit(390)}`,
      `${bulb} cold${limit(40)}`,
      `${lamp} dark blue, and size: 1 | 2 large${limit(390)}`,
      `${lamp} red, and size: 1 | 2 large${limit(390)}`,
      `${lamp} dark blue, and size: small${limit(390)}`,
    ]);
  });

  it("are people's if asked, without dots around them", async () => {
    expect(await instructions({ human: true })).toEqual([
      `i want a dimmable lamp in red${limit(750)}`,
    ]);
  });

  it("draw a price even from a range of one price, as the original does", async () => {
    // random.seed(233): uniform(5, 5) takes one number, so the limits are drawn from the next ones.
    const products = [{ ...PRODUCTS[2], pricing: "$5$5" }];
    const single = [{ ...PRODUCTS[2], pricing: "$5" }];
    const first = await instructions({}, { ...FILES, [PRODUCT_FILE]: products });
    const second = await instructions({}, { ...FILES, [PRODUCT_FILE]: single });
    const draw = (skip: boolean): number => {
      const random = pythonRandom(233);
      if (skip) random.unit();
      return 10 * (1 + Math.max(...random.sample(4, 2)));
    };
    expect(first[0]).toContain(limit(draw(true)));
    expect(second[0]).toContain(limit(draw(false)));
  });

  it("are split by number: 0 to 499 to test, then to validate, the others to learn", async () => {
    const values = Array.from({ length: 30 }, (_, i) => ({ value: `v${i}` }));
    const product = { ...PRODUCTS[2], customization_options: { a: values, b: values } };
    const files = { ...FILES, [PRODUCT_FILE]: [product] };
    await withShopWorld(
      { valid: 150 },
      async (world) => {
        expect(world.splits).toEqual(["train", "valid", "test"]);
        const sets = await Promise.all(world.splits.map((split) => world.tasks(split)));
        expect(sets.map(({ length }) => length)).toEqual([250, 150, 500]);
        expect(sets.map((set) => [set.task(0).id, set.task(set.length - 1).id])).toEqual([
          ...[
            ["650", "899"],
            ["500", "649"],
            ["0", "499"],
          ], //
        ]);
      },
      files,
    );
    const texts = await instructions({}, files);
    expect(new Set(texts).size).toBe(900);
  });

  it("can be solved with what is known of them", async () => {
    for (const human of [false, true])
      await withShopWorld({ human }, async (world) => {
        const tasks = await world.tasks("test");
        const environment = world.environment();
        for (let i = 0; i < tasks.length; i++) {
          environment.reset(tasks.task(i));
          const solution = (await world.solution!(tasks.task(i)))!;
          expect(steps(environment, ...solution)).toMatchObject({
            won: true,
            reward: 10,
            score: 1,
          });
        }
      });
  });
});
