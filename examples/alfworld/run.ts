/**
 * @file ALFWorld from nothing: a tokenizer and a model, SFT on episodes of the exploring expert and GiGPO, both in rooms made
 * from the training games'; then the policy that did best in held-out games is evaluated, also in rooms never entered. Each
 * step is one of our own commands, printed before it runs; what is there already is not done again, and an interrupted
 * training goes on.
 *
 *   npx tsx examples/alfworld/run.ts [--folder runs/alfworld] [--minutes 45] [--seed 0]
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { here, requireGames, step } from "./steps.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "runs/alfworld" },
    minutes: { type: "string", default: "45" },
    seed: { type: "string", default: "0" },
  },
});
requireGames();
const seed = Number(values.seed);
const folderOf = (name: string) => join(values.folder, name);
const model = folderOf("model");
const warm = folderOf("warm");
const more = folderOf("more");
const run = folderOf("run");
const agent = ["--preset", "small-model", "--config", here("agent.yaml")];
const rooms = ["--config", here("rooms.yaml")];

step(model, [
  ...["model", "init", model, "--preset", "mini", "--matching", "--numbers", "named"],
  ...["--vocabulary", "2048", "--world", here("agent.yaml"), "--tasks", "1000"],
  ...["--seed", `${seed}`, "env.options.unseenRooms=3", "env.options.variants=16"],
]);
const learn = (out: string, from: string, part: number, words: readonly string[]) =>
  step(out, [
    ...["sft", ...agent, ...rooms, "--out", out, "--epochs", "1", "--batch", "4"],
    ...["--mistakes", "0.05", "--holdout", "0", ...words, "--seed", `${2 * seed + part}`],
    ...["--model", from],
  ]);
// To read and to speak.
learn(warm, model, 0, ["--all-tokens", "--episodes", "14000", "--lr", "2e-3"]);
// To speak alone, more slowly, after an expert that tries some of its mistakes more than once.
learn(more, warm, 1, ["--episodes", "20000", "--lr", "1.5e-3", "--repeat-mistakes", "0.5"]);
step(undefined, [
  ...["train", ...agent, "--config", here("gigpo.yaml"), ...rooms],
  ...["--model", more, `trainer.default_local_dir=${run}`],
  // Played nearly as it is evaluated, so that what fails is what it does and not what it draws. In rooms that differ
  // there is much left to find, and many episodes an iteration bear three times gigpo.yaml's rate.
  ...["actor_rollout_ref.rollout.temperature=0.8", "actor_rollout_ref.actor.optim.lr=3e-4"],
  ...["data.train_batch_size=32", "trainer.test_freq=10", `trainer.seed=${seed}`],
  ...["trainer.total_epochs=10000", `trainer.max_minutes=${values.minutes}`],
]);
// Of a run, the policy that did best in validation plays.
for (const split of ["held_out", "unseen_rooms"])
  step(undefined, ["eval", run, "--split", split, "env.max_steps=50"]);
console.log("\nOnly once, when nothing is to be chosen any more:");
console.log(`  npx openmanus-rl eval ${run} --split valid_seen env.max_steps=50`);
