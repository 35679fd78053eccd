/**
 * @file Validation: tasks that training never sees, played with the policy as it is.
 */
import { type Metrics, summary } from "../../algorithms/index.ts";
import { evaluate, type RunWorld } from "../../assembly/index.ts";
import type { Task } from "../../environments/index.ts";
import { type EpisodeFacts, episodeFacts } from "../../evaluation/index.ts";
import { type Collection, TRAINABLE } from "../../rollout/index.ts";
import type { TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { Workers } from "../workers/workers.ts";

export interface Validation {
  /** Of all ranks. */
  readonly episodes: readonly EpisodeFacts[];
  /** Undefined where no episode counts. */
  readonly successRate: number | undefined;
  readonly metrics: Metrics;
  /** This rank's trajectories. */
  readonly collection: Collection;
}

export async function validate(
  options: TrainingOptions,
  world: RunWorld,
  workers: Workers,
  tasks: readonly Task[],
  ranks: Ranks,
  iteration: number,
): Promise<Validation> {
  const { rollout } = workers;
  const collection = await workers.generating(iteration, () =>
    evaluate({
      play: options.play,
      world,
      player: { policy: rollout.validation, agent: rollout.agent },
      tasks: tasks.filter((_, i) => i % ranks.size === ranks.rank),
      members: options.validation.members,
    }),
  );
  const own = collection.all.map((trajectory) => episodeFacts(trajectory, options.play.validity));
  const episodes = ranks.gather(own).flat();
  return { episodes, ...validationResult(episodes), collection };
}

/** Episodes that ended through no doing of the agent are neither won nor lost: left out, and counted. */
export function validationResult(
  all: readonly EpisodeFacts[],
): Pick<Validation, "successRate" | "metrics"> {
  const episodes = all.filter(({ status }) => TRAINABLE.has(status));
  const leftOut = all.length - episodes.length;
  if (episodes.length === 0)
    return {
      successRate: undefined,
      metrics: leftOut === 0 ? {} : { "val/left_out_episodes": leftOut },
    };
  const rate = (some: readonly EpisodeFacts[]) =>
    some.filter(({ won }) => won).length / some.length;
  const turns = episodes.reduce((sum, episode) => sum + episode.turns, 0);
  const valid = episodes.reduce((sum, episode) => sum + episode.validTurns, 0);
  const successRate = rate(episodes);
  const metrics: Metrics = {
    ...(leftOut > 0 && { "val/left_out_episodes": leftOut }),
    "val/success_rate": successRate,
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
  return { successRate, metrics };
}
