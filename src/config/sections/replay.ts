/**
 * @file `algorithm.replay.*`: learning again from episodes that went well.
 */
import { z } from "zod";
import { count, positive, section, setting } from "../setting.ts";

export const replay = section({
  enable: setting(
    z.boolean().default(false),
    "Experience replay: episodes that were won are kept, and learned from again in later iterations.",
  ),
  rescue: setting(
    z.boolean().default(true),
    "Self-imitation: a group in which nobody won gets a stored success of its task as a further member, where there is one.",
  ),
  share: setting(
    z.number().min(0).max(0.9).default(0),
    "Replayed episodes among all that are learned from, at most; those that rescue a group come first, and in any case.",
  ),
  capacity: setting(count.default(256), "Episodes that are kept."),
  per_task: setting(count.default(4), "Episodes of one task that are kept."),
  min_score: setting(
    z.number().gt(0).max(1).default(1),
    "Episodes that were not won are kept, too, from this score of the world's on.",
  ),
  max_age: setting(count.default(20), "Iterations after which an episode is let go."),
  priority: setting(
    z.enum(["advantage", "score"]).default("advantage"),
    "Which are rather kept and taken: by the advantage that they had when they were new, or by their reward.",
  ),
  half_life: setting(
    positive.nullable().default(10),
    "Iterations after which that counts half; null: age does not matter.",
  ),
  correction: setting(
    z.enum(["ppo", "truncated"]).default("truncated"),
    "Replayed tokens were drawn by an older policy, whose log-probabilities are recorded. ppo: they are the old ones of the " +
      "loss's ratio and clip; truncated: each token's loss is weighted by the ratio of the policy of now to them.",
  ),
  threshold: setting(positive.default(2), "The largest such weight."),
});
