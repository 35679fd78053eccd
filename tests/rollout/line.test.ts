/**
 * @file Lines: an episode that is gone on with from its middle, in a clone or by its actions again.
 */
import { describe, expect, it } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import {
  defineEnvironment,
  type Environment,
  openWorld,
  type World,
} from "../../src/environments/index.ts";
import { createEngine } from "../../src/generation/index.ts";
import { type Line, modelPolicy } from "../../src/rollout/index.ts";
import { createLine } from "../../src/rollout/line.ts";
import { worldCalls } from "../../src/rollout/world-calls.ts";
import { newModelFolder, openTinyModel, tasksOf, temporaryFolder } from "./support.ts";

/** Nobody wins or loses: every episode goes on to its last turn. */
const walking = defineEnvironment({
  name: "walking",
  summary: "walk about",
  maximumSteps: 8,
  splits: { train: 1 },
  start: () => 0,
  intro: () => ({ text: "You are at 0.", instruction: "walk" }),
  actions: () => ["left", "right"],
  act: (place, action) => {
    const next = place + (action === "left" ? -1 : 1);
    return { text: `You are at ${next}.`, state: next };
  },
});

const tiny = openTinyModel(newModelFolder(temporaryFolder()));

/** A line of a model that says admissible things, in both contexts. */
async function newLine(world: World, context: "conversation" | "steps", environment: Environment) {
  const engine = createEngine(tiny.model, { tokenizer: tiny.chat.tokenizer });
  const agent = createAgent({ context });
  const policy = modelPolicy({
    generator: engine,
    chat: tiny.chat,
    contextLength: 2048,
    sampling: { maximumTokens: 12, temperature: 1 },
    constrain: agent.format,
  });
  const [task] = await tasksOf(world, 1);
  const about = { name: world.name, summary: "a small world" };
  const calls = worldCalls(world.name, { seconds: 60 }, new AbortController().signal, {
    fault: () => {},
  });
  const line = createLine({
    ...{ id: "line", task: task!, environment, about, agent, policy, calls },
    limits: { turns: 8 },
  });
  return { line, engine };
}

/** What was drawn and what came of it, without times. */
const played = ({ turns, score, status, lastText }: Line) => ({
  turns: turns.map(({ seconds: _, ...turn }) => turn),
  ...{ score, status, lastText },
});

const withoutClone = ({ reset, step, ...rest }: Environment): Environment => {
  const { clone: _, ...other } = rest;
  return { ...other, reset, step };
};

describe.each(["conversation", "steps"] as const)("a line, forked (context %s)", (context) => {
  it.each(["a clone", "its actions again"])("goes on as it does itself, by %s", async (way) => {
    const world = await openWorld(walking);
    const fresh = () =>
      way === "a clone" ? world.environment() : withoutClone(world.environment());
    const { line, engine } = await newLine(world, context, fresh());
    await line.begin();
    for (let i = 0; i < 2; i++) await line.play(BigInt(i));
    expect(line.status).toBeUndefined();
    const fork = await line.fork("fork", fresh);
    const other = await line.fork("other", fresh);
    expect(played(fork)).toEqual(played(line));

    await fork.play(7n);
    await line.play(7n);
    expect(played(fork)).toEqual(played(line));
    // What one does, no other sees.
    await other.play(9n);
    expect(other.turns.slice(0, 2)).toEqual(line.turns.slice(0, 2));
    expect(line.turns).toHaveLength(3);
    let status = line.status;
    for (let i = 10n; !status; i++) {
      status = await line.play(i);
      expect(await fork.play(i)).toBe(status);
    }
    expect(played(fork)).toEqual(played(line));
    await expect(line.fork("late", fresh)).rejects.toThrow("has ended");
    engine.close();
  });
});

it("a world in which the same actions do something else is refused", async () => {
  let resets = 0;
  const fickle = defineEnvironment({
    name: "fickle",
    summary: "never the same",
    maximumSteps: 8,
    splits: { train: 1 },
    start: () => ({ time: ++resets }),
    intro: ({ time }) => ({ text: `It is ${time} o'clock.`, instruction: "wait" }),
    actions: () => ["wait"],
    act: (state) => ({ text: "You wait.", state }),
  });
  const world = await openWorld(fickle);
  const fresh = () => withoutClone(world.environment());
  const { line, engine } = await newLine(world, "conversation", fresh());
  await line.begin();
  await line.play(1n);
  await expect(line.fork("fork", fresh)).rejects.toThrow(
    "fickle: the same actions did not lead to the same observations",
  );
  engine.close();
});
