/**
 * @file The original's files: what is made of them, and what is said of broken ones.
 */
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EnvironmentError, openWorld, seededRandom } from "../../../src/environments/index.ts";
import { productOf } from "../../../src/environments/webshop/data/record.ts";
import { pythonRandom } from "../../../src/environments/webshop/python-random.ts";
import { floatText, reprText, strip } from "../../../src/environments/webshop/python-text.ts";
import {
  ANNOTATIONS,
  FILES,
  HUMAN,
  PRODUCTS,
  steps,
  withFolder,
  withShopWorld,
} from "./material.ts";

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

describe("a folder", () => {
  it("may be above, may be the file itself, and may have both sizes", async () => {
    const larger = [...PRODUCTS, { ...PRODUCTS[1], asin: "B000000004" }];
    const files = { ...FILES, "items_shuffle.json": larger, "items_ins_v2.json": ANNOTATIONS };
    await withFolder(files, async (folder) => {
      const size = async (options: Record<string, unknown>): Promise<number> => {
        const world = await openWorld("webshop", { data: folder, ...options });
        await world.close?.();
        return Number.parseInt(world.source!, 10);
      };
      expect(await size({})).toBe(3);
      expect(await size({ small: false })).toBe(4);
      expect(await size({ small: true })).toBe(3);
      expect(await size({ data: join(folder, "items_shuffle.json") })).toBe(4);
    });
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>, RegExp]>([
    ["is empty", {}, {}, /holds no products\. Expected are items_shuffle_1000\.json/],
    ["has the other size", FILES, { small: false }, /holds no products with small=false/],
    ["lacks goals", { [PRODUCT_FILE]: PRODUCTS }, {}, /lacks items_ins_v2\.json/],
    [
      "lacks people's goals",
      { ...FILES, "items_human_ins.json": undefined },
      { human: true },
      /items_human_ins\.json cannot be used: it is no JSON/,
    ],
    [
      "has goals of other products",
      { ...FILES, "items_ins_v2_1000.json": {} },
      {},
      /no products with goals/,
    ],
  ])("that %s is a sentence about it", async (_, files, options, message) => {
    const texts = Object.fromEntries(
      Object.entries(files).map(([name, content]) => [name, content ?? "{"]),
    );
    await withFolder(texts, async (data) => {
      const opening = openWorld("webshop", { data, ...options });
      await expect(opening).rejects.toThrow(EnvironmentError);
      await expect(openWorld("webshop", { data, ...options })).rejects.toThrow(message);
    });
  });

  it.each<[string, unknown, RegExp]>([
    ["no JSON", "hello", /byte 0 \("h"\) is not what a JSON array of objects has there/],
    ["empty", "", /it is empty/],
    ["an object", {}, /byte 0 \("\{"\)/],
    ["a list of numbers", [1], /byte 1/],
    [
      "cut off",
      JSON.stringify(PRODUCTS).slice(0, 400),
      /ends in the middle: is the download complete/,
    ],
    ["not closed", JSON.stringify(PRODUCTS).slice(0, -1), /ends in the middle/],
    ["followed by something", `${JSON.stringify(PRODUCTS)}x`, /is not what a JSON array/],
    ["broken inside", '[{"asin": nope}]', /the object at byte 1 is no JSON/],
    ["without a number", [{ name: "x" }], /a product has no "asin"/],
    [
      "with a wrong price",
      [{ ...PRODUCTS[0], pricing: "cheap" }],
      /B000000001.*without a dollar sign/,
    ],
    ["with half a price", [{ ...PRODUCTS[0], pricing: "$1.2.3" }], /not prices like/],
    ["with a wrong title", [{ ...PRODUCTS[0], name: 7 }], /"name" must be a text, not 7/],
    [
      "with wrong options",
      [{ ...PRODUCTS[0], customization_options: { a: "b" } }],
      /the option "a" must be a list, not "b"/,
    ],
    ["with wrong bullets", [{ ...PRODUCTS[0], small_description: [1] }], /must be a list of texts/],
  ])("whose products are %s is a sentence about it", async (_, content, message) => {
    await withFolder({ ...FILES, [PRODUCT_FILE]: content }, async (data) => {
      await expect(openWorld("webshop", { data })).rejects.toThrow(message);
      await expect(openWorld("webshop", { data })).rejects.toThrow(
        /items_shuffle_1000\.json cannot/,
      );
    });
  });

  it.each<[string, unknown, RegExp]>([
    ["a list", [], /\[\] is no object/],
    ["no JSON", "{", /it is no JSON/],
    [
      "wrong in an entry",
      { B000000001: { attributes: "x" } },
      /entry of B000000001: "attributes" must/,
    ],
  ])("whose annotations are %s is a sentence about it", async (_, content, message) => {
    await withFolder({ ...FILES, "items_ins_v2_1000.json": content }, async (data) => {
      await expect(openWorld("webshop", { data })).rejects.toThrow(message);
    });
  });

  it("whose file of products is a folder is a sentence about it", async () => {
    await withFolder({ "items_ins_v2_1000.json": ANNOTATIONS }, async (data) => {
      mkdirSync(join(data, PRODUCT_FILE));
      await expect(openWorld("webshop", { data })).rejects.toThrow(EnvironmentError);
      await expect(openWorld("webshop", { data })).rejects.toThrow(/cannot be used: EISDIR/);
    });
  });

  it("can be read from after closing, because it was small", async () => {
    const observation = await withShopWorld({}, async (world) => {
      const environment = world.environment();
      environment.reset((await world.tasks("test")).task(0));
      return environment.step("search[lamp]").observation;
    });
    expect(observation.text).toContain("Lamp Bulb");
    expect(observation.admissible).toContain("click[b000000001]");
  });

  it("of any rubbish is a clear error or a shop, never anything else", async () => {
    const random = seededRandom("rubbish");
    const good = JSON.stringify(PRODUCTS);
    for (let round = 0; round < 150; round++) {
      const bytes = Buffer.from(good);
      for (let i = 0; i <= random.integer(4); i++)
        bytes[random.integer(bytes.length)] = random.integer(256);
      const content = bytes.subarray(
        0,
        random.chance(0.3) ? random.integer(bytes.length) : undefined,
      );
      const files = { ...FILES, "items_human_ins.json": HUMAN, [PRODUCT_FILE]: "" };
      await withFolder(files, async (data) => {
        writeFileSync(join(data, PRODUCT_FILE), content);
        try {
          const world = await openWorld("webshop", { data });
          const environment = world.environment();
          for (const split of world.splits) {
            const task = (await world.tasks(split)).task(0);
            await environment.reset(task);
            for (const action of (await world.solution?.(task)) ?? [])
              await environment.step(action);
          }
          await world.close?.();
        } catch (error) {
          expect(error).toBeInstanceOf(EnvironmentError);
        }
      });
    }
  });
});

describe("the cache", () => {
  it("gives the same shop, notices another file, and survives damage", () =>
    withFolder(FILES, async (data) => {
      const cache = join(data, "cache");
      const play = async (): Promise<string> => {
        const world = await openWorld("webshop", { data, cache });
        const environment = world.environment();
        await environment.reset((await world.tasks("test")).task(0));
        const { observation } = await environment.step("search[lamp]");
        await world.close?.();
        return observation.text;
      };
      const first = await play();
      const files = readdirSync(cache);
      expect(files.length).toBe(2);
      const stamps = () => readdirSync(cache).map((name) => statSync(join(cache, name)).mtimeMs);
      const made = stamps();
      expect(await play()).toBe(first);
      expect(stamps()).toEqual(made);
      // One of the two is gone, then both are damaged.
      rmSync(join(cache, files[0]!));
      expect(await play()).toBe(first);
      for (const name of files) writeFileSync(join(cache, name), "x");
      expect(await play()).toBe(first);
      // Another file under the same name.
      const file = join(data, PRODUCT_FILE);
      writeFileSync(file, JSON.stringify(PRODUCTS.slice(0, 2)));
      utimesSync(file, 1, 1);
      expect(await play()).toContain("Total results: 1");
    }));
});

describe("as Python writes and draws", () => {
  it("numbers and texts", () => {
    expect([27, 0.1, 1e16, 1e-5, 123456.789, 0].map(floatText)).toEqual([
      ...["27.0", "0.1", "1e+16", "1e-05", "123456.789", "0.0"], //
    ]);
    expect(reprText("it's")).toBe(`"it's"`);
    expect(reprText(`it's "x"`)).toBe(`'it\\'s "x"'`);
    expect(reprText("a\u00a0b\n\\\u200b\u{1f600}\u00e9")).toBe(
      "'a\\xa0b\\n\\\\\\u200b\u{1f600}\u00e9'",
    );
    expect(strip("\u001f\u00a0 x y \u3000\u0085")).toBe("x y");
    expect(strip(" ".repeat(300_000))).toBe("");
  });

  it("random numbers: values of CPython 3.11 with seed 233", () => {
    const random = pythonRandom(233);
    expect([random.unit(), random.unit()]).toEqual([0.6824769139473528, 0.6283202109809801]);
    const order = Array.from({ length: 20 }, (_, i) => i);
    pythonRandom(233).shuffle(order);
    expect(order).toEqual([17, 18, 9, 2, 8, 19, 11, 10, 12, 0, 3, 4, 14, 13, 1, 6, 15, 7, 16, 5]);
    expect(pythonRandom(2 ** 40 + 5).unit()).toBe(0.5043802970418443);
  });
});
