/**
 * @file Mazes: the published transcripts, the rules, generated mazes, the explorer.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import {
  EnvironmentError,
  type LocalEnvironment,
  openWorld,
  type Task,
  type World,
} from "../../../src/environments/index.ts";
import { isMissing } from "../../support/shared.ts";
import { actionOf, transcripts } from "../transcripts.ts";

const open = async (options: Record<string, unknown> = {}) =>
  (await openWorld("maze", options)) as World<LocalEnvironment>;

const game = (number: number): Task => ({
  ...{ environment: "maze", split: "train", id: `game ${number}` },
  data: { maze: "double_t", game: number },
});

describe("the double T", () => {
  it.skipIf(isMissing("data/openmanus/maze/train.parquet"))(
    "says what the published games say, and is won where they end",
    async () => {
      const environment = (await open()).environment();
      const published = await transcripts("maze", ["train", "val", "test"]);
      let replayed = 0;
      for (const { id, number, turns } of published) {
        let text = environment.reset(game(number)).text;
        let won = false;
        for (const { said, reply } of turns) {
          expect(said.endsWith(text), `${id}: ${said}`).toBe(true);
          const result = environment.step(actionOf(reply));
          text = result.observation.text;
          won = result.won;
        }
        expect(won, id).toBe(true);
        replayed++;
      }
      expect(replayed).toBe(245);
    },
  );

  it("has the rules of the specification", async () => {
    const world = await open();
    const environment = world.environment();
    expect(environment.reset(game(0)).text).toBe(
      "The goal is at position 8, 6. Your current position is at position 1, 1. There are walls to your left, above you, below you.\n",
    );
    const right = environment.step("move right");
    expect(right.observation.text).toMatch(/ 1, 2\. There are walls above you, below you\.\n$/);
    expect(right).toMatchObject({ reward: 0, done: false, admissible: true });
    for (const nonsense of ["move up", "Move right", "move right\n", "constructor", ""])
      expect(environment.step(nonsense).observation.text).toBe(right.observation.text);
    expect(environment.step("dance").admissible).toBe(false);
    expect(environment.reset(game(14)).text).toMatch(/ 5, 4\. /);
    expect(environment.reset(game(16)).text).toMatch(/ 5, 6\. There is a wall above you\.\n$/);
    for (let i = 0; i < 3; i++) expect(environment.step("move down").done).toBe(i === 2);
    expect(environment.step("move up")).toMatchObject({ won: true, reward: 0 });
  });

  it("gives up at the 51st step", async () => {
    const environment = (await open()).environment();
    environment.reset(game(0));
    for (let i = 0; i < 50; i++) expect(environment.step("move up").done).toBe(false);
    const end = environment.step("move right");
    expect(end).toMatchObject({ done: true, won: false, lost: true, reward: -1 });
    expect(end.observation.text).toBe("Failure\n");
  });

  it("is won from every start, by the plan and by the explorer", async () => {
    const world = await open();
    expect(await verifyWorld(world, world.splits)).toEqual({ games: 50, won: 50, failures: [] });
    expect(await explored(world, "train", 50)).toBe(25);
  });
});

/** How many tasks of the split the explorer wins. */
async function explored(world: World<LocalEnvironment>, split: string, steps: number) {
  const environment = world.environment();
  const tasks = await world.tasks(split);
  let won = 0;
  for (let index = 0; index < Math.min(tasks.length, 200); index++) {
    const expert = world.expert!(index);
    let observation = environment.reset(tasks.task(index));
    for (let step = 0; step < steps; step++) {
      const result = environment.step(expert.act(observation));
      observation = result.observation;
      if (result.won) won++;
      if (result.done) break;
    }
  }
  return won;
}

describe("generated mazes", () => {
  it("can all be solved, by the plan and by the explorer", async () => {
    const world = await open({ maze: "generated", games: 300 });
    expect(await verifyWorld(world, world.splits)).toEqual({ games: 500, won: 500, failures: [] });
    expect(await explored(world, "test", 50)).toBeGreaterThan(190);
    const large = await open({ maze: "generated", width: 61, height: 41, games: 3 });
    expect(await explored(large, "train", 10_000)).toBe(3);
  });

  it("are closed, connected and different, whatever their size", async () => {
    const odd = fc.integer({ min: 2, max: 15 }).map((half) => 2 * half + 1);
    await fc.assert(
      fc.asyncProperty(odd, odd, fc.nat(), async (width, height, seed) => {
        const world = await open({ maze: "generated", width, height, seed, games: 2, loops: 0.3 });
        const environment = world.environment();
        const tasks = await world.tasks("train");
        const [one, other] = [tasks.task(0), tasks.task(1)];
        environment.reset(one);
        expect(environment.plan!()!.length).toBeGreaterThan(0);
        expect(environment.reset(one).text).toBe(environment.reset(one).text);
        if (width * height > 200) expect(one).not.toEqual(other);
      }),
      { numRuns: 40 },
    );
  });

  it("refuses what cannot be", async () => {
    await expect(open({ maze: "generated", width: 8 })).rejects.toThrow(/must be odd/);
    const environment = (await open()).environment();
    const wrong: unknown[] = [
      ...[undefined, {}, { maze: "double_t", game: 26 }, { maze: "double_t", game: "__proto__" }],
      ...[
        { maze: "generated", width: 1e9, height: 5 },
        { maze: "generated", width: 4, height: 5 },
      ],
    ];
    for (const data of wrong)
      expect(() => environment.reset({ ...game(0), data: data as never })).toThrow(
        EnvironmentError,
      );
  });
});

describe("any action", () => {
  it("is answered", async () => {
    const environment = (await open()).environment();
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (action) => {
        environment.reset(game(0));
        expect(environment.step(action).observation.text).toMatch(/^The goal is/);
      }),
    );
    environment.reset(game(0));
    expect(environment.step("move right ".repeat(1e6)).observation.text).toMatch(/ 1, 1\. /);
  });
});
