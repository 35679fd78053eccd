/**
 * @file Worlds in processes of their own: played like any other, and whatever they do to their process, ours
 * goes on.
 */
import { existsSync } from "node:fs";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type DistantExpert,
  EnvironmentError,
  expertsOf,
  type Observation,
  type OpenIsolatedOptions,
  openIsolatedWorld,
  openWorld,
  placeWorld,
  type Task,
  type World,
} from "../../src/environments/index.ts";
import { variablesFor } from "../../src/environments/isolated/options.ts";
import { showOutput } from "../../src/environments/isolated/output.ts";
import { startScript } from "../training/support/processes.ts";

const FILE = fileURLToPath(new URL("./isolated-world.ts", import.meta.url));
const ORPHANS = fileURLToPath(new URL("./isolated-orphans.ts", import.meta.url));

async function isolated(
  kind = "well",
  isolate: Partial<OpenIsolatedOptions["isolate"]> = {},
): Promise<World> {
  const options = { options: { kind }, isolate: { processes: 1, ...isolate } };
  const { world } = await openIsolatedWorld(FILE, options);
  onTestFinished(() => world.close?.());
  return world;
}

/** Everything that is seen in an episode. */
async function played(world: World, task: Task, expert: DistantExpert): Promise<unknown[]> {
  const environment = world.environment();
  let observation: Observation = await environment.reset(task);
  const facts = ({ text, anchor, instruction, admissible, info }: Observation) => ({
    ...{ text, anchor, instruction, admissible, info },
  });
  const seen: unknown[] = [facts(observation)];
  for (let step = 0; step < 40; step++) {
    const action = await expert.act(observation);
    const result = await environment.step(action);
    seen.push(action, expert.thought?.(), { ...result, observation: facts(result.observation) });
    if (result.done) break;
    observation = result.observation;
  }
  await environment.close?.();
  return seen;
}

describe("a world in processes of its own", () => {
  it.each([
    ["a built-in one", "household", { games: 8, difficulty: "easy", seed: 3 }],
    ["one with a search", "webshop", { products: 200 }],
    ["a file", FILE, {}],
  ])("is the world that it is here: %s", { timeout: 120_000 }, async (_, name, options) => {
    const here = await openWorld(name, options);
    const { definition, world } = await openIsolatedWorld(name, {
      options,
      isolate: { processes: 2 },
    });
    onTestFinished(() => world.close?.());
    expect([world.name, world.source, world.splits, world.tools]).toEqual([
      ...[here.name, here.source, here.splits, here.tools],
    ]);
    expect(definition).toMatchObject({ name: here.name, maximumSteps: expect.any(Number) });
    for (const split of here.splits) {
      const [ours, theirs] = [await here.tasks(split), await world.tasks(split)];
      expect(theirs.length).toBe(ours.length);
      for (let i = 0; i < Math.min(3, ours.length); i++) {
        expect(theirs.task(i)).toEqual(ours.task(i));
        expect(theirs.type(i)).toBe(ours.type(i));
        const task = ours.task(i);
        expect(await world.solution?.(task)).toEqual(await here.solution?.(task));
        expect(await played(world, task, expertsOf(world)!(i))).toEqual(
          await played(here, task, expertsOf(here)!(i)),
        );
      }
      expect(() => theirs.task(ours.length)).toThrow(/has no task/);
    }
    await expect(world.tasks("nowhere")).rejects.toThrow(/there is no split "nowhere"/);
  });

  it("ends with its close, and a step before a reset is refused as here", async () => {
    const { world } = await openIsolatedWorld(FILE, { isolate: { processes: 1 } });
    const environment = world.environment();
    await expect(environment.step("x")).rejects.toThrow(/step\(\) before reset\(\)/);
    const tasks = await world.tasks("train");
    await environment.reset(tasks.task(0));
    await world.close!();
    await expect(environment.step("say 1")).rejects.toThrow(/has ended: its world is closed/);
    await expect(world.environment().reset(tasks.task(0))).rejects.toThrow(/the world is closed/);
  });

  it("must have a name: an object of this program cannot be sent", async () => {
    const object = { name: "mine", summary: "", maximumSteps: 1, options: {}, open: () => null! };
    await expect(placeWorld(object, {}, { isolate: { processes: 1 } })).rejects.toThrow(
      /mine: it is an object of this program.*give the file that exports it/,
    );
    const opened = openIsolatedWorld("mine", { isolate: { processes: 1 } });
    await expect(opened).rejects.toThrow(/there is no world of this name/);
  });

  it("has an expert whose answers are checked", async () => {
    const world = await isolated();
    const task = (await world.tasks("train")).task(0);
    const first = await world.environment().reset(task);
    await expect(expertsOf(world)!(13).act(first)).rejects.toThrow(/its expert gave 13/);
    const expert = expertsOf(world)!(1);
    expect(await expert.act(first)).toBe("say 1");
    expert.acted!("drop");
    expect(await expert.act(first)).toBe("say 1");
  });
});

