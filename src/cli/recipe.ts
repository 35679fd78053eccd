/**
 * @file The quickstart's recipe: what is made, learned, played and trained. Every number that matters is
 * here.
 *
 * The warm start is short on purpose: it teaches the form of actions and a little of the household, and
 * leaves the rest to reinforcement learning.
 */
import type { TrainOptions } from "../library/index.ts";

export interface Recipe extends TrainOptions {
  /** Tasks in rooms that training never sees, before and after. */
  readonly evaluationTasks: number;
}

export const RECIPE: Recipe = {
  world: "household",
  worldOptions: {
    difficulty: "easy",
    types: ["pick_and_place_simple"],
    receptacles: 5,
    objects: 6,
  },
  turns: 20,
  model: { preset: "tiny", tasks: 300, vocabulary: 1024 },
  warmStart: {
    episodes: 8000,
    mistakes: 0.05,
    // It looks around, instead of getting on with it.
    randomActions: 0.5,
    randomPattern: /^(go to|look|examine|inventory)/,
    learningRate: 4e-3,
    batchSize: 4,
    epochs: 1,
  },
  agent: { promptTokens: 1000 },
  algorithm: { name: "gigpo", miniBatch: 64 },
  iterations: 45,
  tasks: 16,
  groupSize: 8,
  learningRate: 1e-3,
  optimizer: { warmup: 10, betas: [0.9, 0.98] },
  validation: { every: 0, split: "valid_unseen", temperature: 1 },
  evaluationTasks: 200,
};
