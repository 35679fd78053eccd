/**
 * @file The whole program for a world of one's own:  npx tsx train.ts
 */
import { train } from "openmanus-rl";
import world from "./world.ts";

const run = await train({
  world,
  model: { preset: "tiny" },
  warmStart: { episodes: 300 },
  algorithm: "gigpo",
  iterations: 30,
  folder: "runs/desk",
});
const { table, against, comparison } = await run.evaluate({ against: "start" });
console.log(`before ${percent(against!.table.all.rate)}, after ${percent(table.all.rate)}`);
console.log(`p = ${comparison!.pValue.toPrecision(1)}, best ${run.best?.folder}, ${run.report}`);
console.log(await run.chat("The note says: the key is with the books."));

function percent(rate: number): string {
  return `${(100 * rate).toFixed(1)} %`;
}
