/**
 * @file What the recipes here share: each of their steps is one of our own commands, printed before it runs; what is there
 * already is not done again.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A file of this folder. */
export function here(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

/** Without the games the world "alfworld" would be played in built-in rooms: not what is wanted here. */
export function requireGames(): void {
  if (process.env.ALFWORLD_DATA || existsSync("data/alfworld")) return;
  console.error("No games: run `npx openmanus-rl data get alfworld`, or set ALFWORLD_DATA.");
  process.exit(1);
}

/** `made`: what the command makes, which is not made twice. */
export function step(made: string | undefined, words: readonly string[]): void {
  console.log(`\n$ openmanus-rl ${words.join(" ")}`);
  if (made !== undefined && existsSync(made)) {
    console.log(`${made} is there already`);
    return;
  }
  const command = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));
  const { status } = spawnSync(process.execPath, [command, ...words], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
