/**
 * @file The rewards of an iteration's groups: every component is asked once for every episode.
 */
import { type ComposedReward, composeGroup, type RewardError } from "../../rewards/index.ts";
import { type EpisodeGroup, packTrajectories, type Trajectory } from "../../rollout/index.ts";
import { batchLogprobs } from "../workers/actor.ts";
import type { CollectParts } from "./collect.ts";

export interface ScoredEpisode {
  readonly trajectory: Trajectory;
  readonly reward: ComposedReward;
}

export interface ScoredGroup extends Omit<EpisodeGroup, "trajectories"> {
  readonly episodes: readonly ScoredEpisode[];
}

export interface ScoredGroups {
  /** Groups that lost all their episodes are left out. */
  readonly groups: readonly ScoredGroup[];
  readonly errors: readonly {
    readonly trajectory: Trajectory;
    /** Whose fault it is. */
    readonly component: string;
    readonly message: string;
  }[];
}

export async function scoreGroups(
  parts: Pick<CollectParts, "options" | "workers" | "composer">,
  groups: readonly EpisodeGroup[],
  /** Of an episode at most. */
  maximumTurns: number,
): Promise<ScoredGroups> {
  const { composer } = parts;
  const needsKl = composer.components.some((component) => component.needsKl);
  const kl = needsKl ? referenceKl(parts, groups) : undefined;
  const scored: ScoredGroup[] = [];
  const errors: ScoredGroups["errors"][number][] = [];
  for (const { id, task, trajectories } of groups) {
    const composed = await composeGroup(composer, trajectories, {
      maximumTurns,
      ...(kl && { kl }),
    });
    const failed = new Map(composed.errors.map((error: RewardError) => [error.trajectory, error]));
    const episodes: ScoredEpisode[] = [];
    for (const trajectory of trajectories) {
      const reward = composed.rewards.get(trajectory);
      const error = failed.get(trajectory.id);
      if (reward) episodes.push({ trajectory, reward });
      else
        errors.push({
          trajectory,
          component: error?.component ?? "",
          message: error?.message ?? "no reward",
        });
    }
    if (episodes.length > 0) scored.push({ id, task, episodes });
  }
  return { groups: scored, errors };
}

/** log p − log p_reference of each episode, summed over its tokens. */
function referenceKl(
  { options, workers }: Pick<CollectParts, "options" | "workers">,
  groups: readonly EpisodeGroup[],
): (trajectory: Trajectory) => number | undefined {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const batch = packTrajectories(trajectories);
  // What was recorded is of the model itself, so the reference's must be, whatever is drawn at.
  const passes = { ...options.passes, temperature: 1 };
  const reference = batchLogprobs(workers.reference!, batch, passes);
  const sums = new Map<string, number>();
  for (const [row, i] of batch.trajectoryOf.entries()) {
    let sum = sums.get(trajectories[i]!.id) ?? 0;
    for (let token = batch.rows.offsets[row]!; token < batch.rows.offsets[row + 1]!; token++)
      if (batch.rows.mask[token] === 1) sum += batch.logprobs[token]! - reference[token]!;
    sums.set(trajectories[i]!.id, sum);
  }
  return ({ id }) => sums.get(id);
}
