/**
 * @file Settings that are right one by one and wrong together, and the defaults that depend on others.
 */
import { type AdvantageEstimator, advantageEstimators } from "../algorithms/index.ts";
import { ALARM_NAMES } from "../evaluation/index.ts";
import { nearest } from "../spelling/index.ts";
import type { OwnNames } from "./names.ts";
import { ConfigError, isTree, type Tree } from "./override.ts";
import type { Config } from "./schema.ts";
import { servedProblems } from "./engines/served.ts";

/** The estimator of a name; undefined for one of one's own, which is not loaded here. */
export function namedEstimator(name: string): AdvantageEstimator | undefined {
  return Object.hasOwn(advantageEstimators, name)
    ? advantageEstimators[name as keyof typeof advantageEstimators]
    : undefined;
}

/** Episodes per task. `estimator`: where it is one of one's own. */
export function groupSize(config: Config, estimator?: AdvantageEstimator): number {
  const {
    algorithm,
    actor_rollout_ref: { rollout },
    env,
  } = config;
  const found = estimator ?? namedEstimator(algorithm.adv_estimator);
  return env.rollout.n ?? rollout.n ?? (found?.needs.groups ? 8 : 1);
}

/** What is missing for an estimator, in a sentence; undefined: nothing. */
export function missingGroups(name: string, estimator: AdvantageEstimator, size: number) {
  if (!estimator.needs.groups || size >= 2) return undefined;
  return (
    `algorithm.adv_estimator=${name} compares the episodes of a group, but env.rollout.n is ` +
    `${size}; set it to 2 or more (8 is usual), or use gae.`
  );
}

/** The discount: of steps in gigpo and hgpo, of tokens elsewhere. */
export function discount({ algorithm }: Config): number {
  const ofSteps = algorithm.adv_estimator === "gigpo" || algorithm.adv_estimator === "hgpo";
  return algorithm.gamma ?? (ofSteps ? 0.95 : 1);
}

export function totalIterations({ trainer }: Config): number {
  return trainer.total_training_steps ?? trainer.total_epochs;
}

const REWARDS = [
  ...(["environment", "goal", "score", "time_penalty", "length_penalty", "format"] as const),
  ...([
    "invalid_actions",
    "repetition",
    "exploration",
    "consistency",
    "kl",
    "judge",
    "model",
  ] as const),
] as const;

/** Judges of a search that are models of their own. */
const MODEL_JUDGES: readonly string[] = ["reward_model", "critic"];

/** Whether all of reward.* is 0: then somebody else has to bring a reward. */
export function hasNoReward({ reward }: Config): boolean {
  return REWARDS.every((name) => reward[name] === 0);
}

/** What cannot be played ahead. */
function aheadProblems(config: Config, estimator: AdvantageEstimator | undefined): string[] {
  const { rollout } = config.actor_rollout_ref;
  if (!rollout.one_step_off) return [];
  const name = "actor_rollout_ref.rollout.one_step_off";
  const { rollout_is: weights, bypass_mode } = config.algorithm.rollout_correction;
  const problems: string[] = [];
  if (weights === null || weights === "none")
    problems.push(
      `${name}=True learns from episodes of older weights: set algorithm.rollout_correction.rollout_is to token or ` +
        "sequence, which corrects for it.",
    );
  const isUnknown = rollout.temperature !== 1 && (rollout.top_k > 0 || rollout.top_p < 1);
  if (isUnknown)
    problems.push(
      `${name}=True needs the log-probabilities of what was drawn: temperature 1, or neither top_k nor top_p.`,
    );
  if (bypass_mode)
    problems.push(
      `${name}=True and algorithm.rollout_correction.bypass_mode=True: recorded log-probabilities are those of older ` +
        "weights, and some rows are compared with those of now.",
    );
  if (estimator?.needs.greedyBaseline)
    problems.push(
      `${name}=True cannot play the greedy episodes of algorithm.adv_estimator=${config.algorithm.adv_estimator} ahead.`,
    );
  return problems;
}

/** What nothing can be learned from again with. */
function replayProblems({ algorithm, actor_rollout_ref: policy }: Config): string[] {
  const { replay } = algorithm;
  if (!replay.enable) return [];
  const { rollout } = policy;
  const name = "algorithm.replay.enable=True";
  const problems: string[] = [];
  if (rollout.one_step_off)
    problems.push(
      `${name} and actor_rollout_ref.rollout.one_step_off=True both learn from what older weights drew; use one of them.`,
    );
  const isOther = rollout.temperature !== 1 || rollout.constrain;
  if (isOther && (rollout.top_k > 0 || rollout.top_p < 1))
    problems.push(
      `${name} needs the log-probabilities of what was drawn: temperature 1 without constrain, or neither top_k nor top_p.`,
    );
  if (replay.rescue && algorithm.filter_groups.enable)
    problems.push(
      "algorithm.filter_groups.enable=True drops groups in which nobody won before algorithm.replay.rescue=True could help " +
        "them; set one of the two to False.",
    );
  if (!replay.rescue && replay.share === 0)
    problems.push(
      `${name} replays nothing with rescue=False and share=0; set algorithm.replay.share.`,
    );
  return problems;
}

