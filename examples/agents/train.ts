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
  // Attention that begins with looking at equal tokens: names are copied sooner.
  model: { preset: "tiny", matching: true, tasks: 100 },
  // From the replies alone, some 440 updates. The name in the first call, which is what is hard, is found after some 200.
  warmStart: { episodes: 400, epochs: 18, allTokens: false, batchSize: 16 },
  // What is left to GRPO: to look up nobody else, whom the expert does look up now and then.
  ...{ learningRate: 1e-3, tasks: 8 },
  iterations: Number(process.env.ITERATIONS ?? 24),
  agent: { replyTokens: 48 },
  algorithm: "grpo",
  // As agents usually draw: what is certain only at a low temperature is not learned yet.
  validation: { temperature: 1 },
  folder,
});
const { table, against, comparison } = await run.evaluate({
  ...{ against: "start", split: "test", temperature: 1 },
});
console.log(`before\n${successReport(against.table)}\n\nafter\n${successReport(table)}\n`);
console.log(`p = ${comparison.pValue.toPrecision(1)}, ${run.report}`);
