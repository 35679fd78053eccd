/**
 * @file Trains one of the agents here with a model from nothing, and says what reinforcement learning alone brought:
 *
 *   node --import tsx train.ts ai-sdk
 */
import { resolve } from "node:path";
import { successReport, train } from "openmanus-rl";

const name = process.argv[2] ?? "ai-sdk";
const folder = process.argv[3] ?? `runs/${name}`;

const run = await train({
  world: resolve(import.meta.dirname, `${name}.ts`),
  model: { preset: "tiny" },
  warmStart: { episodes: 800, epochs: 8 },
  agent: { replyTokens: 48 },
  algorithm: "grpo",
  learningRate: 5e-4,
  iterations: Number(process.env.ITERATIONS ?? 60),
  // As agents usually draw: what is certain only at a low temperature is not learned yet.
  validation: { temperature: 1 },
  folder,
});
const { table, against, comparison } = await run.evaluate({ against: "start", temperature: 1 });
console.log(`before\n${successReport(against.table)}\n\nafter\n${successReport(table)}\n`);
console.log(`p = ${comparison.pValue.toPrecision(1)}, ${run.report}`);
