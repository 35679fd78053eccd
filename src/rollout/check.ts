/**
 * @file The loud check of every batch: each trained token was drawn by the policy, nothing else is
 * trained, and what was recorded about it is what the model says now. A violation stops the run, with
 * the trajectory's id and the place, because training would go on silently, and wrongly, without it.
 */
import type { Batch } from "./batch.ts";

/** A batch that must not be trained on. */
export class BatchError extends Error {
  override name = "BatchError";
  readonly trajectory: string;
  readonly turn: number;

  constructor(trajectory: string, turn: number, problem: string) {
    super(`episode ${trajectory}, turn ${turn + 1}: ${problem}`);
    this.trajectory = trajectory;
    this.turn = turn;
  }
}

/** Checks the batch against the trajectories it was made of. */
export function checkBatch(batch: Batch, vocabularySize = Infinity): void {
  const { rows, ids, logprobs, segments, trajectories } = batch;
  const covered = new Uint8Array(ids.length);
  for (let segment = 0; segment < segments.row.length; segment++) {
    const trajectory = trajectories[segments.trajectory[segment]!]!;
    const turn = segments.turn[segment]!;
    const fail = (problem: string): never => {
      throw new BatchError(trajectory.id, turn, problem);
    };
    const { reply } = trajectory.turns[turn]!;
    const start = segments.start[segment]!;
    if (reply.source !== "policy")
      fail(`its reply is ${reply.source}, not what the policy drew: it cannot be trained on`);
    if (segments.end[segment]! - start !== reply.ids.length)
      fail(`${segments.end[segment]! - start} trained tokens for ${reply.ids.length} sampled ones`);
    for (const [i, id] of reply.ids.entries()) {
      const token = start + i;
      covered[token] = 1;
      if (rows.mask[token] !== 1) fail(`sampled token ${i} is not trained (its mask is 0)`);
      if (ids[token] !== id) fail(`token ${i} is ${ids[token]}, but ${id} was sampled`);
      if (!(id < vocabularySize)) fail(`token ${i} is ${id}, outside of the vocabulary`);
      const logprob = logprobs[token]!;
      if (!(Number.isFinite(logprob) && logprob <= 1e-6))
        fail(`the log-probability of token ${i} is ${logprob}, expected a finite number up to 0`);
    }
  }
  const stray = rows.mask.findIndex((value, token) => value === 1 && covered[token] === 0);
  if (stray >= 0) {
    const { trajectory, turn } = placeOf(batch, stray);
    throw new BatchError(
      trajectory,
      turn,
      `token ${stray} of the batch is trained and not sampled`,
    );
  }
}

export interface LogprobCheck {
  /** The largest difference. */
  readonly largest: number;
  readonly mean: number;
}

/**
 * Compares recorded log-probabilities with those that the training path computes for the same weights,
 * both [tokens] of the batch (`recomputed` may have NaN where nothing was computed).
 */
export function checkLogprobs(
  batch: Batch,
  recomputed: ArrayLike<number>,
  tolerance: number,
  recorded: ArrayLike<number> = batch.logprobs,
): LogprobCheck {
  const { mask } = batch.rows;
  let largest = 0;
  let place = -1;
  let sum = 0;
  let count = 0;
  for (let token = 0; token < mask.length; token++) {
    if (mask[token] !== 1) continue;
    const difference = Math.abs(recorded[token]! - recomputed[token]!);
    if (Number.isNaN(recomputed[token]!)) continue;
    sum += difference;
    count++;
    if (!(difference > largest)) continue;
    largest = difference;
    place = token;
  }
  if (largest > tolerance) {
    const { trajectory, turn, token } = placeOf(batch, place);
    throw new BatchError(
      trajectory,
      turn,
      `token ${token}: the recorded log-probability is ${recorded[place]}, the recomputed one ` +
        `${recomputed[place]}; they differ by ${largest.toExponential(1)}, and at most ${tolerance} ` +
        "is rounding. The tokens, their positions or the weights are not those of the rollout.",
    );
  }
  return { largest, mean: count === 0 ? 0 : sum / count };
}

/** Whose token it is. */
function placeOf({ segments, trajectories, rows, trajectoryOf }: Batch, token: number) {
  for (let segment = 0; segment < segments.row.length; segment++)
    if (token >= segments.start[segment]! && token < segments.end[segment]!)
      return {
        trajectory: trajectories[segments.trajectory[segment]!]!.id,
        turn: segments.turn[segment]!,
        token: token - segments.start[segment]!,
      };
  const row = rows.offsets.findIndex((offset) => offset > token) - 1;
  return { trajectory: trajectories[trajectoryOf[row]!]!.id, turn: 0, token };
}
