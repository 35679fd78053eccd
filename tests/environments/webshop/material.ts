/**
 * @file What the tests of WebShop share: small data folders in the original's format, and episodes.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LocalEnvironment, StepResult, World } from "../../../src/environments/index.ts";
import { openWorld } from "../../../src/environments/index.ts";

/** Three products: one with options and a range of prices, one with nothing, one cheap. */
export const PRODUCTS: readonly Record<string, unknown>[] = [
  {
    asin: "B000000001",
    name: "Walnut Desk Lamp with Dimmer",
    full_description: "  A lamp for reading.  ",
    small_description: ["dims to one percent", "", "linen shade"],
    pricing: "$27.00$1,049.50",
    customization_options: {
      Size: [{ value: " Small ", image: null }, { value: "1/2 Large" }],
      Color: [{ value: "Red" }, { value: "Dark Blue" }],
      Nothing: null,
    },
    images: ["lamp.jpg"],
    category: "home",
    query: " Desk Lamps ",
    product_category: "Home › Lighting › Lamps",
  },
  {
    asin: "B000000002",
    name: "Plain Chair",
    full_description: "",
    small_description: "sturdy",
    pricing: "",
    customization_options: "",
    images: [],
    category: "home",
    query: "chairs",
    product_category: "Home › Furniture › Chairs",
  },
  {
    asin: "B000000003",
    name: "Lamp Bulb, 2 Pack",
    full_description: "A bulb for every lamp.",
    small_description: [],
    pricing: "$4.5",
    customization_options: { style: [{ value: "warm" }, { value: "cold" }] },
    images: ["bulb.jpg"],
    category: "home",
    query: "bulbs",
    product_category: "Home › Lighting › Bulbs",
  },
];

export const ANNOTATIONS: Readonly<Record<string, unknown>> = {
  B000000001: {
    attributes: ["dimmable", "linen shade"],
    instruction: "Find me dimmable lamps with linen shade",
    instruction_attributes: ["dimmable", "linen shade"],
  },
  B000000002: { attributes: [] },
  B000000003: {
    attributes: ["energy saving"],
    instruction: "Find me energy saving bulbs",
    instruction_attributes: ["energy saving"],
  },
};

export const HUMAN: Readonly<Record<string, unknown>> = {
  B000000001: [
    {
      instruction: ".i want a dimmable lamp in red..",
      instruction_attributes: ["dimmable"],
      instruction_options: ["red", "small"],
    },
    { instruction: "not used", instruction_attributes: [], instruction_options: [] },
  ],
};

/** Runs `use` with a folder of these files; what is a text is written as it is. */
export async function withFolder<Result>(
  files: Readonly<Record<string, unknown>>,
  use: (folder: string) => Result | Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "webshop-"));
  try {
    for (const [name, content] of Object.entries(files))
      writeFileSync(
        join(folder, name),
        typeof content === "string" ? content : JSON.stringify(content),
      );
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const FILES = {
  "items_shuffle_1000.json": PRODUCTS,
  "items_ins_v2_1000.json": ANNOTATIONS,
  "items_human_ins.json": HUMAN,
};

/** The world of the small files, while `use` runs. */
export async function withShopWorld<Result>(
  options: Readonly<Record<string, unknown>>,
  use: (world: World<LocalEnvironment>) => Result | Promise<Result>,
  files: Readonly<Record<string, unknown>> = FILES,
): Promise<Result> {
  return withFolder(files, async (data) => {
    const world = (await openWorld("webshop", { data, ...options })) as World<LocalEnvironment>;
    try {
      return await use(world);
    } finally {
      await world.close?.();
    }
  });
}

/** Acts in turn; the last result. */
export function steps(environment: LocalEnvironment, ...actions: readonly string[]): StepResult {
  let result: StepResult | undefined;
  for (const action of actions) result = environment.step(action);
  if (!result) throw new Error("no action");
  return result;
}

/** Runs `use` in an episode whose goal is about the lamp. */
export const inEpisode = <Result>(
  options: Record<string, unknown>,
  use: (episode: { environment: LocalEnvironment; instruction: string; text: string }) => Result,
): Promise<Result> =>
  withShopWorld(options, async (world) => {
    const tasks = await world.tasks("test");
    const environment = world.environment();
    for (let i = 0; i < tasks.length; i++) {
      const observation = environment.reset(tasks.task(i));
      if (observation.instruction!.includes("lamps"))
        return use({ environment, instruction: observation.instruction!, text: observation.text });
    }
    throw new Error("no goal about lamps");
  });
