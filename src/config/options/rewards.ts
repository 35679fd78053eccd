/**
 * @file What an episode is worth, from the settings reward.
 */
import { askServer, requireModelFolder } from "../../assembly/index.ts";
import {
  consistency,
  environment,
  exploration,
  format,
  goal,
  invalidActions,
  judge,
  klPenalty,
  lengthPenalty,
  overlong,
  type RewardComponent,
  repetition,
  requireScorer,
  rewardModel,
  type ScorerOptions,
  score,
  timePenalty,
} from "../../rewards/index.ts";
import { hasNoReward } from "../combinations.ts";
import { ConfigError } from "../override.ts";
import type { FoundParts } from "../own-parts.ts";
import type { Config } from "../schema.ts";
import { secretOf } from "../secrets.ts";
import { deviceOf } from "./device.ts";

export function rewardComponents(config: Config, { rewards: own }: FoundParts): RewardComponent[] {
  const { reward, reward_model, data, env } = config;
  const { overlong_buffer: buffer } = reward_model;
  const components = [
    environment(reward.environment),
    goal(reward.goal, reward.goal_failure),
    score(reward.score),
    timePenalty(reward.time_penalty),
    lengthPenalty(reward.length_penalty, {
      maximum: reward.length_maximum,
      minimum: reward.length_minimum,
      growth: reward.length_growth,
    }),
    format(reward.format),
    invalidActions(reward.invalid_actions, env.validity),
    repetition(reward.repetition),
    exploration(reward.exploration),
    consistency(reward.consistency),
    klPenalty(reward.kl),
    ...(buffer.enable
      ? [
          overlong(buffer.penalty_factor, {
            maximum: data.max_response_length,
            buffer: Math.min(buffer.len, data.max_response_length),
          }),
        ]
      : []),
    ...(reward.judge === 0 ? [] : [judgeOf(reward)]),
    ...(reward.model === 0 ? [] : [rewardModelOf(config)]),
  ];
  if (hasNoReward(config) && own.length === 0)
    throw new ConfigError("every weight of reward.* is 0, and there is no reward of one's own");
  return [...components.filter(({ weight }) => weight !== 0), ...own];
}

function rewardModelOf({ reward, actor_rollout_ref: policy, trainer }: Config): RewardComponent {
  const folder = requireModelFolder(reward.model_path!);
  try {
    requireScorer(folder, "reward model");
  } catch (error) {
    throw new ConfigError(`reward.model_path: ${(error as Error).message}`);
  }
  const device = deviceOf(trainer.device) as ScorerOptions["device"];
  return rewardModel(reward.model, folder, { dtype: policy.model.dtype, device });
}

function judgeOf(reward: Config["reward"]): RewardComponent {
  const ask = askServer({
    name: "reward.judge_endpoint",
    endpoint: reward.judge_endpoint!,
    model: reward.judge_model,
    key: secretOf("reward.judge_api_key", reward.judge_api_key),
    maximumTokens: 200,
  });
  return judge(reward.judge, {
    ask,
    ...(reward.judge_rubric !== undefined && { rubric: reward.judge_rubric }),
  });
}
