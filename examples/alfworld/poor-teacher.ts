/**
 * @file ALFWorld after a poor teacher: SFT on episodes of an expert that does something at random in two of five turns, and
 * reinforcement learning on top, in rooms made from the training games'. What it can do is then shown in rooms that
 * neither has entered.
 *
 *   npx tsx examples/alfworld/poor-teacher.ts [--folder runs/poor-teacher] [--minutes 60] [--seed 0]
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { here, requireGames, step } from "./steps.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "runs/poor-teacher" },
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: "0" },
  },
});
requireGames();
const { seed } = values;
const [model, taught, run] = ["model", "taught", "run"].map((name) => join(values.folder, name));
const agent = ["--preset", "small-model", "--config", here("agent.yaml")];
const rooms = ["--config", here("rooms.yaml")];

step(model, [
  ...["model", "init", model!, "--preset", "mini", "--matching", "--numbers", "named"],
  ...["--vocabulary", "2048", "--world", here("agent.yaml"), "--tasks", "1000", "--seed", seed],
  ...["env.options.unseenRooms=3", "env.options.variants=16"],
]);
step(taught, [
  ...["sft", ...agent, ...rooms, "--out", taught!, "--model", model!, "--all-tokens"],
  ...["--episodes", "10000", "--random-actions", "0.4", "--mistakes", "0.05", "--lr", "2e-3"],
  ...["--epochs", "1", "--batch", "4", "--holdout", "0", "--seed", seed],
]);
step(undefined, [
  ...["train", ...agent, "--config", here("gigpo.yaml"), ...rooms, "--model", taught!],
  ...[`trainer.default_local_dir=${run}`, `trainer.seed=${seed}`, "trainer.total_epochs=10000"],
  ...["actor_rollout_ref.actor.optim.lr=3e-4", "actor_rollout_ref.actor.ppo_mini_batch_size=32"],
  `trainer.max_minutes=${values.minutes}`,
]);
for (const split of ["held_out", "unseen_rooms"])
  for (const policy of [taught!, run!])
    step(undefined, ["eval", policy, "--split", split, "--tasks", "200", "env.max_steps=50"]);
