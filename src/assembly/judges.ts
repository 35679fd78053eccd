/**
 * @file Judges of searches that are models: a reward model, or a critic that a run has trained.
 */
import { probability, requireScorer, type ScorerOptions, scorer } from "../rewards/index.ts";
import { clamped, type Judge, type Trajectory, UNDECIDED } from "../rollout/index.ts";
import { OptionError } from "./errors.ts";
import { requireModelFolder } from "./model-folder.ts";

export interface ModelJudgeOptions extends ScorerOptions {
  readonly kind: "reward_model" | "critic";
  readonly folder: string;
  /** The form of the episodes that it judges. */
  readonly context: Trajectory["context"];
  /** Of a critic: the return of an episode that is as good as won. */
  readonly scale: number;
}

/**
 * A reward model's value is the probability that its score says (of one that was trained on preferences: that this is
 * better than what scores 0); a critic's, the share of a win's return.
 */
export function valueJudge({ kind, folder: place, ...options }: ModelJudgeOptions): Judge {
  const folder = requireModelFolder(place);
  try {
    requireScorer(folder, kind === "critic" ? "critic" : "reward model");
  } catch (error) {
    throw new OptionError((error as Error).message);
  }
  const { context, scale, ...load } = options;
  const { last } = scorer(folder, load);
  return {
    name: kind,
    judge({ turns }) {
      if (turns.length === 0) return { value: UNDECIDED };
      const score = last({ context, turns });
      const value = kind === "critic" ? score / scale : probability(score);
      return { value: clamped(value) };
    },
  };
}
