/**
 * @file TextCraft: its rules, our own recipes, the planner, the expert, and what is wrong in files.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import {
  EnvironmentError,
  type LocalEnvironment,
  openWorld,
  type World,
} from "../../../src/environments/index.ts";
import { recipeBook } from "../../../src/environments/textcraft/book.ts";
import { ownRecipes } from "../../../src/environments/textcraft/own-recipes.ts";
import { shortestPlan } from "../../../src/environments/textcraft/planner.ts";
import { idOf } from "../../../src/environments/textcraft/recipe.ts";
import { act, type Inventory } from "../../../src/environments/textcraft/rules.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";
import { zipOf } from "../zip-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "textcraft-"));
const home = process.cwd();
afterEach(() => process.chdir(home));
afterAll(() => rmSync(folder, { recursive: true }));

const open = async (options: Record<string, unknown> = {}) =>
  (await openWorld("textcraft", options)) as World<LocalEnvironment>;

const RECIPES = "data/textcraft/recipes.tar.xz";
const book = recipeBook(ownRecipes());

/** The answers to actions in turn, from empty hands. */
function answers(...actions: string[]): string[] {
  let inventory: Inventory = [];
  return actions.map((action) => {
    const outcome = act(book, inventory, action);
    inventory = outcome.inventory;
    return outcome.text;
  });
}

describe("actions", () => {
  it("get, craft and list", () => {
    expect(
      answers(
        ...["inventory", "get 2 ash trunk", "craft 4 ash boards using 1 ash trunk", "inventory"],
        ...["craft ash boards using 1 ash trunk", "inventory", "craft 4 rod using 2 ash boards"],
      ),
    ).toEqual([
      "Inventory: You are not carrying anything.",
      "Got 2 ash trunk",
      "Crafted 4 minecraft:ash_boards",
      "Inventory: [ash trunk] (1) [ash boards] (4) ",
      "Crafted 4 minecraft:ash_boards",
      "Inventory: [ash boards] (8) ",
      "Crafted 4 minecraft:rod",
    ]);
  });

  it.each([
    ["get 1 ash boards", "Could not find ash boards"],
    ["get 1 boards", "Could not find boards"],
    ["get 1 unicorn", "Could not find unicorn"],
    ["get ash trunk", "Could not execute get ash trunk"],
    ["get 99999999999999999999 sand", "Could not execute get 99999999999999999999 sand"],
    ["dance", "Could not execute dance"],
    ["", "Could not execute "],
    ["inventory, please", "Inventory: You are not carrying anything."],
    ["craft 4 rod using boards", "Wrong item format: boards"],
    ["craft 4 rod using ", "Wrong item format: "],
    ["craft 4 rod using 2 ash boards", "Could not find enough items to craft minecraft:rod"],
    [
      "craft constructor using 1 toString",
      "Could not find enough items to craft minecraft:constructor",
    ],
  ])("%j is answered %j", (action, text) => {
    expect(answers(action)).toEqual([text]);
  });

  it("need a recipe, with exactly its counts", () => {
    const wrong = (made: string, count: number) =>
      `Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, item_id='minecraft:${made}'), count=${count})`;
    const got = answers(
      ...[
        "get 9 ash trunk",
        "craft 8 ash boards using 2 ash trunk",
        "craft gold using 1 ash trunk",
      ],
      ...["craft it's using 1 ash trunk", "craft 4 rod using 1 ash trunk, 1 ash trunk"],
    );
    expect(got.slice(1)).toEqual([
      wrong("ash_boards", 8),
      wrong("gold", 1),
      `Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, item_id="minecraft:it's"), count=1)`,
      wrong("rod", 4),
    ]);
    // Twice the same thing is twice as much.
    expect(answers("get 1 ash trunk", "craft x using 1 ash trunk, 1 ash trunk")[1]).toBe(
      "Could not find enough items to craft minecraft:x",
    );
  });

  it("of any bytes and any length are answered", () => {
    const action = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.tuple(fc.constantFrom("get ", "craft ", "inventory"), fc.string()).map((x) => x.join("")),
    );
    fc.assert(
      fc.property(action, (action) => {
        expect(typeof act(book, [], action).text).toBe("string");
      }),
    );
    for (const unit of ["craft ", "get 1 ", "1 x, ", "craft a using 1 b, "])
      expect(act(book, [], unit.repeat(1e6)).text.length).toBeLessThan(200);
  });
});

