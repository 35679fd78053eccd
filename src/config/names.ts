/**
 * @file Settings that name something out of a list, or a file with something of one's own: what there is,
 * and what to say when a name is neither.
 */
import { FORMAT_NAMES, PROMPT_SETS } from "../agents/index.ts";
import { advantageEstimators, policyLosses } from "../algorithms/index.ts";
import { isFileName } from "../environments/index.ts";
import { requireLoggerNames } from "../monitoring/index.ts";
import { nearest } from "../spelling/index.ts";
import { ConfigError } from "./override.ts";
import type { Config } from "./schema.ts";

export const ESTIMATOR_NAMES = Object.keys(advantageEstimators);
export const LOSS_NAMES = Object.keys(policyLosses);
export const PROMPT_NAMES = Object.keys(PROMPT_SETS);
export const HISTORY_NAMES = ["window", "summary", "memory"] as const;

/** Things that a program gives as objects: their names stand in the configuration, and are no files. */
export interface OwnNames {
  readonly format?: string;
  readonly prompts?: string;
  readonly history?: string;
  readonly estimator?: string;
  readonly loss?: string;
  readonly rewards?: readonly string[];
}

/** Throws, with the names that there are, for a name that is none of them, no file and no own thing. */
export function checkNames(config: Config, own: OwnNames = {}): void {
  const { algorithm, env, actor_rollout_ref: policy } = config;
  const rows: [path: string, value: string, names: readonly string[], own: string | undefined][] = [
    ["algorithm.adv_estimator", algorithm.adv_estimator, ESTIMATOR_NAMES, own.estimator],
    [
      "actor_rollout_ref.actor.policy_loss.loss_mode",
      policy.actor.policy_loss.loss_mode,
      LOSS_NAMES,
      own.loss,
    ],
    ["env.format", env.format, FORMAT_NAMES, own.format],
    ["env.prompts", env.prompts, PROMPT_NAMES, own.prompts],
    ["env.history", env.history, HISTORY_NAMES, own.history],
  ];
  const problems = rows
    .filter(
      ([, value, names, given]) => !(names.includes(value) || isFileName(value) || value === given),
    )
    .map(([path, value, names]) => {
      const guess = nearest(value, names);
      return (
        `${path} is "${value}", expected ${names.join(" · ")}, or the file of one's own (./name.ts).` +
        (guess ? ` Did you mean ${guess}?` : "")
      );
    });
  try {
    requireLoggerNames([config.trainer.logger].flat());
  } catch (error) {
    problems.push(`trainer.logger: ${(error as Error).message}`);
  }
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
}
