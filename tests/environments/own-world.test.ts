/**
 * @file Worlds of one's own that wait, and that hold things: promises, resources, and what an episode has
 * to give back.
 */
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  defineEnvironment,
  type Environment,
  EnvironmentError,
  openWorld,
  type Task,
  type World,
  type WorldDefinition,
} from "../../src/environments/index.ts";
import { collect } from "../../src/rollout/index.ts";
import {
  countingRollout,
  newModelFolder,
  openChat,
  tasksOf,
  temporaryFolder,
} from "../rollout/support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));

/** What happened, in order, and how often. */
interface Ledger {
  readonly opened: string[];
  readonly started: string[];
  readonly finished: string[];
  readonly closed: string[];
}

type Act = (action: string, session: { id: string; said: number }) => Promise<void> | void;

/** Counting to two in sessions of a server that is not there. `meanwhile` runs inside `act`. */
function sessions(meanwhile: Act = () => wait(1)): { world: WorldDefinition; ledger: Ledger } {
  const ledger: Ledger = { opened: [], started: [], finished: [], closed: [] };
  let sessions = 0;
  // No annotations: this is how a user's file looks, and types must follow from it.
  const world = defineEnvironment({
    name: "sessions",
    summary: "count aloud from 1",
    maximumSteps: 5,
    options: { server: { kind: "text", default: "here", about: "where" } },
    splits: { train: 20 },
    open: async ({ server }) => {
      await wait(1);
      ledger.opened.push(server.toUpperCase());
      return { server, calls: new Map([["act", 0]]) };
    },
    async start(task, random, { server }, resource) {
      await wait(1);
      const id = `${task.id} ${sessions++} ${random.integer(10)}`;
      expect(resource.server).toBe(server);
      ledger.started.push(id);
      return { id, said: 0 };
    },
    intro: ({ said }) => `You said ${said}.`,
    actions: ({ said }) => [`say ${said + 1}`, "drop"],
    async act({ id, said }, action, _random, { calls }) {
      calls.set("act", calls.get("act")! + 1);
      await meanwhile(action, { id, said });
      if (action === "drop") return { text: "You drop it.", lost: true };
      if (action !== `say ${said + 1}`) return { text: "That is not next." };
      return { text: `You said ${said + 1}.`, state: { id, said: said + 1 }, won: said === 1 };
    },
    async finish({ id, said }, { calls }) {
      await wait(1);
      ledger.finished.push(id);
      expect(said).toBeLessThanOrEqual(calls.get("act")!);
    },
    close: ({ server }) => void ledger.closed.push(server),
    solution: ({ said }) => [`say ${said + 1}`, `say ${said + 2}`],
    expert: () => ({ act: ({ admissible }) => admissible![0]! }),
  });
  return { world, ledger };
}

async function rollout(definition: WorldDefinition, tasks: number) {
  const world = await openWorld(definition);
  const options = await countingRollout(chat, 1);
  return { ...options, world, about: definition, tasks: await tasksOf(world, tasks) };
}

const sorted = (ids: readonly string[]) => [...ids].sort();

async function begun(definition: WorldDefinition): Promise<{
  world: World;
  environment: Environment;
  task: Task;
}> {
  const world = await openWorld(definition);
  return { world, environment: world.environment(), task: (await world.tasks("train")).task(0) };
}

