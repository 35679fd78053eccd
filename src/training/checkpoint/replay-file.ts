/**
 * @file The replay buffer as a file of a checkpoint: two lines for each episode, what is known of it and the episode.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ComposedReward } from "../../rewards/index.ts";
import { fromLine, toLine } from "../../rollout/index.ts";
import type { StoredEpisode } from "../replay/buffer.ts";
import { CheckpointError } from "./files.ts";

export const REPLAY_FILE = "replay.jsonl";

interface Known {
  readonly reward: Omit<ComposedReward, "turns"> & { readonly turns: readonly number[] };
  readonly advantage: number;
}

export function replayText(episodes: readonly StoredEpisode[]): string {
  const lines = episodes.flatMap(({ trajectory, reward, advantage }) => {
    const known: Known = { reward: { ...reward, turns: [...reward.turns] }, advantage };
    return [JSON.stringify(known), toLine(trajectory)];
  });
  return [...lines, ""].join("\n");
}

/** Nothing where the checkpoint has no buffer. */
export function readReplay(checkpoint: string): StoredEpisode[] {
  const file = join(checkpoint, REPLAY_FILE);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  try {
    return Array.from({ length: lines.length / 2 }, (_, i) => {
      const { reward, advantage } = JSON.parse(lines[2 * i]!) as Known;
      return {
        trajectory: fromLine(lines[2 * i + 1]!),
        reward: { ...reward, turns: Float64Array.from(reward.turns) },
        advantage,
      };
    });
  } catch (error) {
    throw new CheckpointError(`${file}: ${(error as Error).message}`);
  }
}
