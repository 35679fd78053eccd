/**
 * @file ALFWorld from nothing: a tokenizer and a model, SFT on episodes of the exploring expert, GiGPO,
 * evaluation. Each step is one of our own commands, printed before it runs; what is there already is not
 * done again, and an interrupted training goes on.
 *
 *   npx tsx examples/alfworld/run.ts [--folder runs/alfworld] [--minutes 60]
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "runs/alfworld" },
    minutes: { type: "string", default: "60" },
  },
});
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const folderOf = (name: string) => join(values.folder, name);
const [model, rooms, warm, run] = [
  ...[folderOf("model"), folderOf("rooms")],
  ...[folderOf("warm"), folderOf("run")],
] as const;
const agent = ["--preset", "small-model", "--config", here("agent.yaml")];

step(model, [
  ...["model", "init", model, "--preset", "mini", "--vocabulary", "1024"],
  ...["--world", here("agent.yaml"), "--tasks", "400"],
]);
const lessons = [
  ...["--everything", "--epochs", "1", "--batch", "4", "--lr", "2e-3"],
  ...["--slips", "0.05", "--holdout", "0"],
];
// First small rooms of our own, in which it is easier to learn to look and to copy.
step(rooms, [
  ...["sft", ...agent, ...lessons, "--out", rooms, "--episodes", "8000"],
  ...["env.env_name=household", "env.options.difficulty=easy"],
  ...["env.options.receptacles=6", "env.options.objects=12"],
  `actor_rollout_ref.model.path=${model}`,
]);
step(warm, [
  ...["sft", ...agent, ...lessons, "--out", warm, "--episodes", "10000"],
  `actor_rollout_ref.model.path=${rooms}`,
]);
step(undefined, [
  ...["train", ...agent, "--config", here("gigpo.yaml")],
  ...[`actor_rollout_ref.model.path=${warm}`, `trainer.default_local_dir=${run}`],
  ...["trainer.total_epochs=10000", `trainer.max_minutes=${values.minutes}`],
]);
const last = readdirSync(join(run, "checkpoints")).sort().at(-1)!;
const policy = join(run, "checkpoints", last, "actor");
step(undefined, ["eval", policy, "--split", "held_out", "env.max_steps=50"]);
console.log("\nOnly once, when nothing is to be chosen any more:");
console.log(`  npx openmanus-rl eval ${policy} --split valid_seen env.max_steps=50`);

function step(made: string | undefined, words: readonly string[]): void {
  console.log(`\n$ openmanus-rl ${words.join(" ")}`);
  if (made !== undefined && existsSync(made)) {
    console.log(`${made} is there already`);
    return;
  }
  const command = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
  const { status } = spawnSync(process.execPath, [command, ...words], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