describe("our own recipes", () => {
  it("are many, deep, and all of use", async () => {
    expect(book.craftable.length).toBeGreaterThan(250);
    expect(Math.max(...book.craftable.map(book.depth))).toBeGreaterThanOrEqual(5);
    expect([...book.recipes.values()].flat().length).toBe(ownRecipes().length);
  });

  it("are solved by plans, in train and in test, which share no goal", async () => {
    const world = await open();
    const { games, won } = await verifyWorld(world, ["train", "test"]);
    expect([games, won]).toEqual([book.craftable.length, book.craftable.length]);
    const goals = async (split: string) => {
      const tasks = await world.tasks(split);
      return Array.from({ length: tasks.length }, (_, i) => JSON.stringify(tasks.task(i).data));
    };
    const train = new Set(await goals("train"));
    expect((await goals("test")).filter((goal) => train.has(goal))).toEqual([]);
  });

  it("are solved by the expert from what it sees", async () => {
    expect(await expertWins(await open(), 60)).toEqual([book.craftable.length, []]);
  });
});

/** How many tasks the expert wins, and which it does not. */
async function expertWins(world: World<LocalEnvironment>, steps: number) {
  const tasks = await world.tasks("all");
  const environment = world.environment();
  const lost: string[] = [];
  for (let index = 0; index < tasks.length; index++) {
    const expert = world.expert!(index);
    let observation = environment.reset(tasks.task(index));
    let won = false;
    for (let step = 0; step < steps && !won; step++) {
      const result = environment.step(expert.act(observation));
      observation = result.observation;
      won = result.won;
    }
    if (!won) lost.push(tasks.task(index).id);
  }
  return [tasks.length - lost.length, lost];
}

describe("plans", () => {
  it("use what is carried, and end with the goal", () => {
    const goal = idOf("pine chair");
    const fresh = shortestPlan(book, [], goal)!;
    const carrying = shortestPlan(
      book,
      [
        [idOf("pine boards"), 3],
        [idOf("rod"), 4],
      ],
      goal,
    )!;
    expect(carrying).toEqual(["craft 1 pine chair using 3 pine boards, 4 rod"]);
    expect(fresh.length).toBeGreaterThan(carrying.length);
    expect(shortestPlan(book, [], idOf("sand"))).toEqual(["get 1 sand"]);
  });

  it("are not longer than any other way (breadth first, in a small book)", () => {
    const small = recipeBook(
      [
        ["a", 1, "x", 1],
        ["b", 2, "a", 3],
        ["b", 1, "y", 1],
        ["c", 1, "b", 2],
      ].map(([output, count, id, used]) => ({
        output: idOf(String(output)),
        count: Number(count),
        ingredients: [{ kind: "item", id: idOf(String(id)), count: Number(used) }],
      })),
    );
    // By y: get, twice b, c. By x: get, three times a, b, c.
    expect(shortestPlan(small, [], idOf("c"))).toHaveLength(4);
    expect(shortestPlan(small, [[idOf("a"), 3]], idOf("c"))).toHaveLength(2);
  });

  it("give up on what nobody could play", () => {
    const tower = Array.from({ length: 9000 }, (_, i) => ({
      output: idOf(`t${i + 1}`),
      count: 1,
      ingredients: [{ kind: "item" as const, id: idOf(`t${i}`), count: 9 }],
    }));
    const high = recipeBook(tower);
    expect(high.depth(idOf("t9000"))).toBe(9000);
    expect(shortestPlan(high, [], idOf("t9000"))).toBeUndefined();
  });
});

