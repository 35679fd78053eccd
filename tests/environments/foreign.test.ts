/**
 * @file Somebody else's code: how long it is waited for, and what is made of what it gives.
 */
import { describe, expect, it, vi } from "vitest";
import { JsonProblem, jsonCopy } from "../../src/environments/foreign/json-copy.ts";
import { messageOf } from "../../src/environments/foreign/message.ts";
import {
  boundedEnvironment,
  checkedObservation,
  checkedResult,
  defineWorld,
  type Environment,
  openWorld,
  pendingWaits,
  placeWorld,
  type StepResult,
  type Task,
  TimeLimitError,
  taskList,
  type World,
  within,
} from "../../src/environments/index.ts";

const never = new Promise<never>(() => {});
const soon = { seconds: 0.05 };

describe("a wait", () => {
  it("gives what is there, what comes, and what goes wrong", async () => {
    expect(await within(soon, "it", 7)).toBe(7);
    expect(await within(soon, "it", Promise.resolve(7))).toBe(7);
    await expect(within(soon, "it", Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await within(undefined, "it", Promise.resolve(7))).toBe(7);
    expect(await within({ seconds: Infinity }, "it", Promise.resolve(7))).toBe(7);
  });

  it("ends when its time is over, and says who was late and by which setting", async () => {
    const late = within({ ...soon, setting: "a.b" }, "step()", never);
    expect(pendingWaits()).toEqual(["step()"]);
    await expect(late).rejects.toThrow(TimeLimitError);
    await expect(late).rejects.toThrow("step() did not answer within 0.05 s (a.b)");
    expect(pendingWaits()).toEqual([]);
  });

  it("ends with its signal, and what fails later is nobody's", async () => {
    const stopping = new AbortController();
    let fail!: (error: Error) => void;
    const work = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const wait = within({ seconds: 60 }, "it", work, stopping.signal);
    stopping.abort(new Error("enough"));
    await expect(wait).rejects.toThrow("enough");
    fail(new Error("too late"));
    await expect(
      within(soon, "it", Promise.reject(new Error("x")), stopping.signal),
    ).rejects.toThrow("enough");
  });
});

describe("a copy of data", () => {
  const bounds = { characters: 100, values: 20 };
  const circle: unknown[] = [];
  circle.push(circle);

  it("is what JSON makes of it, and its own", () => {
    const given = { a: [1, null, "x", { b: true }], when: new Date(0), none: undefined };
    const copy = jsonCopy(given, bounds);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(given));
    given.a[0] = 2;
    expect(copy).toMatchObject({ a: [1, null, "x", { b: true }] });
    const odd = JSON.parse('{"__proto__": {"x": 1}}') as object;
    expect(JSON.stringify(jsonCopy(odd, bounds))).toBe('{"__proto__":{"x":1}}');
    expect(Object.getPrototypeOf(jsonCopy(odd, bounds))).toBe(Object.prototype);
  });

  it.each([
    ["a circle", () => circle],
    ["a function", () => () => {}],
    ["no number", () => Number.NaN],
    ["too many", () => Array(21).fill(0)],
    [
      "a list without end",
      () => new Proxy([], { get: (_, name) => (name === "length" ? 1e9 : 0) }),
    ],
    ["too long", () => ({ x: "y".repeat(100) })],
  ])("is refused: %s", (_, make) => {
    expect(() => jsonCopy({ it: make() }, bounds)).toThrow(JsonProblem);
  });
});

describe("what a world gives", () => {
  const seen = { text: "x", anchor: "x", info: {} };
  const result: StepResult = { observation: seen, reward: 0, done: false, won: false, score: 0 };

  it("is copied: what the world does to it later changes nothing", () => {
    const info = { count: 1 };
    const admissible = ["go"];
    const given = { ...result, observation: { ...seen, info, admissible } };
    const checked = checkedResult("w", given);
    expect(checked.observation.admissible).toEqual(["go"]);
    info.count = 2;
    admissible[0] = "stay";
    Object.assign(given, { reward: 1e308 });
    expect(checked).toMatchObject({
      reward: 0,
      observation: { admissible: ["go"], info: { count: 1 } },
    });
  });

  it("may be an object with getters, of which a list of actions is asked once, and only if asked", () => {
    const list = vi.fn(() => ["go"]);
    class Seen {
      get text() {
        return "x";
      }
      get anchor() {
        return "x";
      }
      get info() {
        return {};
      }
      get admissible() {
        return list();
      }
    }
    const observation = checkedObservation("w", new Seen(), "reset()");
    expect(list).not.toHaveBeenCalled();
    expect([observation.admissible, observation.admissible]).toEqual([["go"], ["go"]]);
    expect(list).toHaveBeenCalledTimes(1);
  });

  it.each([
    [{ reward: 1e6 }, true],
    [{ reward: -1e6 - 1 }, false],
    [{ score: 1 + 1e-12 }, true],
    [{ score: -1e-3 }, false],
    [{ won: true, done: true }, true],
    [{ won: true, done: true, lost: true }, false],
    [{ observation: { ...seen, text: "x".repeat(200_001) } }, false],
    [{ observation: { ...seen, instruction: 7 } }, false],
  ])("is held to its bounds: %#", (part, isRight) => {
    const check = () => checkedResult("w", { ...result, ...part });
    if (isRight) expect(check()).toMatchObject(part);
    else expect(check).toThrow(/^w: step\(\) gave/);
  });

  it("says what was thrown, whatever it was", () => {
    expect(messageOf(new Error("x".repeat(5000))).length).toBeLessThan(1100);
    expect(messageOf("words")).toBe("words");
    expect(messageOf(undefined)).toBe("undefined was thrown");
    expect(messageOf(Symbol("x"))).toBe("Symbol(x) was thrown");
    expect(messageOf(Object.create(null))).toMatch(/cannot be shown/);
  });
});

