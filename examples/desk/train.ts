/**
 * @file The whole program for a world of one's own:  npx tsx train.ts
 */
import { successReport, train } from "openmanus-rl";
import world from "./world.ts";

const run = await train({
  world,
  model: { preset: "tiny" },
  warmStart: { episodes: 300, epochs: 3, randomActions: 0.7 },
  algorithm: "gigpo",
  learningRate: 1e-3,
  iterations: 30,
  folder: "runs/desk",
});
const { table, against, comparison } = await run.evaluate({ against: "start" });
console.log(`before\n${successReport(against.table)}\n\nafter\n${successReport(table)}\n`);
console.log(`p = ${comparison.pValue.toPrecision(1)}, best ${run.best?.folder}, ${run.report}`);
console.log(await run.chat("The note says: the key is with the books."));
