/**
 * @file Scripted experts through the real loop win exactly as often as without it, in every format and
 * both contexts, in every world that has an expert and needs no download.
 */
import { describe, expect, it } from "vitest";
import { createAgent, FORMAT_NAMES } from "../../src/agents/index.ts";
import { findWorld, openWorld, type Task, type World } from "../../src/environments/index.ts";
import { collect, isWellFormed, scriptedPolicy } from "../../src/rollout/index.ts";
import { newModelFolder, openChat, tasksOf, temporaryFolder } from "./support.ts";

const chat = openChat(newModelFolder(temporaryFolder()));

const WORLDS: [name: string, tasks: number, options: Record<string, unknown>][] = [
  ["household", 12, {}],
  ["alfworld", 4, { data: "builtin" }],
  ["maze", 12, {}],
  ["wordle", 8, {}],
  ["textcraft", 8, {}],
  ["webshop", 6, {}],
  ["tools", 6, {}],
];

/** The expert alone with the world: rewards of its episodes. */
async function alone(world: World, tasks: readonly Task[], turns: number): Promise<number[]> {
  const rewards: number[] = [];
  for (const task of tasks) {
    const environment = world.environment();
    const expert = world.expert!(1);
    let observation = await environment.reset(task);
    let reward = 0;
    for (let turn = 0; turn < turns; turn++) {
      const result = await environment.step(expert.act(observation));
      reward += result.reward;
      if (result.done) break;
      observation = result.observation;
    }
    rewards.push(reward);
  }
  return rewards;
}

describe.each(WORLDS)("%s", (name, count, options) => {
  it("is won as often in every format and context", async () => {
    const definition = await findWorld(name);
    const world = await openWorld(definition, options);
    const tasks = await tasksOf(world, count);
    const turns = definition.maximumSteps;
    const about = { name, summary: definition.summary, tools: world.tools };
    const expected = await alone(world, tasks, turns);
    expect(expected.filter((reward) => reward > 0).length).toBeGreaterThan(count / 2);
    for (const format of FORMAT_NAMES)
      for (const context of ["conversation", "steps"] as const) {
        const agent = createAgent({ format, context });
        const policy = scriptedPolicy({
          chat,
          format: agent.format,
          expert: () => world.expert!(1),
        });
        const limits = { turns };
        const { all, account } = await collect({
          ...{ world, about, agent, policy, limits, tasks, seed: 1 },
        });
        const place = `${format}, ${context}`;
        expect(account.errors, place).toEqual([]);
        expect(
          all.map(({ reward }) => reward),
          place,
        ).toEqual(expected);
        expect(all.flatMap((episode) => episode.turns).every(isWellFormed), place).toBe(true);
      }
    await world.close?.();
  });
});
