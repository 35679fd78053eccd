/**
 * @file Trains one of the agents here with a model from nothing, and says what reinforcement learning alone brought:
 *
 *   node --import tsx train.ts ai-sdk
 */
import { resolve } from "node:path";
import { successReport, train } from "openmanus-rl";

const name = process.argv[2] ?? "ai-sdk";
const folder = process.argv[3] ?? `runs/${name}`;

/** The form is learned from everything that is said, in small batches. */
const EVERYTHING = {
  model: { preset: "tiny" },
  warmStart: { episodes: 800, epochs: 8 },
  ...{ learningRate: 5e-4, iterations: 60, tasks: 16 },
} as const;

/** From the replies alone, in larger batches, by heads that begin with looking at equal tokens: names are copied sooner. */
const REPLIES = {
  model: { preset: "tiny", matching: true, tasks: 100 },
  warmStart: { episodes: 400, epochs: 18, allTokens: false, batchSize: 16 },
  ...{ learningRate: 1e-3, iterations: 24, tasks: 8 },
} as const;

const recipe = ["langgraph", "openai-agents"].includes(name) ? REPLIES : EVERYTHING;

const run = await train({
  world: resolve(import.meta.dirname, `${name}.ts`),
  ...recipe,
  iterations: Number(process.env.ITERATIONS ?? recipe.iterations),
  agent: { replyTokens: 48 },
  algorithm: "grpo",
  // As agents usually draw: what is certain only at a low temperature is not learned yet.
  validation: { temperature: 1 },
  folder,
});
const { table, against, comparison } = await run.evaluate({ against: "start", temperature: 1 });
console.log(`before\n${successReport(against.table)}\n\nafter\n${successReport(table)}\n`);
console.log(`p = ${comparison.pValue.toPrecision(1)}, ${run.report}`);
