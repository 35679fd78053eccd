/**
 * @file An environment that lives on an AgentGym server.
 *
 * A request that was surely not carried out is sent again. Of one that was lost on the way nobody knows;
 * then the episode is begun anew, on the next server, and its actions are repeated: a world that is
 * deterministic comes to the same place, and one that is not is noticed, because every answer is
 * compared with the one before.
 */
import {
  type Environment,
  EnvironmentError,
  type Observation,
  type StepResult,
  type Task,
} from "../environment.ts";
import { ServerFailure } from "./exchange.ts";
import type { Beginning, Outcome } from "./kind.ts";
import type { Remote } from "./remote.ts";
import { observationOf, type Rules, resultOf, type Said } from "./result.ts";
import { type RetryOptions, withRetries } from "./retry.ts";
import { isRecord, shown } from "./shape.ts";

/** What the environments of a world share. */
export interface Context extends RetryOptions, Rules {
  /** Whether to begin anew and repeat the actions when an answer was lost. */
  readonly replay: boolean;
  /**
   * An environment on one of the servers: one that was given back, or a new one. Servers are counted round
   * and round.
   */
  take(server: number, index: number, signal: AbortSignal): Promise<Remote>;
  /** `usable`: whether somebody else may have it. */
  giveBack(remote: Remote, usable: boolean): Promise<void>;
  /** Called when it is closed. */
  closed(environment: RemoteEnvironment): void;
}

interface Episode extends Said {
  readonly index: number;
  readonly actions: string[];
  readonly outcomes: Outcome[];
  end?: StepResult;
}

const CLOSED = "it is closed; make a new environment.";

export class RemoteEnvironment implements Environment {
  readonly #context: Context;
  /** Which of the world's it is. */
  readonly #number: number;
  readonly #closing = new AbortController();
  /** Which server: with each failure the next. */
  #server: number;
  #remote: Remote | undefined;
  #episode: Episode | undefined;
  #busy = false;

  constructor(context: Context, number: number) {
    this.#context = context;
    this.#number = number;
    this.#server = number;
  }

  async reset(task: Task): Promise<Observation> {
    const index = indexOf(task);
    const beginning = await this.#alone(() => this.#begin(index));
    this.#episode = { index, beginning, actions: [], outcomes: [] };
    return observationOf(this.#context.kind, beginning, beginning);
  }

  async step(action: string): Promise<StepResult> {
    const episode = this.#episode;
    if (!episode)
      throw new EnvironmentError("agentgym", "step() before reset(); call reset(task) first.");
    if (episode.end) return { ...episode.end, reward: 0 };
    const outcome = await this.#alone(() => this.#act(episode, action));
    const result = resultOf(this.#context, episode, action, outcome);
    episode.actions.push(action);
    episode.outcomes.push(outcome);
    if (result.done) episode.end = result;
    return result;
  }

  /** Ends what is under way, and gives the server's environment back. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const interrupted = this.#busy;
    this.#closing.abort(new EnvironmentError("agentgym", CLOSED));
    this.#context.closed(this);
    await this.#giveBack(!interrupted);
  }

  /** The known solution of the task that was begun, from a server of our own. */
  solution(): Promise<readonly string[] | undefined> {
    return this.#alone(async () => this.#remote?.solution(this.#closing.signal));
  }

  /** Begins a task. Repeating a reset is safe, so what fails is tried again, with another environment. */
  #begin(index: number): Promise<Beginning> {
    let fresh = false;
    this.#episode = undefined;
    return this.#retried(
      async () => {
        fresh = this.#remote === undefined;
        this.#remote ??= await this.#take(index);
        return this.#remote.reset(index, this.#closing.signal);
      },
      async (failure) => {
        await this.#leave();
        // An old environment may have been forgotten by its server; a new one that is refused will be again.
        if (failure.delivery === "refused" && fresh) throw failure;
      },
    );
  }

  #act(episode: Episode, action: string): Promise<Outcome> {
    let undelivered = 0;
    let anew = false;
    return this.#retried(
      async () => {
        this.#remote ??= await this.#repeated(episode);
        return this.#remote.step(action, this.#closing.signal);
      },
      async (failure) => {
        const { delivery } = failure;
        // Once more to the same server, which may only be busy; then to another, or to it when it is back.
        if (this.#remote && delivery === "undelivered" && undelivered++ === 0) return;
        await this.#leave();
        if (!this.#context.replay || (delivery === "refused" && anew)) {
          this.#episode = undefined;
          throw failure;
        }
        anew = true;
      },
    );
  }

  /** An environment in which the episode was begun anew and its actions repeated. */
  async #repeated({ index, beginning, actions, outcomes }: Episode): Promise<Remote> {
    const { signal } = this.#closing;
    const remote = await this.#take(index);
    try {
      same("the reset", beginning.text, (await remote.reset(index, signal)).text);
      for (const [number, action] of actions.entries()) {
        const { text } = await remote.step(action, signal);
        same(`step ${number + 1}`, outcomes[number]!.text, text);
      }
      return remote;
    } catch (error) {
      await this.#context.giveBack(remote, false);
      throw error;
    }
  }

  /** A request that is repeated where that is safe, with its failures as EnvironmentError. */
  async #retried<Result>(
    attempt: () => Promise<Result>,
    onFailure: (failure: ServerFailure) => Promise<void>,
  ): Promise<Result> {
    const { signal } = this.#closing;
    try {
      return await withRetries(this.#context, this.#number, signal, attempt, onFailure);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServerFailure)) throw error;
      throw new EnvironmentError("agentgym", `${error.message}.`, { cause: error });
    }
  }

  /** One request at a time: an answer must belong to what was asked. */
  async #alone<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#closing.signal.throwIfAborted();
    if (this.#busy)
      throw new EnvironmentError(
        "agentgym",
        "a reset or step is still under way in this environment; await it before the next.",
      );
    this.#busy = true;
    try {
      return await run();
    } finally {
      this.#busy = false;
      // Closed while an environment was on its way: it has come, and nobody wants it.
      if (this.#closing.signal.aborted) await this.#giveBack(false);
    }
  }

  #take(index: number): Promise<Remote> {
    return this.#context.take(this.#server, index, this.#closing.signal);
  }

  /** The server has failed: the next attempt is made at the next one. */
  async #leave(): Promise<void> {
    this.#server++;
    await this.#giveBack(false);
  }

  async #giveBack(usable: boolean): Promise<void> {
    const remote = this.#remote;
    this.#remote = undefined;
    if (remote) await this.#context.giveBack(remote, usable);
  }
}

function same(what: string, before: string, now: string): void {
  if (before === now) return;
  throw new ServerFailure(
    "refused",
    `an answer was lost, and when the episode was repeated ${what} came out differently: ` +
      `${shown(now)} instead of ${shown(before)} (this world is not deterministic: set replay=false)`,
  );
}

/** The number of a task at the servers. A task may come from a file that somebody edited. */
function indexOf({ id, data }: Task): number {
  const index = isRecord(data) ? data.index : undefined;
  if (typeof index === "number" && Number.isSafeInteger(index) && index >= 0) return index;
  throw new EnvironmentError(
    "agentgym",
    `the task ${shown(id)} is not one of this world's: its data must be {"index": 0, 1, 2, …}.`,
  );
}
