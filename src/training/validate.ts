/**
 * @file Validation: tasks that training never sees, played with the policy as it is.
 */
import { type Metrics, summary } from "../algorithms/index.ts";
import type { Config } from "../config/index.ts";
import type { Task } from "../environments/index.ts";
import { type ConfiguredWorld, limitsOf } from "../evaluation/index.ts";
import {
  type Collection,
  collect,
  deriveSeed,
  isValidTurn,
  TRAINABLE,
  type Trajectory,
} from "../rollout/index.ts";
import type { Ranks } from "./ranks.ts";
import type { Workers } from "./workers.ts";

/** What of an episode validation keeps. */
export interface ValidationEpisode {
  readonly task: string;
  readonly type: string | undefined;
  readonly won: boolean;
  readonly score: number;
  readonly reward: number;
  readonly turns: number;
  readonly validTurns: number;
  readonly status: Trajectory["status"];
}

export interface Validation {
  readonly episodes: readonly ValidationEpisode[];
  readonly metrics: Metrics;
  /** This process's trajectories. */
  readonly collection: Collection;
}

export async function validate(
  config: Config,
  world: ConfiguredWorld,
  workers: Workers,
  tasks: readonly Task[],
  ranks: Ranks,
  signal?: AbortSignal,
): Promise<Validation> {
  const collection = await collect({
    world: world.world,
    about: world.about,
    agent: workers.agent,
    policy: workers.validationPolicy,
    limits: limitsOf(config, world.turns),
    tasks: tasks.filter((_, i) => i % ranks.size === ranks.rank),
    members: config.actor_rollout_ref.rollout.val_kwargs.n,
    // The same draws whenever validation is done: what changes is the policy.
    seed: deriveSeed(config.trainer.seed, "validation"),
    ...(config.env.rollout.concurrency !== undefined && {
      concurrency: config.env.rollout.concurrency,
    }),
    retries: config.env.rollout.retries,
    signal,
  });
  const own = collection.all.map(
    (trajectory): ValidationEpisode => ({
      task: trajectory.task.id,
      type: trajectory.task.type,
      won: trajectory.won,
      score: trajectory.score,
      reward: trajectory.reward,
      turns: trajectory.turns.length,
      validTurns: trajectory.turns.filter((turn) => isValidTurn(turn, config.env.validity)).length,
      status: trajectory.status,
    }),
  );
  const episodes = ranks.gather(own).flat();
  return { episodes, metrics: validationMetrics(episodes), collection };
}

/** Episodes that ended through no doing of the agent are neither won nor lost: left out, and counted. */
export function validationMetrics(all: readonly ValidationEpisode[]): Metrics {
  const episodes = all.filter(({ status }) => TRAINABLE.has(status));
  const leftOut = all.length - episodes.length;
  if (episodes.length === 0) return leftOut === 0 ? {} : { "val/left_out_episodes": leftOut };
  const rate = (some: readonly ValidationEpisode[]) =>
    some.filter(({ won }) => won).length / some.length;
  const turns = episodes.reduce((sum, episode) => sum + episode.turns, 0);
  const valid = episodes.reduce((sum, episode) => sum + episode.validTurns, 0);
  const metrics: Metrics = {
    ...(leftOut > 0 && { "val/left_out_episodes": leftOut }),
    "val/success_rate": rate(episodes),
    "val/score": episodes.reduce((sum, { score }) => sum + score, 0) / episodes.length,
    "val/reward": episodes.reduce((sum, { reward }) => sum + reward, 0) / episodes.length,
    "val/valid_action_ratio": turns === 0 ? 0 : valid / turns,
    ...summary(
      "val-aux/num_turns",
      episodes.map((episode) => episode.turns),
    ),
  };
  const types = [...new Set(episodes.flatMap(({ type }) => type ?? []))].sort();
  for (const type of types)
    metrics[`val/${type}_success_rate`] = rate(episodes.filter((episode) => episode.type === type));
  return metrics;
}
