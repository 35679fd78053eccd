/**
 * @file OpenEnv in both directions with the real package: its server played by our world `openenv`, our household
 * played by its generic client, and by TRL's GRPOTrainer, which trains a model of ours in it.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openWorld, serveOpenEnv, type World } from "../../../src/environments/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import { initialModelFolder } from "../models.ts";
import { askPython, startPython } from "../own-python.ts";

/** The published games, where they are; otherwise TRL trains in the household, which is the same engine. */
const GAMES =
  process.env.ALFWORLD_DATA ||
  fileURLToPath(new URL("../../../../shared/data/alfworld/json_2.1.1.tar.xz", import.meta.url));
const STEPS = 3;
/** In which the model learns to call a tool at all; it is bad at it before some 80. */
const LESSONS = 200;
/** Minutes that TRL needs on two busy cores, its model and the games included. */
const LONGEST = 3;

const check: InteropCheck = {
  name: "openenv",
  async run(peers, place) {
    const { python } = peers;
    return [
      await played(python, "counting"),
      await played(python, "calling"),
      await serving(python, place),
      await trained(python, place),
    ];
  },
};

/** A server of the package, played by our client. */
async function played(python: string, name: "counting" | "calling"): Promise<Finding> {
  const { child, line } = await startPython(python, "openenv_serves.py", name);
  const problems: string[] = [];
  let count = 0;
  try {
    const world = await whenUp(`http://127.0.0.1:${line}`);
    const tasks = await world.tasks("train");
    const environments = [world.environment(), world.environment()];
    const expect = (what: string, found: unknown, expected: unknown): void => {
      count++;
      if (JSON.stringify(found) !== JSON.stringify(expected))
        problems.push(`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    };
    if (name === "calling") {
      expect(
        "the tools",
        world.tools?.map((tool) => tool.name),
        ["double"],
      );
      await environments[0]!.reset(tasks.task(0));
      const result = await environments[0]!.step('{"name":"double","arguments":{"number":21}}');
      expect("the call's result", result.observation.text.includes("42"), true);
    } else
      for (const [seed, environment] of environments.entries()) {
        const first = await environment.reset(tasks.task(seed));
        expect("the beginning", first.text, `Say ${seed}.`);
        expect("the actions", first.admissible, ["0", "1", "2"]);
        const wrong = await environment.step("7");
        expect(
          "a wrong step",
          [wrong.reward, wrong.done, wrong.observation.text],
          [0, false, "wrong"],
        );
        const right = await environment.step(String(seed));
        expect("a right step", [right.reward, right.done, right.won], [1, true, true]);
      }
    await world.close?.();
  } finally {
    child.kill("SIGKILL");
  }
  return {
    what: `our client plays the package's server (${name})`,
    detail: `${count} facts`,
    problem: problems.join("\n") || undefined,
  };
}

/** It says its port before it answers. */
async function whenUp(url: string): Promise<World> {
  for (let tries = 0; ; tries++)
    try {
      return await openWorld("openenv", { url, timeout: 30 });
    } catch (error) {
      if (tries >= 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
}

/** Our household, played by the package's client. */
async function serving(python: string, place: string): Promise<Finding> {
  const world = await openWorld("household");
  const server = await serveOpenEnv(world, { split: "train" });
  try {
    const tasks = await world.tasks("train");
    const solutions = await Promise.all(
      [0, 1, 2].map(async (index) => world.solution!(tasks.task(index))),
    );
    interface Played {
      readonly version: string;
      readonly refused: string | null;
      readonly episodes: { texts: string[]; reward: number; done: boolean; steps: number }[];
    }
    const found = await askPython<Played>(python, "openenv_plays.py", place, {
      ...{ url: server.url, solutions },
    });
    const problems: string[] = [];
    const environment = world.environment();
    let texts = 0;
    for (const [index, episode] of found.episodes.entries()) {
      const own = [(await environment.reset(tasks.task(index))).text];
      for (const action of solutions[index]!)
        own.push((await environment.step(action)).observation.text);
      texts += own.length;
      if (JSON.stringify(own) !== JSON.stringify(episode.texts))
        problems.push(`${index}: other texts`);
      if (episode.reward !== 10 || !episode.done) problems.push(`${index}: not won`);
      if (episode.steps !== own.length - 1) problems.push(`${index}: ${episode.steps} steps`);
    }
    if (!found.refused?.includes("VALIDATION_ERROR"))
      problems.push(`nonsense was answered with ${found.refused}`);
    return {
      what: "the package's client plays our household",
      detail: `${texts} texts, openenv-core ${found.version}`,
      problem: problems.join("\n") || undefined,
    };
  } finally {
    await server.close();
    await world.close?.();
  }
}

/** A few steps of TRL, whose environments are sessions at our server. Its model is one of ours. */
async function trained(python: string, place: string): Promise<Finding> {
  const name = existsSync(GAMES) ? "alfworld" : "household";
  const what = `TRL's GRPOTrainer trains in our ${name}`;
  const minutes = Number(process.env.OPENMANUS_INTEROP_MINUTES || Number.POSITIVE_INFINITY);
  if (process.uptime() / 60 + LONGEST > minutes)
    return { what, detail: `left out: it would end after ${minutes} minutes`, skipped: true };
  const world = await openWorld(name, name === "alfworld" ? { data: GAMES } : {});
  const split = world.splits.includes("valid_seen") ? "valid_seen" : world.splits[0]!;
  const server = await serveOpenEnv(world, { split });
  interface Trained {
    readonly version: string;
    readonly steps: number;
    readonly resets: number;
    readonly calls: number;
    readonly admissible: number;
    readonly texts: number;
    /** The loss of the last lesson before. */
    readonly lesson: number;
    /** How many of the weights' tensors training has changed. */
    readonly changed: number;
    readonly rewards: readonly number[];
    /** Of the lessons, and of TRL. */
    readonly seconds: readonly [number, number];
  }
  try {
    const model = initialModelFolder(place, "qwen3");
    const request = { url: server.url, model, lessons: LESSONS, steps: STEPS };
    const found = await askPython<Trained>(python, "openenv_trl.py", place, request);
    const { steps, resets, calls, admissible, texts, changed, rewards, version } = found;
    const fine =
      steps === STEPS && rewards.length === STEPS && changed > 0 && calls > 0 && texts > 1;
    return {
      what,
      detail: `${steps} steps, ${resets} episodes, ${calls} calls, ${admissible} admissible, trl ${version}`,
      problem: fine ? undefined : JSON.stringify(found),
    };
  } finally {
    await server.close();
    await world.close?.();
  }
}

export default check;
