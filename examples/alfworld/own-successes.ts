/**
 * @file ALFWorld by one's own successes: SFT on few episodes of the expert teaches to read and to answer in form; from there
 * on the policy plays training games in rooms made from them, learns from the episodes that it won, and plays others.
 * What it can do is then shown in rooms that nobody has entered.
 *
 *   npx tsx examples/alfworld/own-successes.ts [--folder runs/own-successes] [--rounds 16] [--games 2000] [--seed 0]
 *       [--expert-episodes 6000] [--shuffled]
 *
 * --shuffled: as many episodes are learned, and which of them has nothing to do with who won.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { evaluate, type SuccessTable, sft, successReport, type Trajectory } from "openmanus-rl";
import { readSettings } from "openmanus-rl/config";
import { here, requireGames, step } from "./steps.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "runs/own-successes" },
    rounds: { type: "string", default: "16" },
    games: { type: "string", default: "2000" },
    seed: { type: "string", default: "0" },
    "expert-episodes": { type: "string", default: "6000" },
    shuffled: { type: "boolean", default: false },
  },
});
requireGames();
const seed = Number(values.seed);
const [model, start] = ["model", "start"].map((name) => join(values.folder, name)) as [
  string,
  string,
];
const preset = "small-model";
const configs = [here("agent.yaml"), here("rooms.yaml")];
const settings = readSettings(configs, []);

step(model, [
  ...["model", "init", model, "--preset", "mini", "--matching", "--numbers", "named"],
  ...["--vocabulary", "2048", "--world", here("agent.yaml"), "--tasks", "1000"],
  ...["--seed", `${seed}`, "env.options.unseenRooms=3", "env.options.variants=16"],
]);
step(start, [
  ...["sft", "--preset", preset, ...configs.flatMap((file) => ["--config", file])],
  ...["--out", start, "--model", model, "--all-tokens", "--episodes", values["expert-episodes"]],
  ...["--mistakes", "0.05", "--lr", "2e-3", "--epochs", "1", "--batch", "4", "--holdout", "0"],
  ...["--seed", `${seed}`],
]);

/** What is seldom won is learned more often, so that what is easy does not drown it: up to four times. */
function copies({ all, types }: SuccessTable, { task }: Trajectory): number {
  const own = types.find((row) => row.type === task.type) ?? all;
  return Math.min(4, Math.max(1, Math.round(all.rate / own.rate)));
}

const before = performance.now();
let policy = start;
for (let round = 1; round <= Number(values.rounds); round++) {
  const out = join(values.folder, `round-${round}`);
  if (!existsSync(out)) {
    const { trajectories, table } = await evaluate({
      ...{ preset, settings, model: policy, split: "train", temperature: 0.8 },
      // Few turns at first: who has not won by then mostly wanders, and that costs the most.
      turns: Math.min(35, 18 + 2 * round),
      ...{ tasks: Number(values.games), taskSeed: 1000 * seed + round },
    });
    console.log(`round ${round}, training games:\n${successReport(table)}`);
    const learned = trajectories.flatMap((one, i) =>
      (values.shuffled ? i < table.all.won : one.won) ? Array(copies(table, one)).fill(one) : [],
    );
    await sft({
      ...{ preset, settings, model: policy, out, data: learned, seed: 1000 * seed + round },
      ...{ allTokens: true, epochs: 1, learningRate: 1e-3, batchSize: 4, holdout: 0 },
    });
    console.log(`round ${round}: ${Math.round((performance.now() - before) / 1000)} s`);
  }
  policy = out;
}
for (const split of ["held_out", "unseen_rooms"])
  for (const one of [start, policy])
    step(undefined, ["eval", one, "--split", split, "--tasks", "200", "env.max_steps=50"]);
