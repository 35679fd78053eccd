/**
 * @file A reply format and a reward of one's own, tried on the household's expert.
 *
 * Try it:  node --import tsx examples/own-reward/reward.ts
 */
import { createAgent, defineFormat } from "../../src/agents/index.ts"; // yours: "openmanus-rl/agents"
import { findWorld, openWorld } from "../../src/environments/index.ts";
import { byteChat } from "../../src/models/index.ts";
import { composeGroup, goal, rewardComposer, rewardFunction } from "../../src/rewards/index.ts";
import { collect, scriptedPolicy } from "../../src/rollout/index.ts";

/** The prompt's instruction, the parser and what experts write all follow from the fields. */
export const doubtful = defineFormat({
  name: "doubtful",
  style: "tags",
  fields: [
    { name: "doubt", about: "what could go wrong", optional: true },
    { name: "action", about: "exactly one action" },
  ],
});

/** One number for each turn: looking again at what was seen in the turn before is a waste. */
export const noLooking = rewardFunction("no_looking", 0.5, ({ trajectory }) =>
  trajectory.turns.map(({ action }) => (action === "look" ? -1 : 0)),
);

/** Goal and thrift together, for some tasks: what a trainer would train on. */
export async function scoreExperts(count: number): Promise<Record<string, number>[]> {
  const definition = await findWorld("household");
  const world = await openWorld(definition);
  const tasks = await world.tasks("train");
  const agent = createAgent({ format: doubtful });
  const expert = () => world.expert!(1);
  const { groups } = await collect({
    world,
    about: definition,
    agent,
    policy: scriptedPolicy({ chat: byteChat(), format: doubtful, expert }),
    limits: { turns: definition.maximumSteps },
    tasks: Array.from({ length: count }, (_, i) => tasks.task(i)),
    seed: 1,
  });
  const composer = rewardComposer([goal(1), noLooking]);
  const scored: Record<string, number>[] = [];
  for (const { trajectories } of groups) {
    const maximumTurns = definition.maximumSteps;
    const { rewards, errors } = await composeGroup(composer, trajectories, { maximumTurns });
    if (errors.length > 0) throw errors[0];
    for (const { total, breakdown } of rewards.values()) scored.push({ total, ...breakdown });
  }
  return scored;
}

if (import.meta.url === new URL(process.argv[1] ?? "", "file:").href)
  console.table(await scoreExperts(5));
