/**
 * @file DAPO's soft overlong punishment as a component: replies that come near their longest length.
 */
import { type OverlongOptions, overlongPenalty } from "../../algorithms/index.ts";
import { type RewardComponent, rewardFunction } from "../component.ts";

/** For each turn, what its reply loses for its length; 0 up to `maximum − buffer` tokens. */
export function overlong(
  weight: number,
  options: Omit<OverlongOptions, "factor">,
): RewardComponent {
  return rewardFunction("overlong", weight, ({ trajectory }) =>
    trajectory.turns.map(({ reply }) => overlongPenalty(reply.ids.length, options)),
  );
}
