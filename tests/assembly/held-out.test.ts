/**
 * @file Training tasks set aside: never in training, always the same, playable.
 */
import { describe, expect, test } from "vitest";
import { HELD_OUT, openRunWorld } from "../../src/assembly/index.ts";
import { resolveConfig, runOptions } from "../../src/config/index.ts";
import type { TaskSet } from "../../src/environments/index.ts";

const open = async (...overrides: string[]) => {
  const { config } = resolveConfig({
    overrides: ["env.env_name=household", "env.options.games=60", ...overrides],
  });
  return openRunWorld((await runOptions(config)).world);
};
const ids = (tasks: TaskSet) => Array.from({ length: tasks.length }, (_, i) => tasks.task(i).id);

describe("data.held_out", () => {
  test("parts the training split in two, the same way each time", async () => {
    const whole = ids(await (await open()).world.tasks("train"));
    const { world, trainSplit, valSplit } = await open("data.held_out=12");
    const train = ids(await world.tasks(trainSplit));
    const held = ids(await world.tasks(HELD_OUT));
    expect(valSplit).toBe(HELD_OUT);
    expect(held).toHaveLength(12);
    expect(train).toHaveLength(48);
    expect([...train, ...held].sort()).toEqual([...whole].sort());
    const again = await open("data.held_out=12");
    expect(ids(await again.world.tasks(HELD_OUT))).toEqual(held);
    // Not a stretch of the split, which may be sorted by kind.
    expect(held).not.toEqual(whole.slice(0, 12));
    expect(world.splits).toContain(HELD_OUT);
  });

  test("leaves the other splits, the expert and the environments as they are", async () => {
    const plain = await open();
    const { world, valSplit } = await open("data.held_out=12", "env.val_split=valid_unseen");
    expect(valSplit).toBe("valid_unseen");
    const task = (await world.tasks("valid_unseen")).task(3);
    expect(task).toEqual((await plain.world.tasks("valid_unseen")).task(3));
    const held = (await world.tasks(HELD_OUT)).task(0);
    const environment = world.environment();
    const expert = world.expert!(1);
    let observation = await environment.reset(held);
    for (let turn = 0; turn < 50; turn++) {
      const result = await environment.step(expert.act(observation));
      observation = result.observation;
      if (result.done) break;
    }
    expect(observation.text).not.toBe("");
    expect((await world.tasks(HELD_OUT)).type(0)).toBe(held.type);
  });

  test("a split that is asked for by its name needs no tasks set aside from another", async () => {
    // Other data than a model was trained on: its only split is the first one, and a small one.
    const other = await open("data.held_out=12", "env.train_split=valid_unseen");
    const unseen = await (await open()).world.tasks("valid_unseen");
    expect(ids(await other.namedTasks("valid_unseen"))).not.toHaveLength(unseen.length);
    const small = await open("data.held_out=1000", "env.train_split=valid_unseen");
    expect(ids(await small.namedTasks("valid_unseen"))).toEqual(ids(unseen));
    expect(ids(await small.namedTasks("valid_seen"))).toEqual(
      ids(await (await open()).world.tasks("valid_seen")),
    );
    // What was set aside is not played as training tasks, nor found where it cannot be.
    const usual = await open("data.held_out=12");
    expect(await usual.namedTasks("train")).toHaveLength(48);
    expect(await usual.namedTasks(HELD_OUT)).toHaveLength(12);
    await expect(small.namedTasks(HELD_OUT)).rejects.toThrow(/1000 tasks are to be held out/);
  });

  test("more than there are: what is wrong, in words", async () => {
    const { world } = await open("data.held_out=60");
    await expect((async () => world.tasks("train"))()).rejects.toThrow(
      '60 tasks are to be held out, but the split "train" of household has only 60 tasks',
    );
    expect(() => resolveConfig({ overrides: ["data.held_out=-1"] })).toThrow("data.held_out");
  });
});
