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
import type { Beginning, Kind, Outcome } from "./kind.ts";
import type { Remote } from "./remote.ts";
import { type Patience, patiently } from "./retry.ts";
import { isRecord, shown } from "./shape.ts";

/** What the environments of a world share. */
export interface Context extends Patience {
  readonly kind: Kind;
  /** Whether to begin anew and repeat the actions when an answer was lost. */
  readonly replay: boolean;
  /** The reward of solving a task, where it is not the server's number. */
  readonly winReward: number | undefined;
  /** An environment on one of the servers: one that was given back, or a new one. */
  take(index: number, signal: AbortSignal): Promise<Remote>;
  /** `usable`: whether somebody else may have it. */
  giveBack(remote: Remote, usable: boolean): Promise<void>;
  /** Called when it is closed. */
  closed(environment: RemoteEnvironment): void;
}

interface Episode {
  readonly index: number;
  readonly beginning: Beginning;
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
  #remote: Remote | undefined;
  #episode: Episode | undefined;
  #busy = false;

  constructor(context: Context, number: number) {
    this.#context = context;
    this.#number = number;
  }

  async reset(task: Task): Promise<Observation> {
    const index = indexOf(task);
    const beginning = await this.#alone(() => this.#begin(index));
    this.#episode = { index, beginning, actions: [], outcomes: [] };
    return this.#observation(beginning, beginning);
  }

  async step(action: string): Promise<StepResult> {
    const episode = this.#episode;
    if (!episode)
      throw new EnvironmentError("agentgym", "step() before reset(); call reset(task) first.");
    if (episode.end) return { ...episode.end, reward: 0 };
    const outcome = await this.#alone(() => this.#act(episode, action));
    const before = episode.outcomes.at(-1)?.value ?? 0;
    episode.actions.push(action);
    episode.outcomes.push(outcome);
    const result = this.#result(episode.beginning, outcome, before);
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
    return this.#patiently(
      async () => {
        fresh = this.#remote === undefined;
        this.#remote ??= await this.#context.take(index, this.#closing.signal);
        return this.#remote.reset(index, this.#closing.signal);
      },
      async (failure) => {
        await this.#giveBack(false);
        // An old environment may have been forgotten by its server; a new one that is refused will be again.
        if (failure.fate === "refused" && fresh) throw failure;
      },
    );
  }

  #act(episode: Episode, action: string): Promise<Outcome> {
    let undelivered = 0;
    let anew = false;
    return this.#patiently(
      async () => {
        this.#remote ??= await this.#repeated(episode);
        return this.#remote.step(action, this.#closing.signal);
      },
      async ({ fate, message, cause }) => {
        // Once more to the same server, which may only be busy; then to another, or to it when it is back.
        if (this.#remote && fate === "undelivered" && undelivered++ === 0) return;
        await this.#giveBack(false);
        if (this.#context.replay && !(fate === "refused" && anew)) {
          anew = true;
          return;
        }
        this.#episode = undefined;
        throw new ServerFailure(fate, message, { cause });
      },
    );
  }

  /** An environment in which the episode was begun anew and its actions repeated. */
  async #repeated({ index, beginning, actions, outcomes }: Episode): Promise<Remote> {
    const { signal } = this.#closing;
    const remote = await this.#context.take(index, signal);
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

  /** What became of a request, with its failures as EnvironmentError. */
  async #patiently<Result>(
    attempt: () => Promise<Result>,
    onFailure: (failure: ServerFailure) => Promise<void>,
  ): Promise<Result> {
    const { signal } = this.#closing;
    try {
      return await patiently(this.#context, this.#number, signal, attempt, onFailure);
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
    }
  }

  async #giveBack(usable: boolean): Promise<void> {
    const remote = this.#remote;
    this.#remote = undefined;
    if (remote) await this.#context.giveBack(remote, usable);
  }

  #observation(beginning: Beginning, said: Beginning | Outcome): Observation {
    const { text, admissible, info } = said;
    const { instruction } = this.#context.kind;
    return {
      ...{ text, anchor: text, info: { ...beginning.info, ...info } },
      ...(instruction !== undefined && { instruction }),
      ...(admissible && { admissible }),
    };
  }

  #result(beginning: Beginning, outcome: Outcome, before: number): StepResult {
    const { reward: rule } = this.#context.kind;
    const { value, done } = outcome;
    const won = done && rule.won(value);
    const winReward = this.#context.winReward ?? rule.winReward;
    const earned = rule.counts === "total" ? value - before : value;
    return {
      observation: this.#observation(beginning, outcome),
      reward: winReward === undefined ? earned : won ? winReward : 0,
      done,
      won,
      ...(done && !won && { lost: true }),
      score: Math.min(1, Math.max(0, value / rule.best)),
    };
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
    `the task "${id}" is not one of this world's: its data must be {"index": 0, 1, 2, …}.`,
  );
}