describe("the game's own recipes", () => {
  it.skipIf(isMissing(RECIPES))("are solved by plans and by the expert", async () => {
    const world = await open({ data: sharedFile(RECIPES) });
    expect(await verifyWorld(world, ["all"])).toEqual({ games: 544, won: 544, failures: [] });
    expect(await expertWins(world, 60)).toEqual([544, []]);
  });

  const stick = {
    type: "minecraft:crafting_shaped",
    pattern: ["#", "#"],
    key: { "#": [{ tag: "minecraft:planks" }, { item: "minecraft:x" }] },
    result: { item: "minecraft:stick", count: 4 },
  };

  it("come from folders and archives alike", async () => {
    const files = {
      "recipes/stick.json": JSON.stringify(stick),
      "recipes/planks.json": JSON.stringify({
        ...{
          type: "minecraft:crafting_shapeless",
          group: "planks",
          result: "minecraft:oak_planks",
        },
        ingredients: [{ item: "minecraft:oak_log" }],
      }),
      "recipes/iron.json": JSON.stringify({ type: "minecraft:smelting" }),
    };
    const zip = join(folder, "recipes.zip");
    writeFileSync(zip, zipOf(files));
    mkdirSync(join(folder, "plain/recipes"), { recursive: true });
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, "plain", name), text);
    for (const data of [zip, join(folder, "plain"), join(folder, "plain/recipes")]) {
      const world = await open({ data });
      expect((await world.tasks("all")).length).toBe(2);
      expect(await verifyWorld(world, ["all"])).toMatchObject({ won: 2 });
    }
  });

  it.each([
    ["nonsense", "{", /the recipe bad.json .* it is not JSON/],
    ["no object", "[]", /it must be an object/],
    ["no type", "{}", /it has no "type"/],
    ["no pattern", JSON.stringify({ ...stick, pattern: "##" }), /"pattern" must be/],
    ["a strange key", JSON.stringify({ ...stick, key: { x: {} } }), /"x" is not in the pattern/],
    ["a huge pattern", JSON.stringify({ ...stick, pattern: ["#".repeat(1e5)] }), /too large/],
    ["no item", JSON.stringify({ ...stick, key: { "#": {} } }), /must be an id/],
    ["a bad id", JSON.stringify({ ...stick, result: { item: "a\nb" } }), /must be an id/],
    [
      "a bad count",
      JSON.stringify({ ...stick, result: { item: "a", count: -1 } }),
      /from 1, not -1/,
    ],
    ["no key", JSON.stringify({ ...stick, key: {} }), /no ingredients/],
    ["a huge file", " ".repeat(2e6), /at most 1000000 are read/],
  ])("with %s are refused, with the reason", async (_, text, message) => {
    const data = mkdtempSync(join(folder, "bad-"));
    writeFileSync(join(data, "bad.json"), text);
    await expect(open({ data })).rejects.toThrow(message);
    await expect(open({ data })).rejects.toThrow(EnvironmentError);
  });

  it("must be there", async () => {
    await expect(open({ data: join(folder, "none") })).rejects.toThrow(/there is nothing at/);
    writeFileSync(join(folder, "a.txt"), "");
    await expect(open({ data: join(folder, "a.txt") })).rejects.toThrow(/neither a folder nor/);
    writeFileSync(join(folder, "a.tar.xz"), "broken");
    await expect(open({ data: join(folder, "a.tar.xz") })).rejects.toThrow(/cannot be read/);
    mkdirSync(join(folder, "empty"));
    await expect(open({ data: join(folder, "empty") })).rejects.toThrow(/no crafting recipes/);
    await expect(open({ minimumDepth: 50 })).rejects.toThrow(/the deepest here is/);
  });
});

describe("minecraft-data", () => {
  it("is read where it is installed, and asked for where it is not", async () => {
    process.chdir(folder);
    await expect(open({ data: "minecraft-data" })).rejects.toThrow(/npm install minecraft-data/);
    const data = join(folder, "node_modules/minecraft-data/minecraft-data/data");
    mkdirSync(join(data, "pc/1.16.2"), { recursive: true });
    const write = (path: string, value: unknown) => writeFileSync(path, JSON.stringify(value));
    write(join(folder, "node_modules/minecraft-data/package.json"), { name: "minecraft-data" });
    const version = { recipes: "pc/1.16.2", items: "pc/1.16.2" };
    write(join(data, "dataPaths.json"), { pc: { "1.16.5": version } });
    write(join(data, "pc/1.16.2/items.json"), [
      { id: 1, name: "oak_log" },
      { id: 2, name: "oak_planks" },
      { id: 3, name: "stick" },
    ]);
    write(join(data, "pc/1.16.2/recipes.json"), {
      2: [{ ingredients: [1], result: { id: 2, count: 4 } }],
      3: [{ inShape: [[2, null], [2]], result: { id: 3, count: 4 } }],
    });
    const world = await open({ data: "minecraft-data" });
    expect(await world.solution!((await world.tasks("all")).task(1))).toEqual([
      "get 1 oak log",
      "craft 4 oak planks using 1 oak log",
      "craft 4 stick using 2 oak planks",
    ]);
    await expect(open({ data: "minecraft-data@9" })).rejects.toThrow(/no recipes for version "9"/);
  });
});
