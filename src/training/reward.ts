/**
 * @file The reward of the configuration: its components, composed for the groups of an iteration.
 */
import type { Config } from "../config/index.ts";
import type { Ask } from "../evaluation/index.ts";
import {
  type ComposedReward,
  composeGroup,
  consistency,
  environment,
  exploration,
  format,
  goal,
  invalidActions,
  judge,
  klPenalty,
  lengthPenalty,
  type RewardComponent,
  type RewardComposer,
  type RewardError,
  repetition,
  rewardComposer,
  score,
  timePenalty,
} from "../rewards/index.ts";
import type { EpisodeGroup, Trajectory } from "../rollout/index.ts";

export function composerOf(
  { reward, env }: Config,
  own: readonly RewardComponent[] = [],
  askJudge?: Ask,
): RewardComposer {
  const components: RewardComponent[] = [
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
    ...(askJudge
      ? [
          judge(reward.judge, {
            ask: askJudge,
            ...(reward.judge_rubric !== undefined && { rubric: reward.judge_rubric }),
          }),
        ]
      : []),
  ];
  return rewardComposer([...components.filter(({ weight }) => weight !== 0), ...own]);
}

export interface RewardedEpisodes {
  /** Episodes whose reward could be computed, group after group. */
  readonly trajectories: readonly Trajectory[];
  /** Theirs, in the same order. */
  readonly rewards: readonly ComposedReward[];
  readonly errors: readonly RewardError[];
}

/** Composes the rewards of all groups; the trajectories come back with their breakdown. */
export async function rewardGroups(
  composer: RewardComposer,
  groups: readonly EpisodeGroup[],
  maximumTurns: number,
  kl?: (trajectory: Trajectory) => number | undefined,
): Promise<RewardedEpisodes> {
  const trajectories: Trajectory[] = [];
  const rewards: ComposedReward[] = [];
  const errors: RewardError[] = [];
  for (const group of groups) {
    const composed = await composeGroup(composer, group.trajectories, {
      maximumTurns,
      ...(kl && { kl }),
    });
    errors.push(...composed.errors);
    for (const trajectory of group.trajectories) {
      const reward = composed.rewards.get(trajectory);
      if (!reward) continue;
      trajectories.push({ ...trajectory, rewards: reward.breakdown });
      rewards.push(reward);
    }
  }
  return { trajectories, rewards, errors };
}