describe("a world that waits", () => {
  it("is played by many episodes at once, over one resource", async () => {
    const { world: definition, ledger } = sessions();
    const options = await rollout(definition, 12);
    const { account } = await collect({ ...options, members: 2, concurrency: 6 });
    expect(account.statuses).toEqual({ won: 24 });
    expect(account.turns).toBe(48);
    expect(ledger.started).toHaveLength(24);
    expect(sorted(ledger.finished)).toEqual(sorted(ledger.started));
    expect(ledger.closed).toEqual([]);
    await Promise.all([options.world.close!(), options.world.close!()]);
    await options.world.close!();
    expect([ledger.opened, ledger.closed]).toEqual([["HERE"], ["here"]]);
    expect(() => options.world.environment()).toThrow(/the world is closed; open it again/);
  });

  it("takes its options, and gives a solution that wins", async () => {
    const { world: definition, ledger } = sessions();
    const world = await openWorld(definition, { server: "there" });
    const task = (await world.tasks("train")).task(3);
    const environment = world.environment();
    await environment.reset(task);
    for (const action of (await world.solution!(task))!) await environment.step(action);
    expect(await environment.step("say 3")).toMatchObject({ won: true, done: true, reward: 0 });
    await world.close!();
    expect(ledger.closed).toEqual(["there"]);
    expect(sorted(ledger.finished)).toEqual(sorted(ledger.started));
    expect(ledger.started).toHaveLength(2);
  });

  it("is ended by the episode's time when it never answers", async () => {
    const { world: definition, ledger } = sessions(() => new Promise(() => {}));
    const options = await rollout(definition, 4);
    const { account } = await collect({ ...options, limits: { turns: 5, seconds: 0.2 } });
    expect(account.statuses).toEqual({ timeout: 4 });
    expect(sorted(ledger.finished)).toEqual(sorted(ledger.started));
    await options.world.close!();
    expect(ledger.closed).toHaveLength(1);
  });

  it("is tried again where a promise is rejected, and says which function it was", async () => {
    const failing = new Set(["train/0", "train/1", "train/2"]);
    const { world: definition, ledger } = sessions(async (_action, { id }) => {
      await wait(1);
      if (failing.delete(id.split(" ")[0]!)) throw new RangeError("out of cheese");
    });
    const options = await rollout(definition, 5);
    const { account } = await collect({ ...options, concurrency: 5 });
    expect(account).toMatchObject({ statuses: { won: 5 }, retries: 3 });
    const hopeless = await collect({
      ...(await rollout(sessions(() => Promise.reject(new Error("down"))).world, 1)),
      retries: 1,
    });
    expect(hopeless.account.statuses).toEqual({ "environment error": 1 });
    expect(hopeless.account.errors[0]).toMatch(/its function act \("say 1"\) failed: down/);
    expect(sorted(ledger.finished)).toEqual(sorted(ledger.started));
    expect(ledger.started).toHaveLength(8);
  });

  it("gives back what its episodes hold when a rollout is aborted", async () => {
    const stop = new AbortController();
    const { world: definition, ledger } = sessions(async () => {
      if (ledger.started.length === 8) stop.abort(new Error("that is enough"));
      await wait(5);
    });
    const options = await rollout(definition, 20);
    const { account } = await collect({ ...options, concurrency: 8, signal: stop.signal });
    expect(account.statuses.aborted).toBeGreaterThan(0);
    await options.world.close!();
    expect(sorted(ledger.finished)).toEqual(sorted(ledger.started));
  });
});

describe("an episode of a world with finish", () => {
  it("is finished once: at its end, when another begins, when it is closed", async () => {
    const { world: definition, ledger } = sessions();
    const { environment, task } = await begun(definition);
    await environment.reset(task);
    await environment.step("drop");
    expect(ledger.finished).toHaveLength(1);
    await environment.reset(task);
    expect(ledger.finished).toHaveLength(1);
    await environment.reset(task);
    expect(ledger.finished).toHaveLength(2);
    await Promise.all([environment.close!(), environment.close!()]);
    await environment.close!();
    expect(ledger.finished).toEqual(ledger.started);
    expect(() => environment.reset(task)).toThrow(/it is closed; make a new environment/);
    expect(() => environment.step("drop")).toThrow(/closed/);
  });

  it("is finished by the world when nobody else does, before the resource is closed", async () => {
    const { world: definition, ledger } = sessions(() => new Promise(() => {}));
    const { world, environment, task } = await begun(definition);
    await environment.reset(task);
    void environment.step("say 1");
    await world.close!();
    expect([ledger.finished, ledger.closed]).toEqual([ledger.started, ["here"]]);
  });

  it("is finished when it was closed before it had begun", async () => {
    const { world: definition, ledger } = sessions();
    const { environment, task } = await begun(definition);
    const beginning = environment.reset(task) as Promise<unknown>;
    await environment.close!();
    await expect(beginning).rejects.toThrow(/it is closed/);
    expect(ledger.finished).toEqual(ledger.started);
    expect(ledger.started).toHaveLength(1);
  });

  it("cannot be copied: one thing is not given back twice", async () => {
    const { environment, task } = await begun(sessions().world);
    await environment.reset(task);
    expect(environment.clone).toBeUndefined();
    await environment.close!();
  });

  it("does one thing at a time", async () => {
    const { environment, task } = await begun(sessions().world);
    const beginning = environment.reset(task);
    expect(() => environment.step("say 1")).toThrow(/step\(\) while reset\(\) is under way/);
    await beginning;
    const acting = environment.step("say 1");
    expect(() => environment.step("say 1")).toThrow(/step\(\) while step\(\) is under way/);
    await acting;
    await environment.close!();
  });
});

