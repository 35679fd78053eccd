/**
 * @file Rooms that training never enters, and other rooms made from those that it does: through a run's options.
 */
import { describe, expect, test } from "vitest";
import { HELD_OUT, openRunWorld } from "../../../src/assembly/index.ts";
import { resolveConfig, runOptions } from "../../../src/config/index.ts";
import type { TaskSet } from "../../../src/environments/index.ts";
import { isMissing } from "../../support/shared.ts";
import { REAL_GAMES, REAL_GAMES_PATH } from "./material.ts";

const open = async (...overrides: string[]) => {
  const { config } = resolveConfig({
    overrides: ["env.env_name=alfworld", `env.options.data=${REAL_GAMES}`, ...overrides],
  });
  return openRunWorld((await runOptions(config)).world);
};
const OPEN =
  "armchair bed coffeetable countertop desk diningtable dresser ottoman shelf sidetable sofa tvstand";
const ids = (tasks: TaskSet) => Array.from({ length: tasks.length }, (_, i) => tasks.task(i).id);
const planOf = (id: string) => Number(/-(\d+)\/trial/.exec(id)![1]);
const plans = (tasks: TaskSet) => new Set(ids(tasks).map(planOf));

describe.skipIf(isMissing(REAL_GAMES_PATH))("rooms", () => {
  test("that are set aside are of every kind, and no training game is in one", async () => {
    const { world } = await open("env.options.unseenRooms=2");
    const [train, unseen] = await Promise.all(["train", "unseen_rooms"].map(world.tasks));
    const aside = [...plans(unseen!)];
    expect(aside.map((plan) => Math.floor(plan / 100)).sort()).toEqual([0, 0, 2, 2, 3, 3, 4, 4]);
    expect(aside.filter((plan) => plans(train!).has(plan))).toEqual([]);
    expect(train!.length + unseen!.length).toBe(3553);
    const again = await open("env.options.unseenRooms=2");
    expect(ids(await again.world.tasks("unseen_rooms"))).toEqual(ids(unseen!));
  });

  test("more of them than there are is refused", async () => {
    await expect(open("env.options.unseenRooms=40")).rejects.toThrow(
      "40 rooms of each kind are to be set aside, but of the plans from 1 on there are only 27",
    );
  });

  test("made from others can be solved, differ, and are the same every time", async () => {
    const { world } = await open("env.options.variants=3");
    const tasks = await world.tasks("train");
    const games = tasks.length / 3;
    expect(games).toBe(3553);
    const environment = world.environment();
    let others = 0;
    for (let game = 0; game < games; game += 40) {
      const [own, first, second] = [0, 1, 2].map((variant) => tasks.task(variant * games + game));
      const begun = [];
      for (const task of [own!, first!, second!])
        begun.push((await environment.reset(task)).text.split("\n\n"));
      expect(new Set(begun.map((parts) => parts.at(-1))).size, own!.id).toBe(1);
      others += new Set(begun.map((parts) => parts[1])).size - 1;
      expect((await environment.reset(first!)).text.split("\n\n")).toEqual(begun[1]);
      let won = false;
      for (const command of (await world.solution!(first!))!)
        won = (await environment.step(command)).won === true;
      expect(won, first!.id).toBe(true);
    }
    expect(others).toBeGreaterThan(140);
  });

  test("with furniture that is called otherwise can be solved, and the task names none of it", async () => {
    const { world } = await open("env.options.variants=2");
    const { world: renaming } = await open(
      ...["env.options.variants=2", "env.options.renamed=1"],
      `env.options.alike=[${[OPEN, "cabinet drawer safe"].map((names) => `"${names}"`).join(",")}]`,
    );
    const tasks = await renaming.tasks("train");
    const games = tasks.length / 2;
    const [environment, plain] = [renaming.environment(), world.environment()];
    const furnitureOf = (text: string) =>
      new Set(
        [.../you see (.*?)\./.exec(text)![1]!.matchAll(/an? ([a-z]+) \d+/g)].map((a) => a[1]!),
      );
    let others = 0;
    for (let game = 0; game < games; game += 60) {
      const task = tasks.task(games + game);
      const [text, before] = [await environment.reset(task), await plain.reset(task)].map(
        (begun) => begun.text,
      );
      const [here, usual] = [furnitureOf(text!), furnitureOf(before!)];
      expect(here.size, task.id).toBe(usual.size);
      const asked = text!.split("\n\n").at(-1)!;
      expect(asked).toBe(before!.split("\n\n").at(-1));
      for (const name of usual)
        if (new RegExp(`\\b${name}\\b`).test(asked)) expect([...here], task.id).toContain(name);
      others += [...here].filter((name) => !usual.has(name)).length;
      let won = false;
      for (const command of (await renaming.solution!(task))!)
        won = (await environment.step(command)).won === true;
      expect(won, task.id).toBe(true);
    }
    expect(others).toBeGreaterThan(100);
  });

  test("are called otherwise only where it is said what is alike", async () => {
    for (const alike of [[], ["env.options.alike=[desk]"]])
      await expect(open("env.options.renamed=0.5", ...alike)).rejects.toThrow(
        "renamed needs to know what is alike: groups of kinds of furniture",
      );
  });

  test("of a game that is held out are held out with it", async () => {
    const plain = await open("data.held_out=50");
    const varied = await open("data.held_out=50", "env.options.variants=4");
    const held = ids(await varied.world.tasks(HELD_OUT));
    expect(held).toEqual(ids(await plain.world.tasks(HELD_OUT)));
    const train = ids(await varied.world.tasks("train"));
    expect(train).toHaveLength(4 * (3553 - 50));
    const origins = new Set(train.map((id) => id.split("#")[0]));
    expect(held.filter((id) => origins.has(id))).toEqual([]);
  });
});
