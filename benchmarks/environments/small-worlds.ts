/**
 * @file BabyAI, maze, Wordle, TextCraft and tool use: steps per second of core time, by the known solution of
 * each task or by random actions, and how long a run of sandboxed code takes. There are no bars for
 * these; what matters is that generation, not the world, is what training waits for.
 */
import { openWorld, type Task, toolMakers, type World } from "../../src/environments/index.ts";
import type { Case, Figure } from "../environments.ts";
import { median, secondsOnCore } from "../measure.ts";

const SECONDS = 2;
const TASKS = 200;

export const smallWorldCases: readonly Case[] = [
  { name: "babyai", run: () => playing("babyai") },
  {
    name: "maze",
    run: () => playing("maze", ["move up", "move down", "move left", "move right"]),
  },
  {
    name: "maze, generated",
    run: () =>
      playing("maze", ["move up", "move down", "move left", "move right"], {
        ...{ maze: "generated", width: 21, height: 21, games: TASKS },
      }),
  },
  {
    name: "wordle",
    run: () => playing("wordle", ["h o u s e", "t r a i n", "p l a n t", "w o r l d"]),
  },
  { name: "textcraft", run: () => playing("textcraft") },
  {
    name: "tools",
    async run() {
      const tool = await toolMakers.javascript();
      await tool.execute({ code: "1" });
      const times: number[] = [];
      for (let i = 0; i < 50; i++) {
        const start = performance.now();
        await tool.execute({ code: `[1, 2, 3].map((x) => x * ${i})` });
        times.push(performance.now() - start);
      }
      await tool.close?.();
      return {
        ...(await playing("tools")),
        "a run of JavaScript (median, clock)": { value: median(times), unit: "ms" },
      };
    },
  },
];

/** Without actions of its own a world's solutions are played, which are worked out before. */
async function playing(
  name: string,
  actions?: readonly string[],
  options: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, Figure>> {
  const world = await openWorld(name, options);
  try {
    const set = await world.tasks("train");
    const tasks = Array.from({ length: Math.min(set.length, TASKS) }, (_, i) => set.task(i));
    const before = secondsOnCore();
    const known: (readonly string[])[] = [];
    for (const task of tasks) known.push((await world.solution?.(task)) ?? []);
    const solving = ((secondsOnCore() - before) / tasks.length) * 1000;
    await walk(world, tasks, actions ? [actions] : known, SECONDS / 4);
    const rate = await walk(world, tasks, actions ? [actions] : known, SECONDS);
    return {
      "steps, with their resets": { value: rate, unit: "/s" },
      "a solution (mean)": { value: solving, unit: "ms" },
    };
  } finally {
    await world.close?.();
  }
}

/** Steps per second on the core. */
async function walk(
  world: World,
  tasks: readonly Task[],
  actions: readonly (readonly string[])[],
  seconds: number,
): Promise<number> {
  const environment = world.environment();
  const before = secondsOnCore();
  let [steps, characters] = [0, 0];
  for (let episode = 0; secondsOnCore() - before < seconds; episode++) {
    const list = actions[episode % actions.length]!;
    await environment.reset(tasks[episode % tasks.length]!);
    for (let step = 0; step < Math.max(list.length, 20); step++, steps++) {
      // Another order each time, where it is not a plan.
      const action = list[actions.length === 1 ? (step * 7 + episode) % list.length : step];
      if (action === undefined) break;
      const { observation, done } = await environment.step(action);
      characters += observation.text.charCodeAt(0);
      if (done) break;
    }
  }
  if (characters === 0) throw new Error("nothing was said");
  return steps / (secondsOnCore() - before);
}
