/**
 * @file Settings that are right one by one and wrong together, and the defaults that depend on others.
 */
import { type AdvantageEstimator, advantageEstimators } from "../algorithms/index.ts";
import type { OwnNames } from "./names.ts";
import { ConfigError, isTree, type Tree } from "./override.ts";
import type { Config } from "./schema.ts";

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
  ...(["invalid_actions", "repetition", "exploration", "consistency", "kl", "judge"] as const),
] as const;

/** Whether all of reward.* is 0: then somebody else has to bring a reward. */
export function hasNoReward({ reward }: Config): boolean {
  return REWARDS.every((name) => reward[name] === 0);
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
  const files = [...reward.files, config.custom_reward_function.path ?? []].flat();
  if (files.length === 0 && !own.rewards?.length && hasNoReward(config))
    problems.push("every weight of reward.* is 0; there would be nothing to learn from.");
  if (reward.judge !== 0 && reward.judge_endpoint === undefined)
    problems.push("reward.judge needs reward.judge_endpoint, the address of the judge's server.");
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
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
}
