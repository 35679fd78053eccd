/**
 * @file ALFWorld by reinforcement learning, after a poor teacher. SFT teaches to read, and then to act as a teacher does that
 * acts at random in two of five turns; GiGPO takes it from there. All of it plays in rooms made from the training games' in which
 * furniture is called otherwise. What it can do is then shown in rooms as they are that none of them has entered.
 *
 *   npx tsx examples/alfworld/poor-teacher.ts [--folder runs/poor-teacher] [--seed 0] [--shuffled]
 *
 * --shuffled is the control: the same with rewards that say nothing (shuffled.ts).
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { here, requireGames, step } from "./steps.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "runs/poor-teacher" },
    seed: { type: "string", default: "0" },
    shuffled: { type: "boolean", default: false },
  },
});
requireGames();
const seed = Number(values.seed);
const folderOf = (name: string) => join(values.folder, name);
const model = folderOf("model");
const reads = folderOf("reads");
const start = folderOf("start");
const run = folderOf(values.shuffled ? "run-shuffled" : "run");
const agent = ["--preset", "small-model", "--config", here("agent.yaml")];
// Rooms made from the training games', whose furniture is called otherwise: who knows what usually stands in a room gains nothing.
const rooms = ["--config", here("rooms.yaml"), "--config", here("renamed.yaml")];
/**
 * Nor must anything else say who won: invalid actions are not penalised, and nothing is discounted, because only who wins
 * ends early.
 */
const SAYS_NOTHING = [
  "algorithm.gamma=1",
  ...["reward.environment=0", `reward.files=[${here("shuffled.ts")}]`],
  "actor_rollout_ref.actor.use_invalid_action_penalty=False",
];

step(model, [
  ...["model", "init", model, "--preset", "mini", "--matching", "--numbers", "named"],
  ...["--vocabulary", "2048", "--world", here("agent.yaml"), "--tasks", "1000"],
  ...["--seed", `${seed}`, "env.options.unseenRooms=3", "env.options.variants=16"],
]);
const learn = (out: string, from: string, part: number, words: readonly string[]) =>
  step(out, [
    ...["sft", ...agent, ...rooms, "--out", out, "--model", from, "--batch", "4"],
    // What it does wrong it tries again and again before it goes on: so circles are left.
    ...["--mistakes", "0.1", "--repeat-mistakes", "0.5", "--holdout", "0", ...words],
    ...["--seed", `${2 * seed + part}`],
  ]);
learn(reads, model, 0, ["--all-tokens", "--episodes", "8000", "--epochs", "5", "--lr", "2e-3"]);
learn(start, reads, 1, [
  ...["--episodes", "1000", "--epochs", "1", "--random-actions", "0.4", "--lr", "5e-4"],
]);
const ITERATIONS = 750;
step(undefined, [
  ...["train", ...agent, "--config", here("gigpo.yaml"), ...rooms, "--model", start],
  ...[`trainer.default_local_dir=${run}`, `trainer.seed=${seed}`],
  ...[`trainer.total_epochs=${ITERATIONS}`, "trainer.save_freq=30", "trainer.test_freq=30"],
  "actor_rollout_ref.actor.optim.lr=3e-4",
  // Ends small: at a constant rate validations went up and down by five points to the end.
  ...["actor_rollout_ref.actor.optim.warmup_style=cosine"],
  ...["actor_rollout_ref.actor.optim.min_lr_ratio=0.05"],
  "actor_rollout_ref.actor.ppo_mini_batch_size=32",
  // Most of the kinds that are won half of the time: what is won always, or never, teaches nothing.
  "data.curriculum.by=kind",
  // Who wanders needs more turns to win at all.
  ...["actor_rollout_ref.rollout.temperature=0.8", "env.max_steps=40"],
  // Nothing is chosen by the other two; they tell how long it took to what.
  ...["data.val_batch_size=200", "env.also_validate=[unseen_rooms,valid_seen]"],
  ...(values.shuffled ? SAYS_NOTHING : []),
]);
if (values.shuffled) process.exit();
// Nothing is chosen: who plays is what the run ended with.
const end = join(run, "checkpoints", `step-${`${ITERATIONS}`.padStart(6, "0")}`, "actor");
for (const split of ["held_out", "unseen_rooms", "valid_seen"])
  for (const policy of [reads, start, end])
    step(undefined, ["eval", policy, "--split", split, "env.max_steps=50"]);
