/**
 * @file Validation: tasks that training never sees, played with the policy as it is.
 */
import { type Metrics, summary } from "../algorithms/index.ts";
import type { Config } from "../config/index.ts";
import type { Task } from "../environments/index.ts";
import {
  type ConfiguredWorld,
  type EpisodeFacts,
  episodeFacts,
  evaluate,
} from "../evaluation/index.ts";
import { type Collection, TRAINABLE } from "../rollout/index.ts";
import type { Ranks } from "./ranks.ts";
import type { Workers } from "./workers.ts";

export interface Validation {
  readonly episodes: readonly EpisodeFacts[];
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
  const collection = await evaluate({
    config,
    world,
    player: { policy: workers.validationPolicy, agent: workers.agent },
    tasks: tasks.filter((_, i) => i % ranks.size === ranks.rank),
    members: config.actor_rollout_ref.rollout.val_kwargs.n,
    signal,
  });
  const own = collection.all.map((trajectory) => episodeFacts(trajectory, config.env.validity));
  const episodes = ranks.gather(own).flat();
  return { episodes, metrics: validationMetrics(episodes), collection };
}

/** Episodes that ended through no doing of the agent are neither won nor lost: left out, and counted. */
export function validationMetrics(all: readonly EpisodeFacts[]): Metrics {
  const episodes = all.filter(({ status }) => TRAINABLE.has(status));
  const leftOut = all.length - episodes.length;
  if (episodes.length === 0) return leftOut === 0 ? {} : { "val/left_out_episodes": leftOut };
  const rate = (some: readonly EpisodeFacts[]) =>
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
