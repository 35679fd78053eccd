/**
 * @file OpenEnv in both directions with the real package: its server played by our world `openenv`, our household
 * played by its generic client, and by TRL's GRPOTrainer where that is installed (OPENMANUS_TRL: a python with trl).
 */
import { join } from "node:path";
import { openWorld, serveOpenEnv, type World } from "../../../src/environments/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import { newModelFolder } from "../models.ts";
import { askPython, pythonWith, startPython } from "../own-python.ts";

const PACKAGE = "openenv-core==0.3.0";

const check: InteropCheck = {
  name: "openenv",
  async run(peers, place) {
    const python = pythonWith(join(peers.folder, "openenv"), [PACKAGE]);
    return [
      await played(python, "counting"),
      await played(python, "calling"),
      ...(await serving(python, place)),
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
async function serving(python: string, place: string): Promise<Finding[]> {
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
    const plays: Finding = {
      what: "the package's client plays our household",
      detail: `${texts} texts, openenv-core ${found.version}`,
      problem: problems.join("\n") || undefined,
    };
    return [plays, await trained(server.url, place)];
  } finally {
    await server.close();
    await world.close?.();
  }
}

/** A few steps of TRL, whose environment is a session at our server. */
async function trained(url: string, place: string): Promise<Finding> {
  const what = "TRL's GRPOTrainer trains in our household (environment_factory)";
  const python = process.env.OPENMANUS_TRL;
  if (!python)
    return {
      what,
      detail: "set OPENMANUS_TRL to a python with trl and openenv-core",
      skipped: true,
    };
  const model = newModelFolder(place, "qwen3");
  const found = await askPython<{ steps: number; calls: number; rewards: number; version: string }>(
    ...([python, "openenv_trl.py", place, { url, model }] as const),
  );
  return {
    what,
    detail: `${found.steps} steps, ${found.calls} actions at our server, trl ${found.version}`,
    problem: found.steps >= 2 && found.calls > 0 ? undefined : JSON.stringify(found),
  };
}

export default check;
