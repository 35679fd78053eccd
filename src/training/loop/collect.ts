/**
 * @file The episodes of an iteration, in three steps, each done once:
 *
 *   play     this rank's groups of episodes
 *   score    every reward component, for every episode that can be used
 *   filter   groups without spread are replaced (dynamic sampling), where that is asked for
 *
 * What is filtered by is what is trained on. Episodes that are left out keep the reason.
 */
import { dynamicSampling, type Metrics } from "../../algorithms/index.ts";
import type { RunWorld } from "../../assembly/index.ts";
import type { ComposedReward, RewardComposer } from "../../rewards/index.ts";
import {
  type Batch,
  type Collection,
  collect,
  type EpisodeGroup,
  isTrainable,
  mergeAccounts,
  type Policy,
  type RolloutAccount,
  type Trajectory,
} from "../../rollout/index.ts";
import type { GroupFilter, TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { Workers } from "../workers/workers.ts";
import { type ScoredGroup, scoreGroups } from "./score.ts";
import type { Stopwatch } from "./stopwatch.ts";
import { type DrawnTask, shareOf, type TaskOrder, taskShare } from "./task-order.ts";

export interface CollectParts {
  readonly options: TrainingOptions;
  readonly world: RunWorld;
  readonly workers: Workers;
  readonly ranks: Ranks;
  readonly composer: RewardComposer;
  /** A sentence for whoever watches. */
  readonly say: (text: string) => void;
  readonly onEpisode?: ((trajectory: Trajectory) => void) | undefined;
}

export interface IterationEpisodes {
  /** What is trained on, group after group, with its breakdown. */
  readonly trajectories: readonly Trajectory[];
  /** [trajectories] */
  readonly rewards: readonly ComposedReward[];
  /** Every episode that was played, also those that are left out, which say why. */
  readonly all: readonly Trajectory[];
  readonly account: RolloutAccount;
  readonly metrics: Metrics;
  /** What of the rollout was the model's work. */
  readonly generation: { readonly seconds: number; readonly computedTokens: number };
  /** [rows] Scores of greedy episodes of the rows' tasks, where the estimator needs them. */
  readonly baselines: ((batch: Batch) => Float64Array) | undefined;
}

export async function collectEpisodes(
  parts: CollectParts,
  train: TaskOrder,
  iteration: number,
  time: Stopwatch,
): Promise<IterationEpisodes> {
  const { options, workers, ranks, say } = parts;
  const { rollout } = options;
  const before = { ...workers.rollout.statistics };
  const share = taskShare(train, ranks);
  const wanted = shareOf(rollout.tasks, ranks);
  // Only what was filtered out is played for again.
  const rounds = rollout.filter?.rounds ?? 1;
  const kept: ScoredGroup[] = [];
  const played: Collection[] = [];
  const reasons = new Map<Trajectory, string>();
  let dropped = 0;

  while (played.length < rounds && kept.length < wanted) {
    const count = rollout.filter
      ? wanted - kept.length
      : shareOf(rollout.tasks + rollout.oversample, ranks);
    const collection = await time.asyncPhase("gen", () =>
      play(parts, share.next(count), {
        iteration,
        round: played.length,
        members: rollout.groupSize,
      }),
    );
    played.push(collection);
    const scored = await time.asyncPhase("reward", () => scoreGroups(parts, collection.groups));
    for (const { trajectory, message } of scored.errors) reasons.set(trajectory, message);
    tellErrors(scored.errors, say);
    const chosen = rollout.filter ? withSpread(scored.groups, rollout.filter) : scored.groups;
    for (const group of scored.groups)
      if (!chosen.includes(group)) {
        dropped++;
        for (const { trajectory } of group.episodes)
          reasons.set(trajectory, "its group did equally well: nothing to compare");
      }
    kept.push(...chosen);
  }
  // Some ranks may have needed more rounds than others: all go on from behind the last task drawn.
  train.drawn += rollout.filter
    ? ranks.size * Math.max(...ranks.gather(share.count))
    : rollout.tasks + rollout.oversample;

  const account = mergeAccounts(played.map((collection) => collection.account));
  for (const error of account.errors) say(`iteration ${iteration}: ${error}`);
  const baselines = options.advantages.estimator.needs.greedyBaseline
    ? await time.asyncPhase("gen", () => greedyBaselines(parts, kept, iteration))
    : undefined;
  const { seconds, computedTokens } = workers.rollout.statistics;
  const episodes = kept.flatMap((group) => group.episodes);
  const composed = new Map(episodes.map(({ trajectory, reward }) => [trajectory, reward]));
  const all = played
    .flatMap((collection) => collection.all)
    .map((trajectory) => finished(trajectory, composed.get(trajectory), reasons.get(trajectory)));
  return {
    trajectories: episodes.map(({ trajectory, reward }) => ({
      ...trajectory,
      rewards: reward.breakdown,
    })),
    rewards: episodes.map(({ reward }) => reward),
    all,
    account,
    metrics: {
      ...(rollout.filter && {
        "training/sampling_rounds": played.length / ranks.size,
        "training/dropped_groups": dropped,
      }),
      "training/left_out_episodes": account.leftOut,
      "training/retried_episodes": account.retries,
    },
    generation: {
      seconds: seconds - before.seconds,
      computedTokens: computedTokens - before.computedTokens,
    },
    baselines,
  };
}

/** So many of an iteration's failed rewards are told; they are mostly the same. */
const TOLD_ERRORS = 3;

function tellErrors(errors: readonly { message: string }[], say: (text: string) => void): void {
  for (const { message } of errors.slice(0, TOLD_ERRORS)) say(message);
  const more = errors.length - TOLD_ERRORS;
  if (more > 0)
    say(`… and ${more} more episodes whose reward failed (trajectories list shows them)`);
}

/** An episode as it is stored: with its reward, or with the reason why it has none. */
function finished(
  trajectory: Trajectory,
  reward: ComposedReward | undefined,
  reason: string | undefined,
): Trajectory {
  if (reward) return { ...trajectory, rewards: reward.breakdown };
  const why = isTrainable(trajectory) ? "enough groups were complete" : trajectory.status;
  return { ...trajectory, dropped: reason ?? why };
}

interface PlayChoice {
  readonly iteration: number;
  /** Rollouts of the same iteration before. */
  readonly round?: number;
  readonly members: number;
  readonly policy?: Policy;
}

function play(
  { options, world, workers, ranks, onEpisode }: CollectParts,
  drawn: readonly DrawnTask[],
  { iteration, round = 0, members, policy = workers.rollout.policy }: PlayChoice,
): Promise<Collection> {
  const { rollout, play: playing } = options;
  const enough = shareOf(rollout.tasks, ranks);
  // Weights are named by the iterations that made them, in whatever session.
  return workers.generating(iteration - 1, () =>
    collect({
      world: world.world,
      about: world.about,
      agent: workers.rollout.agent,
      policy,
      limits: { ...playing.limits, turns: world.turns },
      tasks: drawn.map(({ task }) => task),
      earlier: drawn.map(({ earlier }) => earlier),
      members,
      seed: options.seed,
      step: iteration,
      round,
      ...(playing.concurrency !== undefined && { concurrency: playing.concurrency }),
      retries: playing.retries,
      ...(rollout.oversample > 0 && enough > 0 && drawn.length > enough && { enough }),
      ...(onEpisode && { onEpisode }),
    }),
  );
}

/** The groups whose members did not all do equally well. */
function withSpread(groups: readonly ScoredGroup[], { metric }: GroupFilter): ScoredGroup[] {
  const of = ({ trajectory, reward }: ScoredGroup["episodes"][number]): number =>
    metric === "success"
      ? Number(trajectory.won)
      : metric === "score"
        ? trajectory.score
        : reward.total;
  const episodes = groups.flatMap((group) => group.episodes);
  const kept = new Set(
    dynamicSampling(
      Float64Array.from(episodes, of),
      groups.flatMap(({ id, episodes: members }) => members.map(() => id)),
    ).kept,
  );
  return groups.filter(({ id }) => kept.has(id));
}

/** One greedy episode per task, for ReMax: its reward is what the others are compared with. */
async function greedyBaselines(
  parts: CollectParts,
  groups: readonly Pick<EpisodeGroup, "task">[],
  iteration: number,
): Promise<(batch: Batch) => Float64Array> {
  // Greedy episodes of one task are all the same: one each, whoever asks how often it came.
  const tasks = new Map(groups.map(({ task }) => [task.id, { task, earlier: 0 }]));
  const { groups: played } = await play({ ...parts, onEpisode: undefined }, [...tasks.values()], {
    iteration,
    policy: parts.workers.rollout.greedy,
    members: 1,
  });
  const scored = await scoreGroups(parts, played);
  const scores = new Map<string, number>();
  for (const { task, episodes } of scored.groups) scores.set(task.id, episodes[0]!.reward.total);
  return ({ trajectoryOf, trajectories }) =>
    Float64Array.from(trajectoryOf, (i) => scores.get(trajectories[i]!.task.id) ?? 0);
}
