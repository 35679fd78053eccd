/**
 * @file The loud check of every batch: each trained token was drawn by the policy, nothing else is
 * trained, and what was recorded about it is what the model says now. A violation stops the run, with
 * the trajectory's id and the place, because training would go on silently, and wrongly, without it.
 */
import type { Batch } from "./batch.ts";
import { beginsRow } from "./trajectory.ts";

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
  const { rows, ids, logprobs, positions, spans, trajectories } = batch;
  const covered = new Uint8Array(ids.length);
  const turnsOf = trajectories.map(() => 0);
  let row = -1;
  let at = 0;
  for (let span = 0; span < spans.row.length; span++) {
    const owner = spans.trajectory[span]!;
    const trajectory = trajectories[owner];
    if (!trajectory) throw new BatchError(`number ${owner}`, 0, "is none of the batch's episodes");
    const number = spans.turn[span]!;
    const fail = (problem: string): never => {
      throw new BatchError(trajectory.id, number, problem);
    };
    if (number !== turnsOf[owner]!++) fail("its turns are not in their order");
    const turn = trajectory.turns[number] ?? fail("there is no such turn");
    const { reply, promptIds } = turn;
    // Rows begin where the last one ended, at an episode's or a branch's first turn, or at any in steps.
    if (beginsRow(trajectory.context, trajectory.turns, number)) {
      row++;
      if (rows.offsets[row] !== at)
        fail(`its row begins at token ${rows.offsets[row]}, expected ${at}`);
      if (batch.trajectoryOf[row] !== owner) fail("its row is said to be another episode's");
    }
    if (spans.row[span] !== row) fail(`it is said to be in row ${spans.row[span]}`);
    const start = at + promptIds.length;
    if (spans.start[span] !== start)
      fail(`its reply is said to begin at token ${spans.start[span]}, it does at ${start}`);
    if (reply.source !== "policy")
      fail(`its reply is ${reply.source}, not what the policy drew: it cannot be trained on`);
    if (spans.end[span]! - start !== reply.ids.length)
      fail(`${spans.end[span]! - start} trained tokens for ${reply.ids.length} sampled ones`);
    for (const [i, id] of promptIds.entries()) {
      if (ids[at + i] !== id) fail(`token ${i} of its prompt is ${ids[at + i]}, ${id} was given`);
      if (!(id >= 0 && id < vocabularySize))
        fail(`token ${i} of its prompt is ${id}, outside of the vocabulary`);
    }
    for (const [i, id] of reply.ids.entries()) {
      const token = start + i;
      covered[token] = 1;
      if (rows.mask[token] !== 1) fail(`sampled token ${i} is not trained (its mask is 0)`);
      if (ids[token] !== id) fail(`token ${i} is ${ids[token]}, but ${id} was sampled`);
      if (!(id >= 0 && id < vocabularySize)) fail(`token ${i} is ${id}, outside of the vocabulary`);
      if (batch.allowed.get(token)?.includes(id) === false)
        fail(`token ${i} is ${id}, which is none of those that could be drawn there`);
      const logprob = logprobs[token]!;
      if (!(Number.isFinite(logprob) && logprob <= 1e-6))
        fail(`the log-probability of token ${i} is ${logprob}, expected a finite number up to 0`);
      if (logprob !== reply.logprobs[i])
        fail(`the log-probability of token ${i} is ${logprob}, ${reply.logprobs[i]} was recorded`);
    }
    const end = start + reply.ids.length;
    for (let token = at; token < end; token++)
      if (positions[token] !== token - rows.offsets[row]!)
        fail(`token ${token} has position ${positions[token]} in its row`);
    at = end;
  }
  checkNothingElse(batch, covered, turnsOf, at);
}

/** Every turn is there, and no token beside them is trained. */
function checkNothingElse(
  batch: Batch,
  covered: Uint8Array,
  turnsOf: readonly number[],
  tokens: number,
): void {
  const { rows, ids, trajectories } = batch;
  for (const [i, { id, turns }] of trajectories.entries())
    if (turnsOf[i] !== turns.length)
      throw new BatchError(
        id,
        turnsOf[i]!,
        `only ${turnsOf[i]} of ${turns.length} turns are there`,
      );
  const stray = rows.mask.findIndex((value, token) => value !== 0 && covered[token] === 0);
  if (stray >= 0) {
    const { trajectory, turn } = placeOf(batch, stray);
    throw new BatchError(
      trajectory,
      turn,
      `token ${stray} of the batch is trained and not sampled`,
    );
  }
  if (ids.length !== tokens || rows.offsets.at(-1) !== tokens) {
    const last = trajectories.at(-1);
    const problem = `the batch has ${ids.length} tokens, its turns have ${tokens}`;
    throw new BatchError(last?.id ?? "(none)", (last?.turns.length ?? 1) - 1, problem);
  }
}

export interface LogprobCheck {
  /** The largest difference. */
  readonly largest: number;
  readonly mean: number;
  /** Tokens that were compared. */
  readonly tokens: number;
}

/**
 * Compares recorded log-probabilities with those that the training path computes for the same weights,
 * both [tokens] of the batch. What is not trained is not compared; a trained token without a number on
 * either side (NaN) is a violation.
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
    sum += difference;
    count++;
    if (difference <= largest) continue;
    largest = difference;
    place = token;
    if (Number.isNaN(difference)) break;
  }
  if (!(largest <= tolerance)) {
    const { trajectory, turn, token } = placeOf(batch, place);
    throw new BatchError(
      trajectory,
      turn,
      `token ${token}: the recorded log-probability is ${recorded[place]}, the recomputed one ` +
        `${recomputed[place]}; they differ by ${largest.toExponential(1)}, and at most ${tolerance} ` +
        "is rounding. The tokens, their positions or the weights are not those of the rollout.",
    );
  }
  return { largest, mean: count === 0 ? 0 : sum / count, tokens: count };
}

/** Whose token it is. */
function placeOf({ spans, trajectories, rows, trajectoryOf }: Batch, token: number) {
  for (let span = 0; span < spans.row.length; span++)
    if (token >= spans.start[span]! && token < spans.end[span]!)
      return {
        trajectory: trajectories[spans.trajectory[span]!]!.id,
        turn: spans.turn[span]!,
        token: token - spans.start[span]!,
      };
  const after = rows.offsets.findIndex((offset) => offset > token);
  const owner = trajectories[trajectoryOf[(after < 0 ? rows.offsets.length : after) - 1]!];
  return { trajectory: owner?.id ?? "(none)", turn: 0, token };
}
