/**
 * @file WebShop: pages, purchases, copies and searches, in built-in shops of a thousand and of a million
 * products. Times are of this thread on its core, beside the clock's, as for ALFWorld.
 */
import { writeFileSync } from "node:fs";
import {
  type LocalEnvironment,
  openWorld,
  type Task,
  type World,
} from "../../src/environments/index.ts";
import { generatedShop } from "../../src/environments/webshop/generator/generated-shop.ts";
import type { Shop } from "../../src/environments/webshop/shop.ts";
import { type Case, type Figure, heapBytes } from "../environments.ts";
import { median, secondsOnCore, statusBytes } from "../measure.ts";

const STEPS = 300_000;
const EPISODES = 3000;
const CLONES = 20_000;
const SEARCHES = 500;

export const webshopCases: readonly Case[] = [
  {
    name: "webshop",
    async run() {
      const world = (await openWorld("webshop", { data: "builtin" })) as World<LocalEnvironment>;
      const set = await world.tasks("train");
      const tasks = Array.from({ length: 200 }, (_, i) => set.task(i));
      const environment = world.environment();
      walk(environment, tasks, STEPS / 10);
      return {
        "pages by clicks, with text and list of actions": {
          ...perSecond(STEPS, () => walk(environment, tasks, STEPS)),
          atLeast: 20_000,
        },
        "steps of whole episodes of the shopper": perSecond(
          EPISODES,
          () => shopping(world, tasks, EPISODES).steps,
        ),
        ...(await fulfilled(world, 500, 98)),
        "a copy": { value: await cloneBytes(environment, tasks[0]!), unit: "bytes" },
      };
    },
  },
  {
    name: "webshop, 30,000 products",
    async run() {
      const options = { data: "builtin", products: 30_000, cache: "off" };
      return fulfilled((await openWorld("webshop", options)) as World<LocalEnvironment>, 300);
    },
  },
  {
    name: "webshop search, 1,000 products",
    run: async () =>
      searching(generatedShop({ products: 1000, goals: 1000, seed: 1, cache: "off" }), 0.3),
  },
  {
    name: "webshop search, 1,000,000 products",
    async run() {
      const start = performance.now();
      const core = secondsOnCore();
      resetPeak();
      const before = statusBytes("VmRSS");
      const shop = generatedShop({ products: 1_000_000, goals: 1000, seed: 1, cache: "off" });
      const peak = statusBytes("VmHWM") - before;
      return {
        "products made and index built": { value: secondsOnCore() - core, unit: "s", atMost: 120 },
        "the same (clock)": { value: (performance.now() - start) / 1000, unit: "s" },
        "memory at the most while building": { value: peak / 2 ** 20, unit: "MB", atMost: 2048 },
        ...searching(shop, 15),
      };
    },
  },
];

/** The instructions of goals as an agent would type them. */
function searching(shop: Shop, atMost: number): Record<string, Figure> {
  const queries = Array.from({ length: SEARCHES }, (_, i) =>
    shop.goals
      .find(`train/${i}`)!
      .instruction.replace(/[^\w. ]/g, " ")
      .toLowerCase(),
  );
  const search = (query: string): number => shop.catalogue.search(query, 50).length;
  for (const query of queries) search(query);
  const core = secondsOnCore();
  const times = queries.map((query) => {
    const start = performance.now();
    search(query);
    return performance.now() - start;
  });
  const mean = ((secondsOnCore() - core) / SEARCHES) * 1000;
  return {
    "a search for 50 (mean)": { value: mean, unit: "ms", atMost },
    "a search for 50 (median, clock)": { value: median(times), unit: "ms" },
    "a search for 50 (slowest of 500, clock)": { value: Math.max(...times), unit: "ms" },
  };
}

function perSecond(count: number, body: () => number | undefined): Figure {
  const before = secondsOnCore();
  const done = body() ?? count;
  return { value: done / (secondsOnCore() - before), unit: "/s" };
}

/** Random clicks from the results of a search on; 14 to an episode, as the documents have it. */
function walk(environment: LocalEnvironment, tasks: readonly Task[], steps: number): undefined {
  let characters = 0;
  let random = 1;
  const starts = tasks.map((task) => {
    const { instruction } = environment.reset(task);
    const { observation } = environment.step(`search[${instruction}]`);
    return { copy: environment.clone(), observation };
  });
  for (let done = 0; done < steps; ) {
    const start = starts[Math.floor(done / 14) % starts.length]!;
    const episode = start.copy.clone();
    let list = start.observation.admissible!;
    for (let step = 0; step < 14 && done < steps; step++, done++) {
      // The first click of the list leads back to the search; a purchase ends the episode.
      const clicks = list.filter(
        (action) => action !== "click[buy now]" && action !== "click[back to search]",
      );
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      const { observation } = episode.step(clicks[(random >>> 8) % clicks.length]!);
      characters += observation.text.charCodeAt(observation.text.length - 1);
      list = observation.admissible!;
    }
  }
  if (characters === 0) throw new Error("nothing was shown");
  return undefined;
}

/** Episodes of the shopper, with searches, pages and purchases with their rewards. */
function shopping(
  world: World<LocalEnvironment>,
  tasks: readonly Task[],
  episodes: number,
): { steps: number; won: number } {
  const environment = world.environment();
  let steps = 0;
  let won = 0;
  for (let i = 0; i < episodes; i++) {
    const shopper = world.expert!(i);
    let observation = environment.reset(tasks[i % tasks.length]!);
    for (let step = 0; step < 15; step++) {
      const result = environment.step(shopper.act(observation));
      steps++;
      if (result.won) won++;
      if (result.done) break;
      observation = result.observation;
    }
  }
  return { steps, won };
}

/** How often the shopper does what the first goals of the test ask for, within 15 steps. */
async function fulfilled(
  world: World<LocalEnvironment>,
  goals: number,
  atLeast?: number,
): Promise<Record<string, Figure>> {
  const set = await world.tasks("test");
  const tasks = Array.from({ length: goals }, (_, i) => set.task(i));
  const { won, steps } = shopping(world, tasks, goals);
  const share = { value: (100 * won) / goals, unit: "%" };
  return {
    [`goals that the shopper fulfils, of ${goals}`]: {
      ...share,
      ...(atLeast !== undefined && { atLeast }),
    },
    "its steps for each": { value: steps / goals, unit: "" },
  };
}

async function cloneBytes(environment: LocalEnvironment, task: Task): Promise<number> {
  environment.reset(task);
  environment.step("search[shoes]");
  const copies = new Array<LocalEnvironment>(CLONES);
  const before = await heapBytes();
  for (let i = 0; i < CLONES; i++) copies[i] = environment.clone();
  const after = await heapBytes();
  if (copies.length !== CLONES) throw new Error("the copies were collected too early");
  return Math.max(0, after - before) / CLONES;
}

/** So that the high mark counts from here; only Linux has one. */
function resetPeak(): void {
  writeFileSync("/proc/self/clear_refs", "5");
}
