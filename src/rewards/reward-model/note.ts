/**
 * @file reward-model.json beside a reward model's weights: what its scores mean.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * preferences: the better of two answers has the higher score (Bradley–Terry); outcome: the logit of the probability that
 * an episode is won, at its end; steps: the same after every turn.
 */
export const REWARD_MODEL_KINDS = ["preferences", "outcome", "steps"] as const;

export type RewardModelKind = (typeof REWARD_MODEL_KINDS)[number];

export const REWARD_MODEL_FILE = "reward-model.json";

export function rewardModelNote(kind: RewardModelKind): string {
  return `${JSON.stringify({ version: 1, kind }, null, 1)}\n`;
}

/** Undefined: it is not a reward model that was trained here. */
export function rewardModelKind(folder: string): RewardModelKind | undefined {
  const file = join(folder, REWARD_MODEL_FILE);
  if (!existsSync(file)) return undefined;
  try {
    const { kind } = JSON.parse(readFileSync(file, "utf8")) as { kind?: unknown };
    return REWARD_MODEL_KINDS.find((name) => name === kind);
  } catch {
    return undefined;
  }
}
