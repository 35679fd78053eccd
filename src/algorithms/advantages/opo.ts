/**
 * @file OPO, the optimal baseline for a score under exact on-policy training, when the squared
 * gradient norm grows with the length.
 *
 *   b_g = Σ len_i·s_i / Σ len_i      A_i = s_i − b_g      len = trained tokens of the row
 *
 * A group of one has the baseline 0 (as in verl): its advantage is its score, or 0 by
 * `singleton: "zero"`. Rows without trained tokens weigh nothing.
 *
 * Source: Hao et al. 2025, arXiv:2505.23585; verl compute_opo_outcome_advantage.
 */
import { groupRows } from "../groups.ts";
import { type Advantages, scoresOf, trainedTokens } from "../rows.ts";
import { type OutcomeInput, type OutcomeOptions, perRow } from "./outcome.ts";

export function opo(
  input: Omit<OutcomeInput, "trajectories" | "order">,
  options: OutcomeOptions = {},
): Advantages {
  const scores = scoresOf("opo", input.rows, input.rewards);
  const lengths = trainedTokens(input.rows);
  const grouping = groupRows("opo", scores.length, input.groups);
  const advantages = new Float64Array(scores.length);
  for (const members of grouping.counted) {
    const first = scores[members[0]!]!;
    let weighted = 0;
    let tokens = 0;
    for (const row of members) {
      weighted += lengths[row]! * (scores[row]! - first); // around the first: equal scores give 0
      tokens += lengths[row]!;
    }
    const single = members.length === 1;
    const baseline = single ? 0 : first + (tokens > 0 ? weighted / tokens : 0);
    for (const row of members)
      advantages[row] = single && options.singleton === "zero" ? 0 : scores[row]! - baseline;
  }
  return perRow(input.rows, advantages);
}
