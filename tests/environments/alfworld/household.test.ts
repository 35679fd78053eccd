/**
 * @file The generator of household games: many, different, all solvable, of the engine's form, in our
 * own words, with rooms that training never sees.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import { TASK_TYPES } from "../../../src/environments/alfworld/files/tasks.ts";
import { DIFFICULTIES } from "../../../src/environments/alfworld/household/difficulty.ts";
import {
  contentOf,
  generate,
  type Parameters,
} from "../../../src/environments/alfworld/household/generate.ts";
import { problemOf } from "../../../src/environments/alfworld/household/problem.ts";
import { layoutOf } from "../../../src/environments/alfworld/household/room.ts";
import { compileHousehold } from "../../../src/environments/alfworld/household/world.ts";
import { gameFileText, problemText } from "../../../src/environments/alfworld/household/write.ts";
import { gameOf, readGameFile, readProblem } from "../../../src/environments/alfworld/internals.ts";
import { shortestPlan } from "../../../src/environments/alfworld/planner/planner.ts";
import {
  EnvironmentError,
  type LocalEnvironment,
  openWorld,
  type World,
} from "../../../src/environments/index.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";

const parameters = (split: Parameters["split"], index: number): Parameters => ({
  ...{ seed: 0, split, index, types: TASK_TYPES, difficulty: DIFFICULTIES.medium },
});
const household = (options = {}) =>
  openWorld("household", options) as Promise<World<LocalEnvironment>>;

describe("the generator", () => {
  // All 10,000 (and the validation games) are solved by `openmanus-rl env verify household`, which takes
  // longer than a test should.
  it("makes 10,000 different games; the planner solves every fourth", () => {
    const contents = new Set<string>();
    const lengths: number[] = [];
    const types = new Map<string, number>();
    for (let index = 0; index < 10_000; index++) {
      const home = generate(parameters("train", index));
      contents.add(createHash("sha256").update(contentOf(home)).digest("hex"));
      types.set(home.wanted.type, (types.get(home.wanted.type) ?? 0) + 1);
      if (index % 4 !== 0) continue;
      const game = compileHousehold(problemOf(home, [index]));
      lengths.push(shortestPlan(game, game.start)?.length ?? 0);
    }
    expect(contents.size).toBe(10_000);
    // At least: go, take, and put or switch on.
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(3);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(15);
    for (const type of TASK_TYPES) expect(types.get(type)).toBeGreaterThan(1500);
  }, 120_000);

  it("keeps unseen layouts and combinations from training", () => {
    const rooms = (split: Parameters["split"], count: number) => {
      const homes = Array.from({ length: count }, (_, index) => generate(parameters(split, index)));
      return {
        layouts: new Set(homes.map(({ room }) => layoutOf(room))),
        tasks: new Set(homes.map(({ wanted }) => Object.values(wanted).join(" "))),
      };
    };
    const train = rooms("train", 3000);
    const seen = rooms("valid_seen", 200);
    const unseen = rooms("valid_unseen", 200);
    expect([...seen.layouts].filter((layout) => train.layouts.has(layout)).length).toBeGreaterThan(
      0.9 * seen.layouts.size,
    );
    expect([...unseen.layouts].filter((layout) => train.layouts.has(layout))).toEqual([]);
    expect([...unseen.tasks].filter((task) => train.tasks.has(task))).toEqual([]);
    expect(unseen.layouts.size).toBeGreaterThan(50);
  });

  it("makes the same game from the same parameters, and another from another seed", () => {
    const text = (seed: number): string =>
      problemText(problemOf(generate({ ...parameters("train", 3), seed }), [seed]).problem);
    expect(text(1)).toBe(text(1));
    expect(text(1)).not.toBe(text(2));
  });

  it("writes files that read back as the same game", () => {
    for (let index = 0; index < 30; index++) {
      const made = problemOf(generate(parameters("valid_unseen", index)), [index]);
      const game = compileHousehold(made);
      const plan = shortestPlan(game, game.start)!;
      const file = readGameFile(gameFileText(made, plan));
      expect(file).toMatchObject({ task: made.task, solvable: true, walkthrough: plan });
      const read = readProblem(file.problem);
      expect(read.facts).toEqual(made.problem.facts);
      expect(read.goal).toEqual(made.problem.goal);
      const again = gameOf(file);
      expect([again.intro, again.help]).toEqual([game.intro, game.help]);
      expect(shortestPlan(again, again.start)).toEqual(plan);
    }
  });

  const affordances = "data/alfworld/affordances.json";
  it.skipIf(isMissing(affordances))(
    "uses no words of the real games but those that the rules need",
    () => {
      const known = JSON.parse(readFileSync(sharedFile(affordances), "utf8")) as Record<
        string,
        string[]
      >;
      const words = new Set(
        ["pickupable", "receptacleTypes", "neverPickupable", "toggleable"].flatMap(
          (name) => known[name]!,
        ),
      );
      for (const rule of ["fridge", "microwave", "sinkbasin", "sink", "knife", "butterknife"])
        words.delete(rule);
      // An English adjective, in "isSafeInteger".
      words.delete("safe");
      const folder = fileURLToPath(new URL("../../../src/environments/alfworld", import.meta.url));
      for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!file.endsWith(".ts")) continue;
        const text = readFileSync(join(folder, file), "utf8");
        const used = text.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
        const whole = text.match(/[A-Za-z]+/g) ?? [];
        const found = [...used, ...whole].filter((word) => words.has(word.toLowerCase()));
        expect([file, found]).toEqual([file, []]);
      }
    },
  );
});

describe("the world household", () => {
  it("is what alfworld is without data, with the documents' name", async () => {
    const world = await openWorld("alfworld/AlfredTWEnv", { data: "builtin" });
    expect(world.name).toBe("alfworld");
    expect(world.source).toMatch(/built-in/);
    expect(world.splits).toEqual(["train", "valid_seen", "valid_unseen"]);
    const task = (await world.tasks("train")).task(5);
    expect(task.environment).toBe("alfworld");
    const other = (await (await household()).tasks("train")).task(5);
    expect({ ...task, environment: "" }).toEqual({ ...other, environment: "" });
  });

  it("has solutions and an expert that win", async () => {
    for (const difficulty of ["easy", "medium", "hard"]) {
      const world = await household({ difficulty });
      expect(await verifyWorld(world, world.splits, 15)).toMatchObject({ won: 45, failures: [] });
      const environment = world.environment();
      const tasks = await world.tasks("valid_unseen");
      let won = 0;
      for (let i = 0; i < 50; i++) {
        const expert = world.expert!(i);
        let observation = environment.reset(tasks.task(i));
        for (let step = 0; step < 50; step++) {
          const result = environment.step(expert.act(observation));
          observation = result.observation;
          if (result.won) won++;
          if (result.done) break;
        }
      }
      expect(won).toBeGreaterThanOrEqual(48);
    }
  });

  it("follows its options", async () => {
    const world = await household({
      ...{ types: "pick_two_obj_and_place", receptacles: 20, closed: 1, games: 7, seed: 5 },
    });
    const tasks = await world.tasks("train");
    expect(tasks.length).toBe(7);
    for (let i = 0; i < tasks.length; i++) expect(tasks.type(i)).toBe("pick_two_obj_and_place");
    const first = world.environment().reset(tasks.task(0));
    expect(first.admissible!.filter((command) => command.startsWith("go to "))).toHaveLength(20);
    await expect(household({ receptacles: 1000 })).rejects.toThrow(/at most 60/);
    await expect(household({ types: "cook" })).rejects.toThrow(/cannot hold "cook"/);
    await expect(household({ difficulty: "impossible" })).rejects.toThrow(/one of easy, medium/);
  });

  it("makes tasks that can be stored and replayed, and refuses those that were edited", async () => {
    const world = await household({ difficulty: "easy", seed: 9 });
    const task = JSON.parse(JSON.stringify((await world.tasks("valid_seen")).task(4)));
    const other = await household();
    const [one, two] = [world, other].map((each) => each.environment().reset(task).text);
    expect(one).toBe(two);
    for (const data of [
      undefined,
      null,
      7,
      {},
      { ...task.data, types: ["x"] },
      { ...task.data, difficulty: { receptacles: [1e9, 1e9] } },
    ])
      expect(() => other.environment().reset({ ...task, data })).toThrow(EnvironmentError);
  });

  it("has copies that go their own way, and observations that stay as they were", async () => {
    const world = await household();
    const environment = world.environment();
    expect(() => environment.step("look")).toThrow(/call reset\(task\) before/);
    const first = environment.reset((await world.tasks("train")).task(1));
    const plan = environment.plan!()!;
    const copy = environment.clone();
    for (const command of plan.slice(0, -1)) expect(copy.step(command).done).toBe(false);
    expect(copy.plan!()).toHaveLength(1);
    // The first observation's list is made now, after all of that.
    expect(first.admissible).toContain(plan[0]);
    const end = copy.step(plan.at(-1)!);
    expect(end).toMatchObject({ won: true, done: true, reward: 10, score: 1, admissible: true });
    expect(copy.step("look")).toEqual({ ...end, reward: 0 });
    expect(environment.plan!()).toEqual(plan);
    expect(environment.step("dance")).toMatchObject({ admissible: false, won: false, reward: 0 });
  });
});
