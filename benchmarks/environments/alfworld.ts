/**
 * @file ALFWorld: steps, loading, copies, planning and generating. Uses the real games that
 * $ALFWORLD_DATA or ../shared has; without them only the built-in ones are measured.
 *
 * Steps are counted per second that this thread was on a core (Linux's own count), beside the clock's.
 * The two agree on a machine that does nothing else, and only the first means something on one that
 * does. It does not count what V8's collector and compiler do on their own threads meanwhile.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gameOf, openLibrary, shortestPlan } from "../../src/environments/alfworld/internals.ts";
import {
  type LocalEnvironment,
  openWorld,
  type Task,
  type World,
} from "../../src/environments/index.ts";
import { type Case, type Figure, heapBytes } from "../environments.ts";
import { median, secondsOnCore } from "../measure.ts";
import { realGames } from "./real-games.ts";

const STEPS = 400_000;
const CLONES = 20_000;

export const alfworldCases: readonly Case[] = [
  {
    name: "alfworld",
    async run() {
      const temporary = mkdtempSync(join(tmpdir(), "alfworld-"));
      try {
        const folder = await realGames(temporary);
        if (folder === undefined) return "no real games here: set ALFWORLD_DATA";
        const open = async () =>
          (await openWorld("alfworld", { data: folder })) as World<LocalEnvironment>;
        const { splits } = await open();
        const split = splits.includes("valid_seen") ? "valid_seen" : splits[0]!;
        return { ...(await loading(folder, split)), ...(await playing(open, split)) };
      } finally {
        rmSync(temporary, { recursive: true, force: true });
      }
    },
  },
  {
    name: "household",
    async run() {
      const open = async () => (await openWorld("household")) as World<LocalEnvironment>;
      const world = await open();
      const tasks = await world.tasks("train");
      const environment = world.environment();
      const times = Array.from({ length: 500 }, (_, i) => {
        const task = tasks.task(i);
        return timed(() => environment.reset(task));
      });
      return {
        "a game, generated and compiled": { value: median(times), unit: "ms" },
        ...(await playing(open, "train")),
      };
    },
  },
];

async function loading(folder: string, split: string): Promise<Record<string, Figure>> {
  const library = await openLibrary(folder);
  const ids = library.entries.filter((entry) => entry.split === split).map(({ id }) => id);
  for (const id of ids.slice(0, 50)) gameOf(library.read(id));
  const loads = ids.map((id) => timed(() => gameOf(library.read(id))));
  const games = ids.slice(0, 140).map((id) => gameOf(library.read(id)));
  const plans = games.map((game) => timed(() => shortestPlan(game, game.start)));
  return {
    "a game, read and compiled (median)": { value: median(loads), unit: "ms", atMost: 5 },
    "a game, read and compiled (mean)": { value: mean(loads), unit: "ms", atMost: 5 },
    "the shortest plan (median)": { value: median(plans), unit: "ms" },
  };
}

/** Random admissible commands: every step makes its text and its list of commands. */
async function playing(
  open: () => Promise<World<LocalEnvironment>>,
  split: string,
): Promise<Record<string, Figure>> {
  const world = await open();
  const set = await world.tasks(split);
  const tasks = Array.from({ length: Math.min(set.length, 100) }, (_, i) => set.task(i));
  const environment = world.environment();
  for (const task of tasks) environment.reset(task);
  // The first walk makes the program fast; what follows plays games that nobody has played yet.
  walk(environment, tasks, STEPS / 10, true);
  const fresh = await newcomer(open, tasks);
  const again = rates(STEPS, [walk(environment, tasks, STEPS, true)]);
  const blind = rates(STEPS, [walk(environment, tasks, STEPS, false)]);
  return {
    "steps, each game for the first time": { ...perSecond(fresh.core), atLeast: 100_000 },
    "steps, each game for the first time (clock)": perSecond(fresh.clock),
    "steps, games played before": { ...perSecond(again.core), atLeast: 100_000 },
    "steps, games played before (clock)": perSecond(again.clock),
    "steps without lists of commands": perSecond(blind.core),
    "a copy": { value: await cloneBytes(environment, tasks, false), unit: "bytes", atMost: 2048 },
    "a copy that went on and took something": {
      value: await cloneBytes(environment, tasks, true),
      unit: "bytes",
      atMost: 2048,
    },
  };
}

interface Seconds {
  readonly core: number;
  readonly clock: number;
}

function rates(steps: number, parts: readonly Seconds[]): Seconds {
  const total = (kind: keyof Seconds): number => parts.reduce((sum, part) => sum + part[kind], 0);
  return { core: steps / total("core"), clock: steps / total("clock") };
}

function perSecond(value: number): Figure {
  return { value, unit: "/s" };
}

/** One episode in each game: no text or list is there from an earlier one. */
async function newcomer(
  open: () => Promise<World<LocalEnvironment>>,
  tasks: readonly Task[],
): Promise<Seconds> {
  const parts: Seconds[] = [];
  for (let round = 0; round < 8; round++) {
    const environment = (await open()).environment();
    // Each game right after it was loaded, as episodes do.
    for (const task of tasks) {
      environment.reset(task);
      parts.push(walk(environment, [task], 50, true));
    }
  }
  return rates(50 * parts.length, parts);
}

/** Seconds for so many steps, 50 to an episode. */
function walk(
  environment: LocalEnvironment,
  tasks: readonly Task[],
  steps: number,
  lists: boolean,
): Seconds {
  let characters = 0;
  let random = 1;
  const start = performance.now();
  const before = secondsOnCore();
  for (let done = 0; done < steps; ) {
    const first = environment.reset(tasks[Math.floor(done / 50) % tasks.length]!);
    let commands = first.admissible!;
    for (let step = 0; step < 50 && done < steps; step++, done++) {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      const { observation, won } = environment.step(commands[random % commands.length]!);
      // Reading a character makes a string that was put together lazily whole.
      characters += observation.text.charCodeAt(observation.text.length - 1);
      if (won) break;
      if (lists) commands = observation.admissible!;
    }
  }
  const core = secondsOnCore() - before;
  const clock = (performance.now() - start) / 1000;
  if (characters === 0) throw new Error("nothing was said");
  return { core, clock };
}

async function cloneBytes(
  environment: LocalEnvironment,
  tasks: readonly Task[],
  goOn: boolean,
): Promise<number> {
  const task = tasks[0]!;
  const take = takeableFrom(environment, task);
  const copies: LocalEnvironment[] = new Array<LocalEnvironment>(CLONES);
  const before = await heapBytes();
  for (let i = 0; i < CLONES; i++) {
    const copy = environment.clone();
    if (goOn) copy.step(take);
    copies[i] = copy;
  }
  const after = await heapBytes();
  if (copies.length !== CLONES) throw new Error("the copies were collected too early");
  return Math.max(0, after - before) / CLONES;
}

/** Walks until something can be taken. */
function takeableFrom(environment: LocalEnvironment, task: Task): string {
  for (const go of environment.reset(task).admissible!) {
    const list = environment.step(go).observation.admissible!;
    const take = list.find((command) => command.startsWith("take "));
    if (take !== undefined) return take;
  }
  throw new Error("nothing can be taken in this game");
}

function timed(body: () => void): number {
  const start = performance.now();
  body();
  return performance.now() - start;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
