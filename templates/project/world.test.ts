/**
 * @file What must hold in this world before anybody is trained in it:  npm test
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openWorld, type Task } from "openmanus-rl";
import definition from "./world.ts";

const world = await openWorld(definition);

/** The first tasks of every split. */
async function someTasks(): Promise<Task[]> {
  const sets = await Promise.all(world.splits.map((split) => world.tasks(split)));
  return sets.flatMap((set) =>
    Array.from({ length: Math.min(set.length, 50) }, (_, index) => set.task(index)),
  );
}

/** What is seen and given when these actions are done, as text. */
async function played(task: Task, actions: readonly string[]): Promise<string[]> {
  const environment = world.environment();
  const seen = [JSON.stringify(await environment.reset(task))];
  for (const action of actions) seen.push(JSON.stringify(await environment.step(action)));
  return seen;
}

test("known solutions win", async () => {
  for (const task of await someTasks()) {
    const solution = (await world.solution?.(task)) ?? [];
    assert.match((await played(task, solution)).at(-1)!, /"won":true/, task.id);
  }
});

test("the expert wins, in time", async () => {
  for (const task of await someTasks()) {
    const [environment, expert] = [world.environment(), world.expert!(0)];
    let observation = await environment.reset(task);
    let won = false;
    for (let step = 0; step < definition.maximumSteps && !won; step++)
      ({ observation, won } = await environment.step(expert.act(observation)));
    assert.ok(won, `${task.id} ends with: ${observation.text}`);
  }
});

test("any string is an action", async () => {
  const [task] = await someTasks();
  for (const action of ["", " ", "\n", "open", "OPEN DOOR", "\u{1f600}", "x".repeat(2000)])
    assert.equal((await played(task!, [action, action])).length, 3);
});

test("the same actions have the same results", async () => {
  for (const task of await someTasks()) {
    const actions = (await world.solution?.(task)) ?? [];
    assert.deepEqual(await played(task, actions), await played(task, actions));
  }
});
