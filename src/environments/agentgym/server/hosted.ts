/**
 * @file The environments that a server keeps for others: by number, not too many, and not for ever. The
 * protocol has no sessions, so nobody can be told apart; what can be known is how long nobody has used
 * an environment.
 */
import type { Environment, StepResult, Task, World } from "../../environment.ts";
import { TimeLimitError, within } from "../../foreign/within.ts";
import type { HostedEpisode, Kind } from "../kind.ts";

/** A request that cannot be carried out. `busy`: not now, but perhaps later. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly busy: boolean;

  constructor(message: string, busy = false) {
    super(message);
    this.busy = busy;
  }
}

/** Tasks by number: those of one split, or of all splits one behind the other. */
export interface NumberedTasks {
  readonly length: number;
  task(index: number): Task;
}

/** What a protocol says about environments that are kept. */
export type HostingRules = Pick<Kind, "wraps" | "refusesFinished">;

export interface Limits {
  readonly maximumEnvironments: number;
  /** Milliseconds after which an environment that nobody uses is closed. */
  readonly idle: number;
  /** Milliseconds after which it is closed where its place is needed. */
  readonly spare: number;
  /** The same for one that nobody has used since it was created. */
  readonly spareUnused: number;
  /** Milliseconds for one reset or step. */
  readonly step: number;
}

interface Place {
  readonly environment: Environment;
  /** The number of the task that it was created for. */
  readonly wish: number | undefined;
  episode: HostedEpisode | undefined;
  /** When it was last used, in milliseconds. */
  used: number;
  /** How often it was used since it was created. */
  uses: number;
  /** Requests that are under way or wait. */
  waiting: number;
  /** What is under way, and never fails: the next request waits for it. */
  last: Promise<unknown>;
}

/** For an environment to close, and for what is under way in it then. */
const CLOSING = { seconds: 5 };

export class HostedEnvironments {
  readonly #world: World;
  readonly #kind: HostingRules;
  readonly #tasks: NumberedTasks;
  readonly #limits: Limits;
  readonly #places = new Map<number, Place>();
  #next = 0;
  #turn = 0;

  constructor(world: World, kind: HostingRules, tasks: NumberedTasks, limits: Limits) {
    this.#world = world;
    this.#kind = kind;
    this.#tasks = tasks;
    this.#limits = limits;
  }

  get numbers(): readonly number[] {
    return [...this.#places.keys()];
  }

  /** A new environment, and its number, never used twice. `wish`: the task it is for, if that is said. */
  create(wish?: number): number {
    if (this.#places.size >= this.#limits.maximumEnvironments) this.#makeRoom();
    const environment = this.#world.environment();
    this.#places.set(this.#next, {
      ...{ environment, wish, episode: undefined, used: performance.now(), uses: 0, waiting: 0 },
      last: Promise.resolve(),
    });
    return this.#next++;
  }

  /** A new environment in which a task was begun; none is left where that fails. */
  async createBegun(wish?: number): Promise<[id: number, episode: HostedEpisode]> {
    const id = this.create(wish);
    const place = this.#places.get(id)!;
    try {
      const episode = await this.reset(id, id);
      // This was no use of whoever asked for it.
      place.uses = 0;
      return [id, episode];
    } catch (error) {
      void this.close(id).catch(() => {});
      throw error;
    }
  }

