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
import type { LiveFile } from "../../monitoring/index.ts";
import type { ComposedReward, RewardComposer } from "../../rewards/index.ts";
import {
  type Batch,
  type Collection,
  collect,
  type EpisodeGroup,
  type FaultCounts,
  isTrainable,
  mergeAccounts,
  type Policy,
  type RolloutAccount,
  type Trajectory,
} from "../../rollout/index.ts";
import type { Curriculum } from "../curriculum/curriculum.ts";
import type { GroupFilter, TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { GenerationFigures, Workers } from "../workers/workers.ts";
import { type ScoredGroup, scoreGroups } from "./score.ts";
import type { Stopwatch } from "./stopwatch.ts";
import { type DrawnTask, shareOf, taskShare } from "./task-order.ts";

export interface CollectParts {
  readonly options: TrainingOptions;
  readonly world: RunWorld;
  readonly workers: Workers;
  readonly ranks: Ranks;
  readonly composer: RewardComposer;
  /** A sentence for whoever watches. */
  readonly say: (text: string) => void;
  readonly onEpisode?: ((trajectory: Trajectory) => void) | undefined;
  /** Where the newest episodes can be watched. On rank 0. */
  readonly live?: LiveFile | undefined;
  /** Aborted: the run ends after this iteration, and waits for no world twice. */
  readonly signal?: AbortSignal | undefined;
}

export interface IterationEpisodes {
  /** What is trained on, group after group, with its breakdown. */
  readonly trajectories: readonly Trajectory[];
  /** [trajectories] */
  readonly rewards: readonly ComposedReward[];
  /** Every episode that was played, also those that are left out, which say why. */
  readonly all: readonly Trajectory[];
  /** The component's name for each episode of this rank whose reward failed. */
  readonly failedRewards: readonly string[];
  /** By group: the place of its task in the order of tasks. */
  readonly places: ReadonlyMap<string, number>;
  /** Of all ranks. */
  readonly account: RolloutAccount;
  /** Of all ranks. */
  readonly metrics: Metrics;
  /** What of the rollout was the model's work. */
  readonly generation: GenerationFigures;
  /** [rows] Scores of greedy episodes of the rows' tasks, where the estimator needs them. */
  readonly baselines: ((batch: Batch) => Float64Array) | undefined;
}

export async function collectEpisodes(
  parts: CollectParts,
  curriculum: Curriculum,
  iteration: number,
  time: Stopwatch,
  /** Of the weights that play: the iterations that made them, in whatever session. */
  weights = iteration - 1,
): Promise<IterationEpisodes> {
  const { options, workers, ranks, say } = parts;
  const { rollout } = options;
  const before = { ...workers.rollout.statistics };
  const plan = curriculum.begin(iteration);
  const { turns } = plan;
  const share = taskShare(plan.order, ranks);
  // Only what was filtered out is played for again.
  const rounds = rollout.filter?.rounds ?? 1;
  const kept: ScoredGroup[] = [];
  const played: Collection[] = [];
  const reasons = new Map<Trajectory, string>();
  const failedRewards: string[] = [];
  const places = new Map<string, number>();
  /** By group. */
  const indices = new Map<string, number>();
  let dropped = 0;
  /** Groups of all ranks: all go through the same rounds, and play what one process would. */
  let complete = 0;

  while (played.length < rounds && complete < rollout.tasks) {
    const count = rollout.filter ? rollout.tasks - complete : rollout.tasks + rollout.oversample;
    const drawn = share.next(count);
    const collection = await time.asyncPhase("gen", () =>
      play(parts, drawn, {
        ...{ iteration, weights, turns },
        round: played.length,
        members: rollout.groupSize,
      }),
    );
    played.push(collection);
    const ids = new Set(collection.all.map(({ group }) => group));
    for (const [i, id] of [...ids].entries()) {
      places.set(id, drawn[i]!.place);
      indices.set(id, drawn[i]!.index);
    }
    const scored = await time.asyncPhase("reward", () =>
      scoreGroups(parts, collection.groups, turns),
    );
    for (const { trajectory, message, component } of scored.errors) {
      reasons.set(trajectory, message);
      failedRewards.push(component);
    }
    tellErrors(ranks.gather(scored.errors.map(({ message }) => message)).flat(), say);
    const chosen = rollout.filter ? withSpread(scored.groups, rollout.filter) : scored.groups;
    for (const group of scored.groups)
      if (!chosen.includes(group)) {
        dropped++;
        for (const { trajectory } of group.episodes)
          reasons.set(trajectory, "its group did equally well: nothing to compare");
      }
    kept.push(...chosen);
    complete += ranks.sum([chosen.length])[0]!;
  }
  plan.order.drawn += share.count;
  const groups = played.flatMap((collection) => collection.groups);
  const outcomes = ranks
    .gather(groups.map((group) => outcomeOf(group, places.get(group.id)!, indices.get(group.id)!)))
    .flat()
    .sort((a, b) => a.place - b.place);

  const own = mergeAccounts(played.map((collection) => collection.account));
  const account = mergeAccounts(ranks.gather(own));
  const lostRewards = ranks.sum([failedRewards.length])[0]!;
  for (const error of account.errors) say(`iteration ${iteration}: ${error}`);
  const baselines = options.advantages.estimator.needs.greedyBaseline
    ? await time.asyncPhase("gen", () =>
        greedyBaselines(parts, kept, { iteration, weights, turns }),
      )
    : undefined;
  const after = workers.rollout.statistics;
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
    failedRewards,
    places,
    account,
    metrics: {
      ...(rollout.filter && {
        "training/sampling_rounds": played.length,
        "training/dropped_groups": ranks.sum([dropped])[0]!,
      }),
      ...plan.played(outcomes),
      ...workers.rollout.metrics,
      "training/left_out_episodes": account.leftOut,
      "training/retried_episodes": account.retries,
      ...faultMetrics(account.faults),
      ...(lostRewards > 0 && { "training/faults/reward": lostRewards }),
    },
    generation: {
      seconds: after.seconds - before.seconds,
      computedTokens: after.computedTokens - before.computedTokens,
      guessedTokens: after.guessedTokens - before.guessedTokens,
      acceptedTokens: after.acceptedTokens - before.acceptedTokens,
    },
    baselines,
  };
}