describe("what goes wrong", () => {
  const facts = { name: "sick", summary: "", maximumSteps: 1, splits: { train: 1 } };
  const start = () => ({ at: 0 });
  const intro = () => "hello";
  const act = () => ({ text: "yes", done: true });

  it.each([
    ["open", { open: () => Promise.reject(new Error("no")), start, intro, act }],
    ["start", { start: () => Promise.reject(new Error("no")), intro, act }],
    ["act", { start, intro, act: async () => Promise.reject(new Error("no")) }],
    ["finish", { start, intro, act, finish: () => Promise.reject(new Error("no")) }],
    ["finish", { start, intro, act, finish: () => fail("no") }],
    ["close", { start, intro, act, close: () => Promise.reject(new Error("no")) }],
    ["close", { start, intro, act, close: () => fail("no") }],
  ])("in %s is an EnvironmentError that says so", async (place, parts) => {
    const played = async () => {
      const { world, environment, task } = await begun(defineEnvironment({ ...facts, ...parts }));
      await environment.reset(task);
      await environment.step("x");
      await world.close?.();
    };
    await expect(played()).rejects.toThrow(EnvironmentError);
    await expect(played()).rejects.toThrow(new RegExp(`sick: its function ${place}.* failed: no`));
  });

  it("is an act without a text", async () => {
    const silent = defineEnvironment({ ...facts, start, intro, act: async () => ({}) as never });
    const { environment, task } = await begun(silent);
    await environment.reset(task);
    await expect(environment.step("x")).rejects.toThrow(/act \("x"\) gave no text; expected it to/);
  });

  it("in finish does not keep the resource open", async () => {
    const closed: string[] = [];
    const finish = () => Promise.reject(new Error("no"));
    const close = (resource: string) => void closed.push(resource);
    const { world, environment, task } = await begun(
      defineEnvironment({ ...facts, open: () => "door", start, intro, act, finish, close }),
    );
    await environment.reset(task);
    await expect(world.close!()).rejects.toThrow(/finish failed: no/);
    expect(closed).toEqual(["door"]);
  });
});

describe("a world without promises", () => {
  it("has none, though it holds something", async () => {
    const held: string[] = [];
    const definition = defineEnvironment({
      name: "plain",
      summary: "",
      maximumSteps: 1,
      splits: { train: 1 },
      open: () => held,
      start: (_task, _random, _options, resource) => ({ place: resource.push("start") }),
      intro: ({ place }) => place.toFixed(0),
      act: ({ place }, _action, _random, resource) => ({
        text: resource.join(" "),
        state: { place: place + 1 },
        done: true,
      }),
      finish: ({ place }, resource) => resource.push(`finish ${place}`),
    });
    const { environment, task } = await begun(definition);
    expect(environment.reset(task)).toMatchObject({ text: "1" });
    expect(environment.step("x")).toMatchObject({ done: true, observation: { text: "start" } });
    expect(held).toEqual(["start", "finish 2"]);
    expect(environment.close!()).toBeUndefined();
    expect(held).toHaveLength(2);
  });
});

function fail(message: string): never {
  throw new Error(message);
}
