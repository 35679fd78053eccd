/**
 * @file One step off: the episodes of the next iteration are played with the weights of this one. Servers play them
 * while this iteration learns; the engine in this process plays them first, which gives the same.
 *
 *   iteration           1         2         3         4
 *   weights that play   0         0         1         2      (in order: 0 1 2 3)
 *
 * What was played ahead is part of a checkpoint: a run that goes on learns from the same episodes.
 */
import type { Metrics } from "../../algorithms/index.ts";
import type { Curriculum } from "../curriculum/curriculum.ts";
import { type CollectParts, collectEpisodes, type IterationEpisodes } from "./collect.ts";
import { type Stopwatch, stopwatch } from "./stopwatch.ts";

/** Episodes that were played before their iteration. */
export interface AheadEpisodes {
  readonly iteration: number;
  readonly episodes: IterationEpisodes;
}

export interface Ahead {
  /** The episodes of an iteration: those that were played ahead, or new ones. */
  take(iteration: number, time: Stopwatch): Promise<IterationEpisodes>;
  /** Begins to play for an iteration, with the weights as they are: after two iterations less. */
  begin(iteration: number): Promise<void>;
  /** Waits until nothing is being played; gives what was and is not taken yet. */
  settled(): Promise<AheadEpisodes | undefined>;
}

interface Pending {
  readonly iteration: number;
  readonly time: Stopwatch;
  readonly episodes: Promise<IterationEpisodes>;
}

/** `before`: what a checkpoint had. */
export function playAhead(
  parts: CollectParts,
  curriculum: Curriculum,
  before?: AheadEpisodes,
): Ahead {
  const { rollout } = parts.options;
  let pending: Pending | undefined = before && {
    iteration: before.iteration,
    time: stopwatch(),
    episodes: Promise.resolve(before.episodes),
  };
  return {
    async take(iteration, time) {
      const found = pending;
      pending = undefined;
      if (found?.iteration !== iteration)
        return collectEpisodes(parts, curriculum, iteration, time);
      const episodes = await time.asyncPhase("wait_for_rollout", () => found.episodes);
      time.add(found.time);
      return episodes;
    },
    async begin(iteration) {
      if (!rollout.oneStepOff) return;
      const time = stopwatch();
      const weights = iteration - 2;
      // Servers must have the weights before those are changed here.
      if (rollout.served) await parts.workers.generating(weights, async () => {});
      const episodes = collectEpisodes(parts, curriculum, iteration, time, weights);
      pending = { iteration, time, episodes };
      // Whoever takes them hears of it; nobody else must.
      episodes.catch(() => {});
      if (!rollout.served) await episodes;
    },
    async settled() {
      return pending && { iteration: pending.iteration, episodes: await pending.episodes };
    },
  };
}

/** How many iterations older than it could be the policy was that drew a token; over all that are trained on. */
export function stalenessMetrics(
  { trajectories }: Pick<IterationEpisodes, "trajectories">,
  iteration: number,
): Metrics {
  let [sum, tokens, most] = [0, 0, 0];
  for (const { turns } of trajectories)
    for (const { reply } of turns) {
      const staleness = iteration - 1 - reply.weightsVersion;
      sum += staleness * reply.ids.length;
      tokens += reply.ids.length;
      most = Math.max(most, staleness);
    }
  if (tokens === 0) return {};
  return { "training/staleness/mean": sum / tokens, "training/staleness/max": most };
}
