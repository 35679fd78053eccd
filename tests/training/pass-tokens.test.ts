/**
 * @file The memory of a pass with gradients where nobody says how many tokens it takes.
 */
import { expect, it } from "vitest";
import { estimateMemory, presetConfig } from "../../src/models/index.ts";
import { MOST_TOKENS_OF_PASS, passTokens } from "../../src/training/index.ts";

const TINY = presetConfig("tiny", { family: "qwen3" });
const LARGE = { ...TINY, layers: 30, hiddenSize: 576, intermediateSize: 1536 };

it("is bounded for a large model, with and without checkpointing", () => {
  for (const checkpointing of [false, true]) {
    const { activationsPerToken, checkpointedPerToken } = estimateMemory(LARGE);
    const bytes = checkpointing ? checkpointedPerToken : activationsPerToken;
    const tokens = passTokens(LARGE, checkpointing);
    expect(tokens * bytes).toBeLessThanOrEqual(2 ** 31);
    expect(tokens === MOST_TOKENS_OF_PASS || (tokens + 1) * bytes > 2 ** 31).toBe(true);
  }
  expect(passTokens(LARGE, false)).toBeLessThan(MOST_TOKENS_OF_PASS);
});

it("is what it was for a small one", () => {
  expect(passTokens(TINY, false)).toBe(MOST_TOKENS_OF_PASS);
});

it("leaves a huge one work enough for its products", () => {
  expect(passTokens({ ...LARGE, layers: 200, hiddenSize: 16384 }, false)).toBe(512);
});
