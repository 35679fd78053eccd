/**
 * @file OTB, the optimal token baseline: for each place t in the answers of a group, the baseline that
 * gives the gradient the least variance, without a critic.
 *
 *   w_j = 1 − 2π_j + Σ_v π_v²   (the squared norm of the token's gradient in the logits; ×ρ̄_j² with
 *                               importance weights)
 *   W_t = Σ_{j≤t} w_j over trained tokens       G_t = reward to go
 *   B_t = Σ_i G_it·W_it / (Σ_i W_it + 1e-8)     A_it = G_it − B_t
 *
 * "position" (optimal_token_baseline) aligns the rows of a group by the place in the row; rows must
 * then start at the same place of the conversation. "turn" (tir_optimal_token_baseline, for
 * conversations) aligns the n-th trained tokens, whatever observations stand between.
 *
 * zeroTail: beyond the second longest row of a group the longest is alone, and its own return would be
 * its baseline; the baseline there is 0 instead. Default: as verl, on for "turn" and off for
 * "position". (verl compares the number of trained tokens with a place in the row there, which are
 * different things when observations stand between; here both are places.) A group of one row with
 * trained tokens has no baseline.
 *
 * Source: verl compute_optimal_token_baseline_advantage and its multi-turn sibling.
 */
import { groupRows } from "../groups.ts";
import {
  type Advantages,
  checkRows,
  checkTokens,
  type Ids,
  type Numbers,
  type Rows,
  rowCount,
  trainedTokens,
} from "../rows.ts";
import { rewardToGo } from "./reinforce-plus-plus.ts";

export interface OptimalTokenBaselineInput {
  rows: Rows;
  /** [tokens] */
  rewards: Numbers;
  /** [rows] */
  groups: Ids;
  /** [tokens] Of the policy before the update. */
  oldLogprobs: Numbers;
  /** [tokens] Σ_v π_v² over the vocabulary: see `sumOfSquaredProbabilities`. */
  squaredProbabilities: Numbers;
  /** [tokens] Truncated weights between rollout and training, where they are used. */
  importanceWeights?: Numbers | undefined;
}

export interface OptimalTokenBaselineOptions {
  align?: "position" | "turn" | undefined;
  zeroTail?: boolean | undefined;
}

export function optimalTokenBaseline(
  input: OptimalTokenBaselineInput,
  options: OptimalTokenBaselineOptions = {},
): Advantages {
  const { rows, rewards, oldLogprobs, squaredProbabilities, importanceWeights } = input;
  const align = options.align ?? "position";
  const who = align === "turn" ? "tir_optimal_token_baseline" : "optimal_token_baseline";
  checkRows(who, rows);
  checkTokens(who, "the reward", rewards, rows);
  checkTokens(who, "the log-probability", oldLogprobs, rows);
  checkTokens(who, "the sum of squared probabilities", squaredProbabilities, rows);
  if (importanceWeights) checkTokens(who, "the importance weight", importanceWeights, rows);
  const returns = rewardToGo(rows, rewards, 1);
  const advantages = returns.slice();
  const { offsets, mask } = rows;
  const trained = trainedTokens(rows);
  for (const group of groupRows(who, rowCount(rows), input.groups).counted) {
    const members = group.filter((row) => trained[row]! > 0);
    if (members.length < 2) continue;
    const width = Math.max(...members.map((row) => offsets[row + 1]! - offsets[row]!));
    const numerators = new Float64Array(width);
    const denominators = new Float64Array(width);
    // Calls `visit` with each trained token of a row and the place at which it is compared.
    const walk = (row: number, visit: (token: number, place: number) => void): number => {
      let number = 0;
      let end = 0;
      for (let token = offsets[row]!; token < offsets[row + 1]!; token++) {
        if (mask[token] !== 1) continue;
        const place = align === "turn" ? number++ : token - offsets[row]!;
        visit(token, place);
        end = place + 1;
      }
      return end;
    };
    const ends = members.map((row) => {
      let energy = 0;
      return walk(row, (token, place) => {
        const norm = 1 - 2 * Math.exp(oldLogprobs[token]!) + squaredProbabilities[token]!;
        energy += norm * (importanceWeights ? importanceWeights[token]! ** 2 : 1);
        numerators[place]! += returns[token]! * energy;
        denominators[place]! += energy;
      });
    });
    const [longest = 0, second = 0] = [...ends].sort((a, b) => b - a);
    const tail = (options.zeroTail ?? align === "turn") ? second : longest;
    for (const row of members)
      walk(row, (token, place) => {
        if (place >= tail) return;
        advantages[token]! -= numerators[place]! / (denominators[place]! + 1e-8);
      });
  }
  return { advantages, returns };
}
