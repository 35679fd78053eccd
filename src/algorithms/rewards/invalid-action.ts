/**
 * @file The invalid-action penalty: an action that the world could not understand costs its step.
 *
 *   −c·(1 − valid) on the step's last trained token, on its return and on its episode score; c 0.1
 *
 * It is put on the return after discounting, so earlier steps do not pay for a later mistake; and on
 * the episode score as this step sees it, so the other steps of the episode do not either. For rows
 * that are steps that is the row's own sum, as in verl-agent; for conversations, whose row has all
 * penalties in its sum, pass `scores` on to gigpo or hgpo to have the same there.
 *
 * Source: verl-agent apply_invalid_action_penalty.
 */
import {
  checkLength,
  checkPerRow,
  checkTokens,
  type Numbers,
  type Rows,
  sumPerRow,
} from "../rows.ts";
import { checkSpans, type Spans, stepCount } from "../steps/table.ts";

export interface InvalidActionInput {
  rows: Rows;
  spans: Spans;
  /** [tokens] */
  rewards: Numbers;
  /** [steps] Discounted; see `stepReturns`. Not needed when no step returns are used. */
  stepReturns?: Numbers | undefined;
  /** [steps] 1: valid; 0: not. */
  valid: ArrayLike<number | boolean>;
}

export interface Penalized {
  /** [tokens] */
  rewards: Float64Array;
  /** [steps] */
  stepReturns: Float64Array;
  /** [steps] The row's rewards before any penalty, and this step's own penalty. */
  scores: Float64Array;
  /** For the metric episode/valid_action_ratio. */
  validRatio: number;
}

export function penalizeInvalidActions(input: InvalidActionInput, coefficient = 0.1): Penalized {
  const { rows, spans, valid } = input;
  const who = "penalizeInvalidActions";
  const count = stepCount(spans);
  checkSpans(who, spans, rows);
  checkTokens(who, "the reward", input.rewards, rows);
  checkLength(who, "valid", valid.length, count);
  if (input.stepReturns) checkPerRow(who, "the step return", input.stepReturns, count);
  const rowScores = sumPerRow(rows, input.rewards);
  const rewards = Float64Array.from(input.rewards);
  const stepReturns = input.stepReturns
    ? Float64Array.from(input.stepReturns)
    : new Float64Array(count);
  const scores = Float64Array.from(spans.row, (row) => rowScores[row]!);
  let validSteps = 0;
  for (let step = 0; step < count; step++) {
    const penalty = coefficient * (1 - Number(valid[step]));
    validSteps += Number(valid[step]);
    if (penalty === 0) continue;
    stepReturns[step]! -= penalty;
    scores[step]! -= penalty;
    for (let token = spans.end[step]! - 1; token >= spans.start[step]!; token--)
      if (rows.mask[token] === 1) {
        rewards[token]! -= penalty;
        break; // a step without trained tokens has nowhere to put it, and nothing to train
      }
  }
  return { rewards, stepReturns, scores, validRatio: count === 0 ? 1 : validSteps / count };
}
