/**
 * @file A real pretrained language model (SmolLM2, 135 million parameters) gets better at a task, by reinforcement
 * learning alone: what it is shown of the form are examples in its prompt.
 *
 *   npx tsx train.ts [larger|keys] [--shuffled]
 *
 * --shuffled is the control: each episode gets the reward of another one of its group, so there is nothing to learn.
 */
import {
  fetchPublished,
  PUBLISHED_MODELS,
  rewardFunction,
  seededRandom,
  successReport,
  train,
} from "openmanus-rl";
import keys from "./keys.ts";
import larger from "./larger.ts";

const TASKS = {
  // One answer, free generation, all weights.
  larger: {
    world: larger,
    agent: { examples: 4, replyTokens: 8 },
    ...{ tasks: 16, learningRate: 2e-5, iterations: 40 },
  },
  // Several turns, constrained to what can be done there, adapters (LoRA).
  keys: {
    world: keys,
    agent: { examples: 1, showAdmissible: false, replyTokens: 12 },
    constrain: true,
    ...{ tasks: 8, learningRate: 2e-4, iterations: 30 },
    settings: { actor_rollout_ref: { model: { lora_rank: 16, lora_alpha: 32 } } },
  },
} as const;

const [name = "larger"] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
if (!Object.hasOwn(TASKS, name))
  throw new Error(`There is no task ${name}; there are ${Object.keys(TASKS).join(", ")}.`);
const isShuffled = process.argv.includes("--shuffled");
const shuffled = rewardFunction("shuffled", 1, ({ trajectory, group }) => {
  const order = seededRandom("shuffled", trajectory.group).shuffled(group);
  return order[group.indexOf(trajectory)]!.reward;
});

const { folder: model } = await fetchPublished(PUBLISHED_MODELS.smollm2!, undefined, {
  onProgress: (doing, done) => done === undefined && console.log(`${doing} …`),
});
const run = await train({
  ...TASKS[name as keyof typeof TASKS],
  model,
  algorithm: "grpo",
  groupSize: 8,
  validation: { every: 10, tasks: 200, split: "test", temperature: 0 },
  folder: `runs/pretrained-${name}${isShuffled ? "-shuffled" : ""}`,
  ...(isShuffled && { rewards: [shuffled] }),
});
const { table, against, comparison } = await run.evaluate({ against: "start" });
console.log(`before\n${successReport(against.table)}\n\nafter\n${successReport(table)}\n`);
console.log(`p = ${comparison.pValue.toPrecision(1)}, best ${run.best?.folder}, ${run.report}`);