/** What curricula hear of a group. */
function outcomeOf({ trajectories }: EpisodeGroup, place: number, index: number) {
  const won = trajectories.filter((trajectory) => trajectory.won).length;
  return { place, index, episodes: trajectories.length, won };
}

/** By their kinds, where there were some. */
function faultMetrics(faults: FaultCounts = {}): Metrics {
  return Object.fromEntries(
    Object.entries(faults).map(([kind, times]) => [`training/faults/${kind}`, times]),
  );
}

/** So many of an iteration's failed rewards are told; they are mostly the same. */
const TOLD_ERRORS = 3;

function tellErrors(messages: readonly string[], say: (text: string) => void): void {
  for (const message of messages.slice(0, TOLD_ERRORS)) say(message);
  const more = messages.length - TOLD_ERRORS;
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
  readonly weights: number;
  /** Of an episode at most. */
  readonly turns: number;
  /** Rollouts of the same iteration before. */
  readonly round?: number;
  readonly members: number;
  readonly policy?: Policy;
}

function play(
  { options, world, workers, ranks, onEpisode, live, signal }: CollectParts,
  drawn: readonly DrawnTask[],
  { iteration, weights, turns, round = 0, members, policy = workers.rollout.policy }: PlayChoice,
): Promise<Collection> {
  const { rollout, play: playing } = options;
  const enough = shareOf(rollout.tasks, ranks);
  // Servers are asked for whole replies, as they would be without anybody who watches.
  const watch =
    round === 0
      ? live?.iteration(iteration, workers.chat.tokenizer, rollout.served === undefined)
      : undefined;
  return workers.generating(weights, () =>
    collect({
      world: world.world,
      about: world.about,
      agent: workers.rollout.agent,
      policy,
      limits: { ...playing.limits, turns },
      tasks: drawn.map(({ task }) => task),
      earlier: drawn.map(({ earlier }) => earlier),
      members,
      // A baseline is one greedy episode, however others are found.
      search: policy === workers.rollout.policy ? playing.search : undefined,
      seed: options.seed,
      step: iteration,
      round,
      ...(playing.concurrency !== undefined && { concurrency: playing.concurrency }),
      retries: playing.retries,
      ending: signal,
      signal: ranks.lost,
      ...(rollout.oversample > 0 && enough > 0 && drawn.length > enough && { enough }),
      ...(onEpisode && { onEpisode }),
      ...(watch && { watch }),
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
  when: Pick<PlayChoice, "iteration" | "weights" | "turns">,
): Promise<(batch: Batch) => Float64Array> {
  // Greedy episodes of one task are all the same: one each, whoever asks how often it came.
  const tasks = new Map(
    groups.map(({ task }) => [task.id, { task, index: 0, place: 0, earlier: 0 }]),
  );
  const { groups: played } = await play(
    { ...parts, onEpisode: undefined, live: undefined },
    [...tasks.values()],
    {
      ...when,
      policy: parts.workers.rollout.greedy,
      members: 1,
    },
  );
  const scored = await scoreGroups(parts, played, when.turns);
  const scores = new Map<string, number>();
  for (const { task, episodes } of scored.groups) scores.set(task.id, episodes[0]!.reward.total);
  return ({ trajectoryOf, trajectories }) =>
    Float64Array.from(trajectoryOf, (i) => scores.get(trajectories[i]!.task.id) ?? 0);
}
