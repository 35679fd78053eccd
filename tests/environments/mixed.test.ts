/**
 * @file Several worlds as one: tasks by weight, each played by its own world, success by world.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  defineEnvironment,
  findWorld,
  mixWorlds,
  openWorld,
  type Task,
} from "../../src/environments/index.ts";
import { train } from "../../src/library/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";

const folder = mkdtempSync(join(tmpdir(), "openmanus-mixed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shares = (tasks: readonly Task[]) => {
  const counts: Record<string, number> = {};
  for (const { environment } of tasks) counts[environment] = (counts[environment] ?? 0) + 1;
  return counts;
};

describe("maze*3+wordle", () => {
  it("has tasks of both by weight, in an order that stays, kinds by world", async () => {
    const world = await openWorld(await findWorld("maze*3+wordle"));
    expect(world.splits).toEqual(["train", "test"]);
    const set = await world.tasks("train");
    const tasks = Array.from({ length: 40 }, (_, i) => set.task(i));
    expect(shares(tasks)).toEqual({ maze: 30, wordle: 10 });
    // Of any beginning, too.
    for (const count of [4, 8, 20])
      expect(shares(tasks.slice(0, count))).toEqual({ maze: (3 * count) / 4, wordle: count / 4 });
    // The maze has 25 tasks: they come again.
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(35);
    for (const [i, { type, environment }] of tasks.entries()) {
      expect(type === environment || type!.startsWith(`${environment}/`)).toBe(true);
      expect(set.type(i)).toBe(type);
    }
    const again = await (await openWorld(await findWorld("maze*3+wordle"))).tasks("train");
    expect(Array.from({ length: 40 }, (_, i) => again.task(i))).toEqual(tasks);
    expect(() => set.task(set.length)).toThrow("has no task");
    const test = await world.tasks("test");
    const ids = Array.from({ length: test.length }, (_, i) => test.task(i).id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("plays each task as its own world does, by its expert, and in clones", async () => {
    const world = await openWorld(await findWorld("maze+wordle"));
    const set = await world.tasks("test");
    const environment = world.environment();
    for (let i = 0; i < 6; i++) {
      const task = set.task(i);
      const alone = await openWorld(await findWorld(task.environment));
      const own = (await alone.tasks(alone.splits[1]!)).task(Math.floor(i / 2));
      const other = alone.environment();
      let seen = await environment.reset(task);
      let same = await other.reset(own);
      expect(seen.info.world).toBe(task.environment);
      const [expert, twin] = [world.expert!(5), alone.expert!(5)];
      for (let turn = 0; turn < 10; turn++) {
        expect(seen.text).toBe(same.text);
        expect(seen.admissible).toEqual(same.admissible);
        const action = expert.act(seen);
        expect(action).toBe(twin.act(same));
        const cloned = await environment.clone!().step(action);
        const [result, expected] = [await environment.step(action), await other.step(action)];
        expect(result).toEqual(expected);
        expect(cloned).toEqual(expected);
        if (result.done) break;
        [seen, same] = [result.observation, expected.observation];
      }
    }
  });

  it("takes options by the world that they are of", async () => {
    const definition = await findWorld("maze+wordle");
    expect(Object.keys(definition.options).every((name) => /^(maze|wordle):/.test(name))).toBe(
      true,
    );
    await expect(openWorld(definition, { shops: 3 })).rejects.toThrow('there is no option "shops"');
  });
});

describe("what is no mixture is refused with a sentence", () => {
  it.each([
    ["maze+maze", "each once"],
    ["maze*0+wordle", "no world with a weight"],
    ["maze+", "no world with a weight"],
    ["maze+wordel", 'did you mean "wordle"?'],
  ])("%s", async (name, sentence) => {
    await expect(findWorld(name)).rejects.toThrow(sentence);
  });
});

/** Says a word; the world likes one of them. */
const liking = (name: string, word: string) =>
  defineEnvironment({
    ...{ name, summary: `say ${word}`, maximumSteps: 2, splits: { train: 30, test: 8 } },
    start: () => 0,
    intro: () => ({ text: `What does ${name} like?`, instruction: "say a word" }),
    actions: () => ["red", "blue"],
    act: (turn, action) => ({ text: "Well.", state: turn + 1, won: action === word }),
    expert: () => ({ act: () => word }),
  });

it("a run trains one policy in both, and tells success by world", async () => {
  const run = join(folder, "run");
  await train({
    world: mixWorlds([
      { world: liking("rose", "red"), weight: 2 },
      { world: liking("sea", "blue") },
    ]),
    ...{ model: { preset: "tiny" }, warmStart: { episodes: 30, epochs: 1 }, folder: run },
    ...{ algorithm: "grpo", iterations: 2, tasks: 6, groupSize: 4, progress: false, say() {} },
    validation: { every: 2, tasks: null },
    // In the order of the tasks: by weight.
    settings: { data: { shuffle: false } },
    agent: { replyTokens: 8 },
  });
  const last = readMetrics(join(run, "metrics.jsonl")).at(-1)!.metrics;
  for (const name of ["episode/rose", "episode/sea", "val/rose", "val/sea"])
    expect(last[`${name}_success_rate`]).toBeGreaterThanOrEqual(0);
  const played = [...readTrajectories(join(run, "trajectories"))].map(({ task }) => task);
  expect(shares(played)).toEqual({ rose: 32, sea: 16 });
}, 120_000);