/** What a run cannot go back with, and alarms that do not exist. */
function alarmProblems({ trainer, actor_rollout_ref: policy }: Config): string[] {
  const problems: string[] = [];
  const known: readonly string[] = ["all", ...ALARM_NAMES];
  for (const name of trainer.ignore_alarms)
    if (!known.includes(name)) {
      const guess = nearest(name, known);
      problems.push(
        `trainer.ignore_alarms names "${name}"; ${guess ? `did you mean ${guess}?` : `there are ${known.join(", ")}.`}`,
      );
    }
  if (trainer.on_alarm !== "rollback") return problems;
  if (trainer.save_freq < 1)
    problems.push(
      `trainer.on_alarm=rollback goes back to a checkpoint, and trainer.save_freq=${trainer.save_freq} makes none while ` +
        "the run goes on; set it to 10 or so.",
    );
  if (policy.rollout.one_step_off)
    problems.push(
      "trainer.on_alarm=rollback cannot go back with actor_rollout_ref.rollout.one_step_off=True, whose next episodes " +
        "are played already; use on_alarm=stop.",
    );
  return problems;
}

export function checkCombinations(config: Config, given: Tree, own: OwnNames = {}): void {
  const problems: string[] = [];
  const { algorithm, actor_rollout_ref: policy, env, reward, trainer } = config;
  const estimator = namedEstimator(algorithm.adv_estimator);
  const size = groupSize(config);

  const missing = estimator && missingGroups(algorithm.adv_estimator, estimator, size);
  if (missing) problems.push(missing);
  if (algorithm.filter_groups.enable && size < 2)
    problems.push(
      `algorithm.filter_groups.enable=True drops groups whose members did equally well, but ` +
        `env.rollout.n is ${size}; set it to 2 or more.`,
    );
  if (env.context === "conversation") {
    const asked = isTree(given.env) ? given.env : {};
    for (const name of ["history", "history_length"])
      if (asked[name] !== undefined)
        problems.push(
          `env.${name} is about prompts that are made anew for every turn; it needs env.context=steps ` +
            "(in a conversation the whole past is there).",
        );
    if (env.use_summary) problems.push("env.use_summary=True needs env.context=steps.");
  }
  const { by } = config.data.curriculum;
  if (by !== "none" && by !== "horizon" && !config.data.shuffle)
    problems.push(`data.curriculum.by=${by} draws tasks at random; leave data.shuffle=False out.`);
  const files = [...reward.files, config.custom_reward_function.path ?? []].flat();
  if (files.length === 0 && !own.rewards?.length && hasNoReward(config))
    problems.push("every weight of reward.* is 0; there would be nothing to learn from.");
  if (reward.judge !== 0 && reward.judge_endpoint === undefined)
    problems.push("reward.judge needs reward.judge_endpoint, the address of the judge's server.");
  if (reward.model !== 0 && reward.model_path === undefined)
    problems.push(
      "reward.model needs reward.model_path, the folder of a reward model (openmanus-rl reward-model).",
    );
  if (MODEL_JUDGES.includes(env.search.judge) && env.search.judge_path === undefined)
    problems.push(
      `env.search.judge=${env.search.judge} needs env.search.judge_path, the folder of a ` +
        `${env.search.judge === "critic" ? "run's critic" : "reward model"}.`,
    );
  if (reward.length_minimum > reward.length_maximum)
    problems.push(
      `reward.length_minimum (${reward.length_minimum}) is above reward.length_maximum (${reward.length_maximum}).`,
    );
  if (trainer.resume_mode === "resume_path" && trainer.resume_from_path === null)
    problems.push("trainer.resume_mode=resume_path needs trainer.resume_from_path.");
  if (trainer.resume_mode !== "resume_path" && trainer.resume_from_path !== null)
    problems.push("trainer.resume_from_path needs trainer.resume_mode=resume_path.");
  if (policy.actor.autocast !== "none" && policy.model.dtype !== "float32")
    problems.push(
      `actor_rollout_ref.actor.autocast=${policy.actor.autocast} keeps its weights in float32, but ` +
        `actor_rollout_ref.model.dtype is ${policy.model.dtype}.`,
    );
  const squares = estimator?.needs.squaredProbabilities || policy.actor.calculate_sum_pi_squared;
  if (policy.rollout.constrain && squares)
    problems.push(
      "actor_rollout_ref.rollout.constrain=True learns the distribution among admissible actions; the squared " +
        "probabilities of optimal_token_baseline and calculate_sum_pi_squared are of the whole vocabulary.",
    );
  problems.push(
    ...servedProblems(config),
    ...aheadProblems(config, estimator),
    ...replayProblems(config),
    ...alarmProblems(config),
  );
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
}
