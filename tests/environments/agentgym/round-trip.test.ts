/**
 * @file Our client at our server: a world over HTTP is the world itself.
 */
import { describe, expect, it } from "vitest";
import higherOrLower from "../../../examples/own/world.ts";
import { withoutBanner } from "../../../src/environments/agentgym/kinds/games.ts";
import { KIND_NAMES } from "../../../src/environments/agentgym/kinds/index.ts";
import {
  openWorld,
  type ServeOptions,
  serveWorld,
  type Task,
  type World,
  worldDefinitions,
} from "../../../src/environments/index.ts";
import { afterTest } from "./fake-server.ts";

/** A world, and the same behind a server. */
async function both(local: World, options: ServeOptions = {}, client: object = {}) {
  const server = await serveWorld(local, options);
  const { url, kind, tasks } = server;
  const remote = await openWorld("agentgym", { url, kind, tasks, retries: 0, ...client });
  afterTest(async () => {
    await remote.close?.();
    await server.close();
    await local.close?.();
  });
  return { local, remote, server };
}

/** Some that make no sense or lead nowhere, and those that solve the task. */
async function episodesOf(world: World, task: Task): Promise<readonly (readonly string[])[]> {
  const solution = (await world.solution?.(task)) ?? [];
  const stray = ["", "xyzzy 42 \u{1f600}", ...solution.slice(0, -1), "look"];
  return [stray, solution];
}

async function compare(local: World, remote: World, places: readonly number[]) {
  const split = local.splits[0]!;
  const here = local.environment();
  const there = remote.environment();
  let won = 0;
  for (const place of places) {
    const task = (await local.tasks(split)).task(place);
    for (const actions of await episodesOf(local, task)) {
      const expected = await here.reset(task);
      const actual = await there.reset((await remote.tasks("train")).task(place));
      expect(actual.text).toBe(withoutBanner(expected.text));
      if (expected.admissible) expect(actual.admissible).toEqual(expected.admissible);
      for (const action of actions) {
        const one = await here.step(action);
        const other = await there.step(action);
        const { reward, done, score } = one;
        expect(other, `${task.id}: ${action}`).toMatchObject({ reward, done, won: one.won, score });
        expect(other.observation.text).toBe(one.observation.text);
        if (other.admissible !== undefined) expect(other.admissible).toBe(one.admissible);
        if (!done && one.observation.admissible)
          expect(other.observation.admissible).toEqual(one.observation.admissible);
        if (one.won) won++;
      }
    }
  }
  return won;
}

describe("a world over HTTP", () => {
  const kindOf = (name: string) =>
    ({ household: "alfworld", sql: "sqlgym" })[name] ??
    (KIND_NAMES.includes(name) ? name : "textcraft");
  const OPTIONS: Readonly<Record<string, object>> = {
    alfworld: { data: "builtin", games: 20 },
    // AgentGym's clients read the actions in its texts.
    babyai: { list: true },
  };
  const others = ["agentgym", "openenv"];
  const own = worldDefinitions().filter(({ name }) => !others.includes(name));

  it.each(own.map(({ name }) => name))("%s says, does and gives the same", async (name) => {
    const { local, remote, server } = await both(await openWorld(name, { ...OPTIONS[name] }));
    expect(server.kind).toBe(kindOf(name));
    expect(await compare(local, remote, [0, 3, 7, 11])).toBe(4);
  });

  it("of one's own is served as textcraft, with its own rewards", async () => {
    const { local, remote, server } = await both(await openWorld(higherOrLower));
    expect(server.kind).toBe("textcraft");
    expect(await compare(local, remote, [0, 1, 2])).toBe(3);
  });

  it.each(KIND_NAMES)("goes through %s's routes", async (kind) => {
    const { local, remote } = await both(await openWorld(higherOrLower), { kind });
    const tasks = await remote.tasks("train");
    const environment = remote.environment();
    for (const place of [5, 6]) {
      const first = await environment.reset(tasks.task(place));
      expect(first.text).toMatch(/Which is it\?$/);
      const [secret] = (await remote.solution!(tasks.task(place)))!;
      expect([secret]).toEqual(await local.solution!((await local.tasks("train")).task(place)));
      expect(await environment.step("no number")).toMatchObject({
        observation: { text: "That is not a number between 1 and 100." },
        ...{ reward: 0, done: false, won: false, score: 0 },
      });
      const end = await environment.step(secret!);
      expect(end).toMatchObject({ observation: { text: "Yes!" }, done: true, won: true, score: 1 });
      expect(end.reward).toBeGreaterThan(0);
    }
  });

  it("takes the reward that the user wants", async () => {
    const { remote } = await both(await openWorld("maze"), {}, { winReward: 5 });
    const task = (await remote.tasks("train")).task(18);
    const environment = remote.environment();
    await environment.reset(task);
    expect(await environment.step("move up")).toMatchObject({ reward: 0, done: false });
    for (const action of (await remote.solution!(task))!) await environment.step(action);
    expect(await environment.step("move down")).toMatchObject({ reward: 5, won: true });
  });

  it("has the splits one behind the other, or only one", async () => {
    const local = await openWorld("textcraft");
    const sizes = await Promise.all(local.splits.map(async (name) => local.tasks(name)));
    const { server } = await both(local);
    expect(server.tasks).toBe(sizes.reduce((sum, { length }) => sum + length, 0));
    const { remote } = await both(local, { split: "test" });
    const first = await remote.environment().reset((await remote.tasks("train")).task(0));
    const expected = local.environment().reset((await local.tasks("test")).task(0));
    expect(first.text).toBe((await expected).text);
  });
});