describe("a world that harms its process", () => {
  it.each([
    ["exits when opened", /its process has ended: exit code 3/],
    ["throws when opened", /open\(\) failed: no data/],
  ])("%s cannot be opened, and says why", async (kind, reason) => {
    await expect(isolated(kind)).rejects.toThrow(reason);
  });

  it("freezes when opened: it is ended when its time is over", async () => {
    const options = { options: { kind: "freezes when opened" }, seconds: 3 };
    const begun = performance.now();
    const opening = openIsolatedWorld(FILE, { ...options, isolate: { processes: 2 } });
    await expect(opening).rejects.toThrow(/open\(\) did not answer within 3 s/);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it("is not started for ever where it only dies", { timeout: 120_000 }, async () => {
    const world = await isolated("exits when begun");
    const task = (await world.tasks("train")).task(0);
    const reasons: string[] = [];
    for (let i = 0; i < 8; i++)
      await Promise.resolve(world.environment().reset(task)).catch((error: Error) =>
        reasons.push(error.message),
      );
    expect(reasons[0]).toMatch(/counting: its process has ended: exit code 4/);
    expect(reasons.at(-1)).toMatch(/ended 6 times without doing anything.*exit code 4/);
  });

  it("freezes: the one who did it is blamed, and the others are not", async () => {
    const world = await isolated("freezes when begun", { stepSeconds: 1 });
    const task = (await world.tasks("train")).task(0);
    const results = await Promise.allSettled(
      [1, 2, 3].map(async () => world.environment().reset(task)),
    );
    const errors = results.map((result) => (result as PromiseRejectedResult).reason);
    for (const error of errors) expect(error).toBeInstanceOf(EnvironmentError);
    expect(errors.map(({ blameless }) => blameless)).toEqual([false, true, true]);
    expect(errors[0].message).toMatch(/it was frozen, and was ended/);
  });

  it("talks nonsense: blamed is who began last, even if that is heard later", async () => {
    const world = await isolated("hangs, then talks nonsense");
    const task = (await world.tasks("train")).task(0);
    const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    const reset = async () => world.environment().reset(task);
    const innocent = reset().catch((error) => error);
    await new Promise((resolve) => setTimeout(resolve, 300));
    // An answer is there, then the mark, then the nonsense; the pipe with the answer is read first, and to its end.
    const answer = Promise.resolve(world.solution!(task)).catch(() => {});
    sleep(300);
    const guilty = reset().catch((error) => error);
    for (let i = 0; i < 20; i++) await undefined;
    sleep(500);
    await answer;
    expect(await innocent).toMatchObject({ blameless: true });
    expect(await guilty).toMatchObject({
      blameless: false,
      message: expect.stringMatching(/it said something/),
    });
  });

  it("has no more memory than it was given", { timeout: 120_000 }, async () => {
    const world = await isolated("eats memory", { memory: 64 });
    const task = (await world.tasks("train")).task(0);
    const reset = Promise.resolve(world.environment().reset(task));
    await expect(reset).rejects.toThrow(/its process has ended: SIGABRT.*isolate_memory_mb/);
  });

  it("is not told secrets, but for those that it is to know", async () => {
    process.env.OPENMANUS_TEST_API_KEY = "secret";
    process.env.OPENMANUS_TEST_TOKEN = "secret";
    onTestFinished(() => {
      delete process.env.OPENMANUS_TEST_API_KEY;
      delete process.env.OPENMANUS_TEST_TOKEN;
    });
    const world = await isolated("shows its variables", { variables: ["OPENMANUS_TEST_TOKEN"] });
    const { text } = await world.environment().reset((await world.tasks("train")).task(0));
    expect(text.split(" ")).toContain("OPENMANUS_TEST_TOKEN");
    expect(text.split(" ")).toContain("PATH");
    expect(text).not.toMatch(/OPENMANUS_TEST_API_KEY/);
    const all = {
      AWS_SECRET_ACCESS_KEY: "x",
      hf_token: "x",
      DB_PASSWORD: "x",
      ALFWORLD_DATA: "/x",
    };
    expect(variablesFor({ processes: 1 }, all)).toEqual({ ALFWORLD_DATA: "/x" });
  });
});

it("a program that is killed takes its worlds along, frozen ones too", {
  timeout: 60_000,
}, async () => {
  let children: string[] = [];
  const { child, ended } = startScript(ORPHANS, [FILE], (line) => {
    if (!line.startsWith("children ")) return;
    children = line.split(" ").slice(1);
    child.kill("SIGKILL");
  });
  await ended;
  expect(children).toHaveLength(2);
  const alive = () => children.filter((id) => existsSync(`/proc/${id}`));
  for (let wait = 0; wait < 300 && alive().length > 0; wait++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  expect(alive()).toEqual([]);
});

it("what a world prints is shown line by line, without control characters or end", () => {
  const lines: string[] = [];
  const stream = new PassThrough();
  showOutput(
    () => "mine",
    [stream],
    (line) => lines.push(line),
  );
  stream.write("one\n\u001b[2Jtwo\u0007\nth");
  stream.write(`ree\n${"x".repeat(10_000)}\n`);
  for (let i = 0; i < 1000; i++) stream.write("again\n");
  return new Promise<void>((resolve) =>
    setImmediate(() => {
      expect(lines.slice(0, 3)).toEqual(["[mine] one", "[mine] [2Jtwo", "[mine] three"]);
      expect(lines[3]!.length).toBeLessThan(1100);
      expect(lines).toHaveLength(200);
      resolve();
    }),
  );
});
