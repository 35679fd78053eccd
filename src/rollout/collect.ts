/**
 * @file Many episodes at once: groups of n per task, retries of what a world did wrong, and an account of
 * everything that happened.
 *
 * What an episode does depends on (run seed, step, task, member) only, whatever runs beside it.
 */
import { setMaxListeners } from "node:events";
import type { Agent } from "../agents/index.ts";
import { EnvironmentError, holdStrayFaults, type Task, type World } from "../environments/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { accountOf, mergeAccounts, type RolloutAccount } from "./account.ts";
import { type EnvironmentPool, environmentPool } from "./environment-pool.ts";
import { type EpisodeOptions, runEpisode } from "./episode.ts";
import { type FaultKind, faultKind } from "./faults/kinds.ts";
import { type LateFaults, lateFaults } from "./faults/late.ts";
import type { EpisodeLimits } from "./limits.ts";
import type { WorldFacts } from "./line.ts";
import type { Policy } from "./policies/policy.ts";
import { runProgram } from "./program.ts";
import type { Findings } from "./search/findings.ts";
import { type SearchOptions, searchEpisode } from "./search/search.ts";
import { isTrainable, type Trajectory } from "./trajectory.ts";
import type { EpisodeWatch } from "./watch.ts";

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
  /**
   * How episodes are searched for; default: they are not. The members of a group are then the lines of one search that
   * came to an end, the best first, and may be fewer.
   */
  readonly search?: SearchOptions | undefined;
  /** Hears what a search found beside its episodes. */
  readonly onFindings?: ((task: Task, findings: Findings) => void) | undefined;
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
  /** Aborted: episodes are played to their end, but none that failed is begun again. */
  readonly ending?: AbortSignal | undefined;
  /** Called for every episode as it ends, also for those that are left out. */
  readonly onEpisode?: (trajectory: Trajectory) => void;
  /** Who watches an episode that is about to be begun, or begun again (`attempt`); undefined: nobody. */
  readonly watch?: (episode: BegunEpisode) => EpisodeWatch | undefined;
  /** False: an episode is forgotten when `onEpisode` has seen it, and only the account is given. Default true. */
  readonly keep?: boolean;
}

/** An episode before its first observation. */
export interface BegunEpisode {
  readonly id: string;
  readonly task: Task;
  readonly step: number;
  /** Of the group among the tasks, and of the episode in its group. */
  readonly place: number;
  readonly member: number;
  readonly attempt: number;
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
  const { tasks, members = 1, step = 0, round = 0, enough, keep = true } = options;
  checkCounts(options);
  const begun = performance.now();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort(options.signal?.reason);
  if (options.signal?.aborted) stop();
  options.signal?.addEventListener("abort", stop, { once: true });
  const late = lateFaults();
  const faults: Partial<Record<FaultKind, number>> = {};
  const release = holdStrayFaults();
  const { name } = options.about;
  const environments = environmentPool(options.world, {
    fault: (sentence) => late.add(`${name}: ${sentence}`),
  });
  const groups = tasks.map((task, place) => ({
    id: groupId(step, round, task.id, options.earlier?.[place] ?? countBefore(tasks, place)),
    task,
    place,
  }));
  const open = new Map(groups.map(({ id }) => [id, members]));
  const all: Trajectory[][] = groups.map(() => []);
  const accounts: RolloutAccount[][] = groups.map(() => []);
  const trainable = new Set<string>();
  let complete = 0;

