/**
 * @file Rewards for what the episode achieved, by the world's own judgement.
 */
import { type RewardComponent, rewardFunction } from "../component.ts";

/** 1 for a solved task, and `failure` (0) for one that is not. */
export function goal(weight = 1, failure = 0): RewardComponent {
  return rewardFunction("goal", weight, ({ trajectory }) => (trajectory.won ? 1 : failure));
}

/** The world's score, 0 to 1: also for a task that is solved in part. */
export function score(weight = 1): RewardComponent {
  return rewardFunction("score", weight, ({ trajectory }) => trajectory.score);
}

/** What the world gave for each step (10 for the one that solves the task, in the documents' worlds). */
export function environment(weight = 1): RewardComponent {
  return rewardFunction("environment", weight, ({ trajectory }) => {
    const turns = trajectory.turns.map(({ reward }) => reward);
    // A program is judged as a whole, and its branches besides.
    return trajectory.outcome === undefined ? turns : { episode: trajectory.outcome, turns };
  });
}
