/**
 * @file Experts that make mistakes: what they do wrong does nothing, they go on and win, and what is learned are the
 * other turns; tried again, the same mistake comes in a row.
 */
import { describe, expect, it } from "vitest";
import { createAgent } from "../../src/agents/index.ts";
import { findWorld, openWorld } from "../../src/environments/index.ts";
import { collect, scriptedPolicy, type Trajectory } from "../../src/rollout/index.ts";
import { examplesOf } from "../../src/training/index.ts";
import { newModelFolder, openChat, tasksOf, temporaryFolder } from "./support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));

async function episodes(again: number): Promise<readonly Trajectory[]> {
  const definition = await findWorld("household");
  const world = await openWorld(definition, {});
  const agent = createAgent({ showAdmissible: false });
  const { all } = await collect({
    ...{ world, agent, seed: 3, concurrency: 1, limits: { turns: 60 } },
    about: { name: "household", summary: definition.summary, tools: world.tools },
    policy: scriptedPolicy({
      ...{ chat, format: agent.format, expert: () => world.expert!(1) },
      mistakes: { share: 0.3, seed: 5, repeat: again },
    }),
    tasks: await tasksOf(world, 12),
  });
  return all;
}

/** How many mistakes stand right behind the same one. */
function repeated(all: readonly Trajectory[]): number {
  return all.flatMap(({ turns }) =>
    turns.filter(
      ({ action, admissible }, i) =>
        admissible === false &&
        turns[i - 1]?.admissible === false &&
        turns[i - 1]?.action === action,
    ),
  ).length;
}

describe("an expert that makes mistakes", () => {
  it.each([0, 0.7])("goes on and wins, with %s to try the same again", async (again) => {
    const all = await episodes(again);
    expect(all.every(({ won }) => won)).toBe(true);
    const mistakes = all.flatMap(({ turns }) => turns.filter((turn) => turn.admissible === false));
    expect(mistakes.length).toBeGreaterThan(10);
    if (again === 0) expect(repeated(all)).toBe(0);
    else expect(repeated(all)).toBeGreaterThan(mistakes.length / 3);
    for (const trajectory of all) {
      const [example] = examplesOf(trajectory);
      const learned = example!.mask.reduce((sum, value) => sum + value, 0);
      const right = trajectory.turns.filter((turn) => turn.admissible !== false);
      expect(learned).toBe(right.reduce((sum, { reply }) => sum + reply.ids.length, 0));
    }
  });
});
