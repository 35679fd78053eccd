/**
 * @file The interface of all worlds: registry, options, task sets, defineEnvironment.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import ownWorld from "../../examples/own/world.ts";
import {
  checkOptions,
  defineEnvironment,
  EnvironmentError,
  findWorld,
  type LocalEnvironment,
  openWorld,
  registerWorld,
  seededRandom,
  taskList,
  type World,
  worldDefinitions,
} from "../../src/environments/index.ts";

describe("the registry", () => {
  it("knows the documents' names and short ones, whatever their case", async () => {
    const byName = await findWorld("alfworld/AlfredTWEnv");
    expect(byName.name).toBe("alfworld");
    expect(await findWorld("ALFWORLD")).toBe(byName);
    expect(await findWorld("alfworld/alfredtwenv")).toBe(byName);
    expect(byName.maximumSteps).toBe(50);
  });

  it("says what is nearest to an unknown name", async () => {
    await expect(findWorld("alfwrld")).rejects.toThrow(/did you mean "alfworld"/);
    await expect(findWorld("x".repeat(1e6))).rejects.toThrow(EnvironmentError);
    await expect(findWorld("__proto__")).rejects.toThrow(EnvironmentError);
    await expect(findWorld("./no-such-world.ts")).rejects.toThrow(/there is no file/);
  });

  it("takes a user's world from its file", async () => {
    expect(await findWorld("./examples/own/world.ts")).toMatchObject({
      name: "higher-or-lower",
    });
    await expect(findWorld("./vitest.config.ts")).rejects.toThrow(/must export one world/);
  });

  it("does not give a name away twice", () => {
    registerWorld(ownWorld);
    registerWorld(ownWorld);
    expect(worldDefinitions()).toContain(ownWorld);
    const thief = { ...ownWorld, name: "thief", aliases: ["ALFWorld"] };
    expect(() => registerWorld(thief)).toThrow(/already belongs to the world "alfworld"/);
  });
});

describe("options", () => {
  const table = {
    size: { kind: "number", integer: true, minimum: 1, maximum: 9, default: 3, about: "" },
    mode: { kind: "text", choices: ["a", "b"], about: "" },
    deep: { kind: "boolean", default: false, about: "" },
    kinds: { kind: "list", choices: ["x", "y"], about: "" },
  } as const;
  const check = (given: Record<string, unknown>) => checkOptions("w", table, given);

  it("have defaults, and are understood from texts", () => {
    expect(check({})).toEqual({ size: 3, mode: undefined, deep: false, kinds: undefined });
    expect(check({ size: "7", mode: "b", deep: "true", kinds: "x, y" })).toEqual({
      ...{ size: 7, mode: "b", deep: true, kinds: ["x", "y"] },
    });
  });

  it.each([
    [{ sise: 3 }, /no option "sise"; did you mean "size"/],
    [{ size: 0 }, /"size" must be a whole number, at least 1, at most 9, not 0/],
    [{ size: 2.5 }, /must be a whole number/],
    [{ size: "" }, /must be a whole number/],
    [{ size: Number.NaN }, /must be a whole number/],
    [{ mode: "c" }, /must be one of a, b, not "c"/],
    [{ mode: 1 }, /must be a text/],
    [{ deep: 1 }, /must be true or false/],
    [{ kinds: ["z"] }, /cannot hold "z"/],
    [{ kinds: [1] }, /must be a list of texts/],
    [{ constructor: 1 }, /no option "constructor"/],
  ])("are refused with the reason: %j", (given, message) => {
    expect(() => check(given as Record<string, unknown>)).toThrow(message);
    expect(() => check(given as Record<string, unknown>)).toThrow(EnvironmentError);
  });
});

describe("task sets", () => {
  it("refuse indices that they do not have", () => {
    const set = taskList("w", "train", [{ environment: "w", split: "train", id: "a", type: "t" }]);
    expect(set.task(0).id).toBe("a");
    expect(set.type(0)).toBe("t");
    for (const index of [-1, 1, 0.5, Number.NaN])
      expect(() => set.task(index)).toThrow(/indices are 0 to 0/);
  });
});

describe("random numbers", () => {
  it("are the same for the same seed, spread evenly, and independent by name", () => {
    const draw = (...seed: (string | number)[]) => {
      const random = seededRandom(...seed);
      return Array.from({ length: 10_000 }, () => random.integer(10));
    };
    expect(draw("a", 1)).toEqual(draw("a", 1));
    expect(draw("a", 1)).not.toEqual(draw("a", 2));
    const counts = new Array<number>(10).fill(0);
    for (const digit of draw("even")) counts[digit]!++;
    // Ten classes of 1000 each: a deviation of 150 has a probability below 1e-5.
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
    const [one, other] = [draw("x", 1), draw("x", 2)];
    const equal = one.filter((digit, i) => digit === other[i]).length;
    expect(Math.abs(equal - 1000)).toBeLessThan(150);
  });
});

const local = async (): Promise<World<LocalEnvironment>> =>
  (await openWorld(ownWorld)) as World<LocalEnvironment>;

describe("a world made with defineEnvironment", () => {
  it("is played, and its solution wins", async () => {
    const world = await local();
    const environment = world.environment();
    const tasks = await world.tasks("train");
    expect(tasks.length).toBe(1000);
    for (let i = 0; i < 20; i++) {
      const task = tasks.task(i);
      expect(environment.reset(task).text).toMatch(/Which is it/);
      const [secret] = (await world.solution!(task))!;
      expect(environment.step("nonsense")).toMatchObject({ admissible: false, done: false });
      const end = environment.step(secret!);
      expect(end).toMatchObject({ won: true, done: true, reward: 10, score: 1 });
      expect(environment.step("1")).toEqual({ ...end, reward: 0 });
    }
  });

  it("copies: what one does, the other does not see", async () => {
    const world = await local();
    const environment = world.environment();
    const task = (await world.tasks("test")).task(3);
    environment.reset(task);
    const [secret] = (await world.solution!(task))!;
    const copy = environment.clone();
    expect(copy.step(secret!).won).toBe(true);
    expect(environment.step("0").done).toBe(false);
    expect(environment.step(secret!).won).toBe(true);
  });

  it("survives any action", async () => {
    const world = await local();
    const environment = world.environment();
    environment.reset((await world.tasks("train")).task(0));
    fc.assert(
      fc.property(fc.string({ maxLength: 50 }), (action) => {
        expect(typeof environment.step(action).observation.text).toBe("string");
      }),
    );
  });

  it("says which of its functions failed", async () => {
    const broken = defineEnvironment({
      name: "broken",
      summary: "",
      maximumSteps: 1,
      splits: { train: 1 },
      start: () => ({ count: 0 }),
      intro: () => "hello",
      act: () => {
        throw new RangeError("out of cheese");
      },
    });
    const world = (await openWorld(broken)) as World<LocalEnvironment>;
    const environment = world.environment();
    expect(() => environment.step("x")).toThrow(/step\(\) before reset\(\)/);
    environment.reset((await world.tasks("train")).task(0));
    expect(() => environment.step("x")).toThrow(/broken: its function act \("x"\) failed: out of/);
    expect(() => world.tasks("nowhere")).toThrow(/no split "nowhere"; there are train/);
  });

  it("lists actions only when asked, and its states cannot be changed", async () => {
    let asked = 0;
    const counter = defineEnvironment({
      name: "counter",
      summary: "",
      maximumSteps: 5,
      splits: { train: [{ id: "from-three", type: "easy", data: 3 }] },
      start: (task) => ({ at: task.data as number }),
      intro: ({ at }) => ({ text: String(at), instruction: "count" }),
      actions: ({ at }) => {
        asked++;
        return [`say ${at + 1}`];
      },
      act(state, action) {
        if (action === "cheat") (state as { at: number }).at = 99;
        const next = { at: state.at + 1 };
        return action === `say ${next.at}` ? { text: action, state: next } : { text: "no" };
      },
    });
    const world = (await openWorld(counter)) as World<LocalEnvironment>;
    const environment = world.environment();
    const tasks = await world.tasks("train");
    expect(tasks.type(0)).toBe("easy");
    const first = environment.reset(tasks.task(0));
    expect([first.text, first.instruction, asked]).toEqual(["3", "count", 0]);
    const second = environment.step("say 4");
    expect(second.admissible).toBe(true);
    expect(second.observation.admissible).toEqual(["say 5"]);
    // An observation is a snapshot: the first one still speaks of its own time.
    expect(first.admissible).toEqual(["say 4"]);
    expect(environment.step("say 9").admissible).toBe(false);
    expect(() => environment.step("cheat")).toThrow(/act .* failed/);
  });
});
