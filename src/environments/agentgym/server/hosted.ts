/**
 * @file The environments that a server keeps for others: by number, not too many, and not for ever.
 */
import type { Environment, StepResult, Task, World } from "../../environment.ts";
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

export interface Limits {
  readonly maximumEnvironments: number;
  /** Milliseconds after which an environment that nobody uses is closed. */
  readonly idle: number;
}

interface Place {
  readonly environment: Environment;
  /** The number of the task that it was created for. */
  readonly wish: number | undefined;
  episode: HostedEpisode | undefined;
  /** When it was last used, in milliseconds. */
  used: number;
  /** What is under way, and never fails: the next request waits for it. */
  last: Promise<unknown>;
}

export class HostedEnvironments {
  readonly #world: World;
  readonly #kind: Kind;
  readonly #tasks: NumberedTasks;
  readonly #limits: Limits;
  readonly #places = new Map<number, Place>();
  #next = 0;
  #turn = 0;

  constructor(world: World, kind: Kind, tasks: NumberedTasks, limits: Limits) {
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
    if (this.#places.size >= this.#limits.maximumEnvironments) {
      this.collectIdle();
      if (this.#places.size >= this.#limits.maximumEnvironments)
        throw new Refusal(
          `there are already ${this.#places.size} environments, as many as this server keeps ` +
            "(--environments sets how many); close some or come back later.",
          true,
        );
    }
    const environment = this.#world.environment();
    const last = Promise.resolve();
    const place: Place = { environment, wish, episode: undefined, used: Date.now(), last };
    this.#places.set(this.#next, place);
    return this.#next++;
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
    this.#places.delete(id);
    // Closing may end what is under way.
    await Promise.all([place?.environment.close?.(), place?.last]);
    return place !== undefined;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.numbers.map((id) => this.close(id)));
  }

  /** Closes those that nobody has used for too long. */
  collectIdle(now = Date.now()): void {
    for (const [id, { used }] of this.#places)
      if (now - used > this.#limits.idle) void this.close(id).catch(() => {});
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

  /** One request at a time and environment, in the order in which they came. */
  #use<Result>(id: number, run: (place: Place) => Promise<Result>): Promise<Result> {
    const place = this.#places.get(id);
    if (!place)
      throw new Refusal(
        `there is no environment ${id}: it was never created, or closed, or not used for ` +
          `${this.#limits.idle / 1000} s. Create one.`,
      );
    place.used = Date.now();
    const result = place.last.then(() => run(place));
    const finished = () => {
      place.used = Date.now();
    };
    place.last = result.then(finished, finished);
    return result;
  }
}