  /** Without a number: the task it was created for, or the next one in turn. */
  reset(id: number, wanted?: number): Promise<HostedEpisode> {
    return this.#use(id, async (place) => {
      const index = this.#index(wanted ?? place.wish ?? this.#turn++ % this.#tasks.length);
      const task = this.#tasks.task(index);
      place.episode = undefined; // Should it fail, no episode is left, also not the one before.
      const observation = await place.environment.reset(task);
      place.episode = { task, index, first: observation, observation, result: undefined };
      return place.episode;
    });
  }

  step(id: number, action: string): Promise<StepResult> {
    return this.#use(id, async (place) => {
      const episode = this.#begun(id, place);
      if (this.#kind.refusesFinished && episode.result?.done)
        throw new Refusal(`environment ${id} has finished its task; reset it first.`);
      const result = await place.environment.step(action);
      place.episode = { ...episode, observation: result.observation, result };
      return result;
    });
  }

  episode(id: number): Promise<HostedEpisode> {
    return this.#use(id, async (place) => this.#begun(id, place));
  }

  /** False when there is no such environment. */
  async close(id: number): Promise<boolean> {
    const place = this.#places.get(id);
    if (!place) return false;
    this.#places.delete(id);
    // Closing may end what is under way. What does not end is not waited for.
    const closed = Promise.all([place.environment.close?.(), place.last]);
    await within(CLOSING, "close()", closed).catch((error: unknown) => {
      if (!(error instanceof TimeLimitError)) throw error;
    });
    return true;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.numbers.map((id) => this.close(id)));
  }

  /** Closes those that nobody has used for too long. */
  collectIdle(now = performance.now()): void {
    for (const [id, { used, waiting }] of this.#places)
      if (waiting === 0 && now - used > this.#limits.idle) this.#drop(id);
  }

  /** Closes the one that nobody has used for longest, if that is long enough. */
  #makeRoom(): void {
    const { maximumEnvironments, spare, spareUnused } = this.#limits;
    this.collectIdle();
    if (this.#places.size < maximumEnvironments) return;
    const now = performance.now();
    let longest: { id: number; since: number } | undefined;
    for (const [id, { used, uses, waiting }] of this.#places) {
      const isSpare = waiting === 0 && now - used > (uses === 0 ? spareUnused : spare);
      if (isSpare && !(longest && longest.since <= used)) longest = { id, since: used };
    }
    if (!longest)
      throw new Refusal(
        `there are already ${this.#places.size} environments, as many as this server keeps ` +
          "(--environments sets how many), and all are in use; close some or come back later.",
        true,
      );
    this.#drop(longest.id);
  }

  #drop(id: number): void {
    void this.close(id).catch(() => {});
  }

  #index(wanted: number): number {
    const { length } = this.#tasks;
    const index = this.#kind.wraps ? wanted % length : wanted;
    if (index >= 0 && index < length) return index;
    throw new Refusal(`there is no task ${wanted}; there are 0 to ${length - 1}.`);
  }

  #begun(id: number, { episode }: Place): HostedEpisode {
    if (episode) return episode;
    throw new Refusal(`environment ${id} has no task yet; reset it first.`);
  }

  /** One request at a time and environment, in the order in which they came, each with its time. */
  #use<Result>(id: number, run: (place: Place) => Promise<Result>): Promise<Result> {
    const place = this.#place(id);
    place.used = performance.now();
    place.uses++;
    place.waiting++;
    const late = (error: unknown): never => {
      if (!(error instanceof TimeLimitError)) throw error;
      // Nobody knows what it has done or will do: it is of no use to anyone.
      this.#drop(id);
      throw new Refusal(
        `environment ${id} did not answer within ${this.#limits.step / 1000} s, and was closed ` +
          "(--step-seconds sets how long it may take); create another.",
      );
    };
    const result = place.last.then(() => {
      // Closed while this request was waiting.
      if (this.#places.get(id) !== place) this.#place(id);
      return within({ seconds: this.#limits.step / 1000 }, "it", run(place)).catch(late);
    });
    const finished = () => {
      place.used = performance.now();
      place.waiting--;
    };
    place.last = result.then(finished, finished);
    return result;
  }

  #place(id: number): Place {
    const place = this.#places.get(id);
    if (place) return place;
    throw new Refusal(
      `there is no environment ${id}: it was never created, or closed, or not used for ` +
        `${this.#limits.idle / 1000} s. Create one.`,
    );
  }
}
