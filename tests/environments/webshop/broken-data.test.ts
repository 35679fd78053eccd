/**
 * @file Folders of data as they come: of any layout, incomplete, broken, changed; and the cache beside them.
 */
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EnvironmentError, openWorld, seededRandom } from "../../../src/environments/index.ts";
import { ANNOTATIONS, FILES, PRODUCTS, withFolder, withShopWorld } from "./material.ts";

const PRODUCT_FILE = "items_shuffle_1000.json";

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
      const files = { ...FILES, [PRODUCT_FILE]: "" };
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
