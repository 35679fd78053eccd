/**
 * @file A reward model's score as a reward.
 *
 *   preferences   its score of the whole episode, of which only differences mean something
 *   outcome       the probability that the episode is won
 *   steps         what each turn adds to that probability; together it is the probability after the last one, so that
 *                 more turns are not worth more
 */
import { type RewardComponent, rewardFunction } from "../component.ts";
import { type ScorerOptions, scorer } from "../reward-model/scorer.ts";

/** `folder`: what `openmanus-rl reward-model` made. */
export function rewardModel(
  weight: number,
  folder: string,
  options: ScorerOptions = {},
): RewardComponent {
  const { kind, last, turns } = scorer(folder, options);
  if (kind === undefined)
    throw new Error(`${folder} is no reward model; make one: openmanus-rl reward-model`);
  return rewardFunction("model", weight, ({ trajectory }) => {
    if (trajectory.turns.length === 0) return 0;
    if (kind === "preferences") return last(trajectory);
    if (kind === "outcome") return probability(last(trajectory));
    const after = turns(trajectory).map(probability);
    return after.map((value, i) => value - (after[i - 1] ?? 0));
  });
}

export function probability(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
