/**
 * @file `algorithm.*`: advantages, KL in the reward, group filtering, mismatch correction.
 */
import { z } from "zod";
import { REJECTION_OPTIONS } from "../../algorithms/index.ts";
import { ALLOCATIONS } from "../../rewards/index.ts";
import { ESTIMATOR_NAMES } from "../names.ts";
import {
  count,
  countOrZero,
  named,
  notNegative,
  positive,
  section,
  setting,
  share,
} from "../setting.ts";
import { replay } from "./replay.ts";

const klKinds = ["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"] as const;
/** The estimators of KL, each also with "+": that value, with the gradient of k2. */
export const klEstimator = z.enum(klKinds.flatMap((kind) => [kind, `${kind}+`] as const));

export const algorithm = section({
  adv_estimator: setting(
    named(ESTIMATOR_NAMES).default("gigpo"),
    "How advantages are estimated; a file of one's own exports an estimator.",
  ),
  gamma: setting(
    share.optional(),
    "Discount, per token (gae, reinforce_plus_plus) or per step (gigpo, hgpo). Default: 0.95 for gigpo and hgpo, 1 for the others.",
  ),
  lam: setting(share.default(1), "λ of GAE."),
  norm_adv_by_std_in_grpo: setting(
    z.boolean().default(true),
    "Whether grpo divides by the group's deviation; False is Dr.GRPO.",
  ),
  epsilon: setting(positive.default(1e-6), "Added to deviations before dividing by them."),
  use_kl_in_reward: setting(
    z.boolean().default(false),
    "Whether the KL to the reference is taken off the rewards.",
  ),
  kl_penalty: setting(klEstimator.default("kl"), "The estimator of that KL."),
  kl_ctrl: section({
    type: setting(z.enum(["fixed", "adaptive"]).default("fixed"), "How its coefficient moves."),
    kl_coef: setting(notNegative.default(0.001), "Its coefficient, at the start."),
    target_kl: setting(positive.default(0.1), "The KL that an adaptive controller aims at."),
    horizon: setting(positive.default(10_000), "Rows over which an adaptive controller adapts."),
  }),
  reward_allocation: setting(
    z.enum(ALLOCATIONS).default("last_token"),
    "How an episode's reward goes to its tokens.",
  ),
  whiten_rewards: setting(
    z.boolean().default(false),
    "Whether token rewards are whitened over the batch before advantages.",
  ),
  gigpo: section({
    step_advantage_w: setting(notNegative.default(1), "Weight of the step-level advantage."),
    mode: setting(
      z.enum(["mean_norm", "mean_std_norm"]).default("mean_norm"),
      "Whether advantages are divided by the group's deviation.",
    ),
    episode_stats: setting(
      z.enum(["rows", "trajectories"]).default("rows"),
      "Whether group statistics count an episode once per step (the reference) or once (the paper).",
    ),
    anchors: setting(
      z.enum(["observation", "state"]).default("observation"),
      "Which steps are taken for the same state (hgpo, too): those with equal observations (the reference), or, after an action that the world does not know and that so changed nothing, the state before it.",
    ),
    enable_similarity: setting(
      z.boolean().default(false),
      "Whether nearly equal observations form a step group, too.",
    ),
    similarity_thresh: setting(
      z.number().gt(0).lt(1).default(0.95),
      "How equal they must be, 0 to 1.",
    ),
  }),
  hgpo: section({
    history_length: setting(count.default(2), "The longest history that is compared."),
    length_weight_alpha: setting(
      notNegative.default(1),
      "Exponent of the longer histories' weight.",
    ),
    base_group: setting(z.boolean().default(false), "Whether whole episodes are compared, too."),
  }),
  use_pf_ppo: setting(
    z.boolean().default(false),
    "PF-PPO: rows are drawn again by their scores before they are learned from.",
  ),
  pf_ppo: section({
    reweight_method: setting(
      z.enum(["pow", "max_min", "max_random"]).default("pow"),
      "How a row's weight follows from its score.",
    ),
    weight_pow: setting(positive.default(2), "The exponent of pow."),
  }),
  filter_groups: section({
    enable: setting(
      z.boolean().default(false),
      "Dynamic sampling: groups whose members did equally well are replaced.",
    ),
    metric: setting(
      z.enum(["reward", "score", "success", "seq_reward"]).nullable().default("reward"),
      "What is compared inside a group; verl's seq_reward, and null, are the reward.",
    ),
    max_num_gen_batches: setting(
      countOrZero.default(3),
      "Rollouts per iteration at most; 0, as verl has it, is 100.",
    ),
  }),
  replay,
  rollout_correction: section({
    rollout_is: setting(
      z.enum(["none", "token", "sequence"]).nullable().default("none"),
      "Importance weights between the rollout's and the trainer's log-probabilities.",
    ),
    rollout_is_threshold: setting(positive.default(2), "The largest weight."),
    rollout_rs: setting(
      z.string().nullable().default(null),
      `Rejection: tokens (token_…) or whole rows (seq_…) on which the two disagree too much are not trained on; a list by commas of ${REJECTION_OPTIONS.join(", ")}.`,
    ),
    rollout_rs_threshold: setting(
      z.union([z.string(), positive]).nullable().default(2),
      'The bounds of each, by commas or one for all: for k1 a ratio or two ("0.5_2"), for k2 and k3 the largest value.',
    ),
    bypass_mode: setting(
      z.boolean().default(false),
      "Whether updates start from the log-probabilities that the rollout recorded, in place of computing them again: here they are the same to rounding, which some rows are still checked for. Saves a forward pass over the batch.",
    ),
  }),
});
