/**
 * @file Many episodes at once: groups of n per task, retries of what a world did wrong, and an account of
 * everything that happened.
 *
 * What an episode does depends on (run seed, step, task, member) only, whatever runs beside it.
 */
import { setMaxListeners } from "node:events";
import type { Agent } from "../agents/index.ts";
import type { Task, World } from "../environments/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { accountOf, type RolloutAccount } from "./account.ts";
import { type EnvironmentPool, environmentPool } from "./environment-pool.ts";
import { runEpisode, type WorldFacts } from "./episode.ts";
import type { EpisodeLimits } from "./limits.ts";
import type { Policy } from "./policies/policy.ts";
import { isTrainable, type Trajectory } from "./trajectory.ts";

export interface CollectOptions {
  readonly world: World;
  readonly about: WorldFacts;
  readonly agent: Agent;
  readonly policy: Policy;
  readonly limits: EpisodeLimits;
  /** One group each. A task may come twice: the second is another group, with other seeds. */
  readonly tasks: readonly Task[];
  /**
   * [tasks] How often each came before, where these are only a part of a rollout (of one process among
   * several). Default: counted among `tasks`.
   */
  readonly earlier?: readonly number[] | undefined;
  /** Episodes per task. Default 1. */
  readonly members?: number;
  readonly seed: number | bigint;
  /** The iteration of the run. Default 0. */
  readonly step?: number;
  /** Rollouts of the same step before this one (dynamic sampling): a task may come again. Default 0. */
  readonly round?: number;
  /** Episodes at once. Default: all. */
  readonly concurrency?: number;
  /** How often an episode is begun again after an error of its world or policy. Default 2. */
  readonly retries?: number;
  /**
   * So many groups are enough: when they are complete, the others are aborted and left out. A way
   * round stragglers, at a price: which groups are first depends on the machine, and quick episodes
   * are preferred.
   */
  readonly enough?: number;
  readonly signal?: AbortSignal | undefined;
  /** Called for every episode as it ends, also for those that are left out. */
  readonly onEpisode?: (trajectory: Trajectory) => void;
}

/** The episodes of one task that can be used. */
export interface EpisodeGroup {
  readonly id: string;
  readonly task: Task;
  /** In the order of their members; those that failed are not among them. */
  readonly trajectories: readonly Trajectory[];
}

export interface Collection {
  /** In the order of the tasks. Groups that lost all their members are left out. */
  readonly groups: readonly EpisodeGroup[];
  /** Every episode, used or not, in the order of tasks and members. */
  readonly all: readonly Trajectory[];
  readonly account: RolloutAccount;
}

export async function collect(options: CollectOptions): Promise<Collection> {
  const { tasks, members = 1, step = 0, round = 0, enough } = options;
  checkCounts(options);
  const begun = performance.now();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort(options.signal?.reason);
  if (options.signal?.aborted) stop();
  options.signal?.addEventListener("abort", stop, { once: true });
  const environments = environmentPool(options.world);
  const groups = tasks.map((task, place) => ({
    id: groupId(step, round, task.id, options.earlier?.[place] ?? countBefore(tasks, place)),
    task,
    place,
  }));
  const open = new Map(groups.map(({ id }) => [id, members]));
  const all: Trajectory[][] = groups.map(() => []);
  let complete = 0;

  const jobs = groups.flatMap((group) =>
    Array.from({ length: members }, (_, member) => async () => {
      const trajectory = await episodeOf(options, group, member, environments, stopping.signal);
      all[group.place]![member] = trajectory;
      options.onEpisode?.(trajectory);
      const left = open.get(group.id)! - 1;
      open.set(group.id, left);
      if (left > 0 || !all[group.place]!.some(isTrainable)) return;
      if (++complete === enough) stopping.abort(new Error("enough groups are complete"));
    }),
  );
  try {
    await inParallel(jobs, options.concurrency ?? Infinity, (error) => stopping.abort(error));
  } finally {
    options.signal?.removeEventListener("abort", stop);
    await environments.close();
  }
  const used = groups
    .map(({ id, task, place }) => ({ id, task, trajectories: all[place]!.filter(isTrainable) }))
    .filter(({ trajectories }, place) => {
      const cut = enough !== undefined && all[place]!.some(({ status }) => status === "aborted");
      return trajectories.length > 0 && !cut;
    });
  const flat = all.flat();
  return {
    groups: used,
    all: flat,
    account: accountOf(flat, (performance.now() - begun) / 1000),
  };
}

/** Unique also where a task comes twice. */
function groupId(step: number, round: number, id: string, earlier: number): string {
  return `${step}${round > 0 ? `.${round}` : ""}:${id}${earlier > 0 ? `:${earlier}` : ""}`;
}

function countBefore(tasks: readonly Task[], place: number): number {
  const { id } = tasks[place]!;
  return tasks.slice(0, place).filter((task) => task.id === id).length;
}

async function episodeOf(
  options: CollectOptions,
  group: { id: string; task: Task },
  member: number,
  environments: EnvironmentPool,
  signal: AbortSignal,
): Promise<Trajectory> {
  const { about, agent, policy, limits, retries = 2, step = 0 } = options;
  for (let attempt = 0; ; attempt++) {
    const environment = environments.take();
    const trajectory = await runEpisode({
      id: `${group.id}#${member}`,
      step,
      group: group.id,
      member,
      task: group.task,
      seed: deriveSeed(options.seed, step, group.id, member),
      environment,
      about,
      agent,
      policy,
      limits,
      signal,
      attempt,
    });
    const failed =
      trajectory.status === "environment error" || trajectory.status === "policy error";
    // An environment that failed, hung or was left in the middle may be broken: never used again.
    if (failed || trajectory.status === "timeout" || trajectory.status === "aborted")
      environments.drop(environment);
    else environments.give(environment);
    if (!failed || attempt >= retries || signal.aborted) return trajectory;
  }
}

/**
 * Runs the jobs in order, so many at once. When one throws (episodes do not; a caller's `onEpisode`
 * may), no more are begun, those that run are told to stop, and the error comes when they have.
 */
async function inParallel(
  jobs: readonly (() => Promise<void>)[],
  width: number,
  onError: (error: unknown) => void,
): Promise<void> {
  let next = 0;
  const errors: unknown[] = [];
  const worker = async () => {
    while (next < jobs.length && errors.length === 0) {
      try {
        await jobs[next++]!();
      } catch (error) {
        errors.push(error);
        onError(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, jobs.length) }, worker));
  if (errors.length > 0) throw errors[0];
}

function checkCounts({ members = 1, concurrency = 1, retries = 0, enough, tasks }: CollectOptions) {
  const whole = (name: string, value: number, least: number) => {
    if (!(value >= least && (Number.isInteger(value) || value === Infinity)))
      throw new RangeError(
        `collect: ${name} must be a whole number, ${least} or more, got ${value}`,
      );
  };
  whole("members", members, 1);
  if (members === Infinity) throw new RangeError("collect: members must be finite");
  whole("concurrency", concurrency, 1);
  whole("retries", retries, 0);
  if (enough !== undefined) whole("enough", enough, 1);
  if (enough !== undefined && enough > tasks.length)
    throw new RangeError(`collect: enough is ${enough}, but there are only ${tasks.length} tasks`);
}
