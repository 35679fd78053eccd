/**
 * @file Validation: tasks that training never sees, played with the policy as it is.
 */
import { type Metrics, summary } from "../../algorithms/index.ts";
import { evaluate, type RunWorld } from "../../assembly/index.ts";
import type { Task } from "../../environments/index.ts";
import { type EpisodeFacts, episodeFacts, isOfKind, kindsOf } from "../../evaluation/index.ts";
import { TRAINABLE, type Trajectory } from "../../rollout/index.ts";
import type { TrainingOptions } from "../options.ts";
import { inOrder, ownShare } from "../ranks/deal.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { Workers } from "../workers/workers.ts";

export interface Validation {
  /** Of all ranks. */
  readonly episodes: readonly EpisodeFacts[];
  /** Undefined where no episode counts. */
  readonly successRate: number | undefined;
  readonly metrics: Metrics;
  /** On rank 0; of all ranks where episodes are kept. */
  readonly trajectories: readonly Trajectory[];
}

export async function validate(
  options: TrainingOptions,
  world: RunWorld,
  workers: Workers,
  tasks: readonly Task[],
  ranks: Ranks,
  iteration: number,
  ending?: AbortSignal,
): Promise<Validation> {
  const { rollout } = workers;
  const { members } = options.validation;
  const collection = await workers.generating(iteration, () =>
    evaluate({
      // The policy itself is measured, not what a search makes of it.
      play: { ...options.play, search: undefined },
      world,
      player: { policy: rollout.validation, agent: rollout.agent },
      tasks: ownShare(tasks, ranks),
      members,
      ending,
      signal: ranks.lost,
    }),
  );
  const own = collection.all.map((trajectory) => episodeFacts(trajectory, options.play.validity));
  const episodes = inOrder(ranks.gather(own), members);
  const trajectories =
    ranks.size === 1 || !options.run.keepTrajectories
      ? collection.all
      : inOrder(ranks.toFirst(collection.all), members);
  return { episodes, ...validationResult(episodes), trajectories };
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
    "val/episodes": episodes.length,
    "val/success_rate": successRate,
    "val/score": episodes.reduce((sum, { score }) => sum + score, 0) / episodes.length,
    "val/reward": episodes.reduce((sum, { reward }) => sum + reward, 0) / episodes.length,
    "val/valid_action_ratio": turns === 0 ? 0 : valid / turns,
    ...summary(
      "val-aux/num_turns",
      episodes.map((episode) => episode.turns),
    ),
  };
  for (const kind of kindsOf(episodes.map(({ type }) => type)))
    metrics[`val/${kind}_success_rate`] = rate(episodes.filter(({ type }) => isOfKind(type, kind)));
  return { successRate, metrics };
}