  const searches = options.search ? 1 : members;
  const jobs = groups.flatMap((group) =>
    Array.from({ length: searches }, (_, first) => async () => {
      const played = await episodesOf(options, group, first, {
        environments,
        signal: stopping.signal,
        late,
        faults,
      });
      for (const [i, trajectory] of played.slice(0, options.search ? members : 1).entries()) {
        if (keep) all[group.place]![first + i] = trajectory;
        else accounts[group.place]![first + i] = accountOf([trajectory], 0);
        if (isTrainable(trajectory)) trainable.add(group.id);
        options.onEpisode?.(trajectory);
      }
      const left = open.get(group.id)! - (options.search ? members : 1);
      open.set(group.id, left);
      if (left > 0 || !trainable.has(group.id)) return;
      if (++complete === enough) stopping.abort(new Error("enough groups are complete"));
    }),
  );
  try {
    await inParallel(jobs, options.concurrency ?? Infinity, (error) => stopping.abort(error));
  } finally {
    options.signal?.removeEventListener("abort", stop);
    await environments.close();
    late.over();
    release();
  }
  const used = groups
    .map(({ id, task, place }) => ({ id, task, trajectories: all[place]!.filter(isTrainable) }))
    .filter(({ trajectories }, place) => {
      const cut = enough !== undefined && all[place]!.some(({ status }) => status === "aborted");
      return trajectories.length > 0 && !cut;
    });
  const flat = all.flat();
  const seconds = (performance.now() - begun) / 1000;
  return {
    groups: used,
    all: flat,
    // In the order of the tasks, whichever ended first.
    account: mergeAccounts([...accounts.flat(), accountOf(flat, seconds, late, faults)]),
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

/** What the episodes of a rollout share. */
interface Rollout {
  readonly environments: EnvironmentPool;
  readonly signal: AbortSignal;
  readonly late: LateFaults;
  /** Counted as they come. */
  readonly faults: Partial<Record<FaultKind, number>>;
}

/** An episode that others' faults end again and again is given up, too. */
const MOST_BLAMELESS = 50;

/** One episode, or those of a search, the best first. */
async function episodesOf(
  options: CollectOptions,
  group: { id: string; task: Task; place: number },
  member: number,
  { environments, signal, late, faults }: Rollout,
): Promise<readonly Trajectory[]> {
  const { about, agent, policy, limits, retries = 2, step = 0 } = options;
  /** Beginnings that count, and those that ended by another episode's doing. */
  let failures = 0;
  let blameless = 0;
  for (let attempt = 0; ; attempt++) {
    const environment = environments.take();
    let ended: unknown;
    const id = `${group.id}#${member}`;
    const { task, place } = group;
    const episode: EpisodeOptions = {
      id,
      step,
      group: group.id,
      member,
      task,
      seed: deriveSeed(options.seed, step, group.id, member),
      environment,
      about,
      agent,
      policy,
      limits,
      signal,
      attempt,
      onLateFault: late.add,
      onError: (error) => {
        ended = error;
      },
      watch: options.watch?.({ id, task, step, place, member, attempt }),
    };
    const played = await playedBy(options, episode, environments);
    const trajectory = played[0]!;
    const failed =
      trajectory.status === "environment error" || trajectory.status === "policy error";
    const kind = faultKind(trajectory.status, ended);
    if (kind) faults[kind] = (faults[kind] ?? 0) + 1;
    // An environment that failed, hung or was left in the middle may be broken: never used again.
    if (failed || trajectory.status === "timeout" || trajectory.status === "aborted")
      environments.drop(environment);
    else environments.give(environment);
    if (!failed || signal.aborted || options.ending?.aborted) return played;
    if (ended instanceof EnvironmentError && ended.blameless) blameless++;
    else failures++;
    if (failures > retries || blameless > MOST_BLAMELESS) return played;
  }
}

/** By a program, a search, or turn by turn. */
async function playedBy(
  { world, search, onFindings }: CollectOptions,
  episode: EpisodeOptions,
  environments: EnvironmentPool,
): Promise<readonly Trajectory[]> {
  if (world.program) return [await runProgram(world.program, episode)];
  if (!search) return [await runEpisode(episode)];
  const { episodes, ...findings } = await searchEpisode({
    ...episode,
    search,
    fresh: environments.take,
    discard: environments.drop,
  });
  onFindings?.(episode.task, findings);
  return episodes;
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

function checkCounts(options: CollectOptions) {
  const { members = 1, concurrency = 1, retries = 0, enough, tasks, world, search } = options;
  if (search && world.program)
    throw new RangeError(
      `collect: an episode of ${world.name} is a program, which cannot be gone on with from its middle: ` +
        "there is no search in it",
    );

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