describe("a world that was opened", () => {
  const task: Task = { environment: "odd", split: "train", id: "1" };
  const world: World = {
    name: "odd",
    splits: ["train"],
    tasks: () => taskList("odd", "train", [task]),
    environment: () => ({}) as Environment,
  };
  const opened = (open: () => unknown, seconds = 0.1) =>
    openWorld(
      defineWorld({
        ...{ name: "odd", summary: "", maximumSteps: 1, options: {} },
        open: open as () => World,
      }),
      {},
      seconds,
    );

  it.each([
    [
      "never opens",
      () => never,
      /odd: open\(\) did not answer within 0\.1 s \(env\.open_seconds\)/,
    ],
    ["throws", () => Promise.reject(new TypeError("no data")), /odd: open\(\) failed: no data/],
    ["is nothing", () => undefined, /odd: open\(\) gave undefined, expected a world/],
    ["has no splits", () => ({ ...world, splits: [] }), /without splits/],
    ["has no environments", () => ({ ...world, environment: 1 }), /without environment\(\)/],
  ])("is a world, or an error: it %s", async (_, open, message) => {
    await expect(opened(open)).rejects.toThrow(message);
  });

  it.each([
    ["hang", () => never, /odd: tasks\(\) did not answer within 0\.1 s/],
    ["are nothing", () => null, /expected a task set/],
    ["are half a task", () => ({ length: 0.5, task: () => task }), /of length 0\.5/],
  ])("has tasks, or an error: they %s", async (_, tasks, message) => {
    const { tasks: all } = await opened(() => ({ ...world, tasks }));
    await expect((async () => all("train"))()).rejects.toThrow(message);
  });

  it.each([
    ["is missing (its length lied)", () => undefined, /task 0 .* is undefined, expected a task/],
    ["throws", () => JSON.parse("{"), /task 0 of the split "train" cannot be made/],
    ["has no id", () => ({ ...task, id: 7 }), /has the id 7, expected a text/],
    [
      "has functions",
      () => ({ ...task, data: { f: () => {} } }),
      /cannot be stored: expected what/,
    ],
    ["has a large number", () => ({ ...task, data: 10n }), /cannot be stored/],
  ])("has a task, or an error: it %s", async (_, make, message) => {
    const set = {
      environment: "odd",
      split: "train",
      length: 1,
      task: make,
      type: () => undefined,
    };
    const { tasks } = await opened(() => ({ ...world, tasks: () => set }));
    const given = await tasks("train");
    expect(() => given.task(0)).toThrow(message);
  });

  it("keeps its tasks as they were given, with fields of its own, and without promises", async () => {
    const own = { ...task, data: { deep: [1] }, extra: "kept" };
    const { tasks } = await opened(() => ({
      ...world,
      tasks: () => taskList("odd", "train", [own]),
    }));
    const set = tasks("train");
    expect(set).not.toBeInstanceOf(Promise);
    expect((await set).task(0)).toEqual(own);
  });

  it("is closed quietly for a command: what cannot end is told", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const definition = defineWorld({
      ...{ name: "odd", summary: "", maximumSteps: 1, options: {} },
      open: () => ({ ...world, close: () => Promise.reject(new Error("stuck")) }),
    });
    const placed = await placeWorld(definition, {});
    const listeners = process.listenerCount("uncaughtException");
    await placed.world.close!();
    expect(process.listenerCount("uncaughtException")).toBe(listeners - 1);
    expect(warned.mock.calls[0]![0]).toMatch(/was not closed: odd: close\(\) failed: stuck/);
    warned.mockRestore();
  });

  it("answers somebody who plays by hand in time", async () => {
    const environment: Environment = { reset: () => never, step: () => 7 as never };
    const bounded = boundedEnvironment("odd", environment, soon);
    await expect(bounded.reset(task)).rejects.toThrow("odd: reset() did not answer within 0.05 s");
    expect(() => bounded.step("x")).toThrow(/odd: step\(\) gave 7/);
  });
});
