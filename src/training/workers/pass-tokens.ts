/**
 * @file How many tokens a pass with gradients takes where nobody says it: what it keeps for its way back is most of
 * what an update needs beside weights and moments, so memory decides.
 */
import { estimateMemory, type ModelConfig } from "../../models/index.ts";

/** For what a pass keeps. Larger passes are hardly faster: a thousand tokens fill all products. */
const BYTES = 2 * 2 ** 30;
/** More is not asked of one pass, however small the model is. */
export const MOST_TOKENS = 8192;
/** Fewer would leave the products idle. */
const LEAST_TOKENS = 512;

export function passTokens(config: ModelConfig, gradientCheckpointing: boolean): number {
  const { activationsPerToken, checkpointedPerToken } = estimateMemory(config);
  const perToken = gradientCheckpointing ? checkpointedPerToken : activationsPerToken;
  return Math.max(LEAST_TOKENS, Math.min(MOST_TOKENS, Math.floor(BYTES / perToken)));
}
