/**
 * @file Expert iteration without an expert:  npx tsx run.ts
 *
 * The model learns the form of replies from itself, drawing admissible actions at random. Then, three times: it searches
 * for ways to solve training tasks, and learns what was found. At the end it plays tasks that it has never seen, without
 * search, beside the model that it began with.
 */
import { existsSync } from "node:fs";
import { evaluate, sft, successReport, warmStart } from "openmanus-rl";
import world from "./world.ts";

const folder = process.argv[2] ?? "runs/expert-iteration";
const play = { world, progress: false } as const;

const random = await warmStart({
  world,
  model: { preset: "tiny" },
  warmStart: false,
  folder: `${folder}/random`,
});
const start = `${folder}/start`;
if (!existsSync(start)) {
  const drawn = { split: "train", tasks: 200, temperature: 2, constrain: true } as const;
  const { trajectories } = await evaluate({ ...play, ...drawn, model: random });
  await sft({
    world,
    model: random,
    out: start,
    data: trajectories,
    allTokens: true,
    epochs: 3,
    learningRate: 4e-3,
  });
}

let model = start;
for (let round = 1; round <= 3; round++) {
  const out = `${folder}/round-${round}`;
  if (!existsSync(out)) {
    const { trajectories, table } = await evaluate({
      ...{ ...play, model, split: "train", tasks: 200, temperature: 1 },
      search: { strategy: "dfsdt", branches: 2, budget: { states: 30 } },
    });
    const { won, episodes } = table.all;
    console.log(`round ${round}: search solved ${won} of ${episodes} training tasks`);
    await sft({
      world,
      model,
      out,
      data: trajectories,
      keep: "won",
      epochs: 3,
      learningRate: 1e-3,
    });
  }
  model = out;
}

const { table, against, comparison } = await evaluate({ ...play, model, against: start });
console.log(`before\n${successReport(against.table)}\n\nafter\n${successReport(table)}\n`);
console.log(`p = ${comparison.pValue.toPrecision(1)}`);
