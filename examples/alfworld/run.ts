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
// Without the games the world "alfworld" would be played in built-in rooms: not what is wanted here.
if (!process.env.ALFWORLD_DATA && !existsSync("data/alfworld")) {
  console.error("No games: run `npx openmanus-rl data get alfworld`, or set ALFWORLD_DATA.");
  process.exit(1);
}
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const folderOf = (name: string) => join(values.folder, name);
const [model, warm, run] = [folderOf("model"), folderOf("warm"), folderOf("run")];
const agent = ["--preset", "small-model", "--config", here("agent.yaml")];

step(model, [
  ...["model", "init", model, "--preset", "mini", "--matching", "--numbers", "named"],
  ...["--vocabulary", "2048", "--world", here("agent.yaml"), "--tasks", "1000"],
]);
step(warm, [
  ...["sft", ...agent, "--out", warm, "--everything", "--episodes", "16000", "--epochs", "1"],
  ...["--batch", "4", "--lr", "2e-3", "--slips", "0.05", "--holdout", "0"],
  `actor_rollout_ref.model.path=${model}`,
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
