/**
 * @file One environment on one server: its number there, and what can be asked of it.
 */
import type { Json } from "../environment.ts";
import { ask, ServerFailure } from "./exchange.ts";
import type { Beginning, Kind, Outcome } from "./kind.ts";
import { isRecord, shown, textsOf } from "./shape.ts";

/** How one talks to a server. */
export interface Line {
  readonly kind: Kind;
  /** With the kind's prefix, without a slash at the end. */
  readonly base: string;
  /** Milliseconds per request. */
  readonly timeout: number;
  /** The server's key, where it asks for one. */
  readonly key: string | undefined;
}

export class Remote {
  readonly line: Line;
  readonly id: number;
  /** What can be done, where it is not in each answer. */
  #actions: readonly string[] | undefined;

  private constructor(line: Line, id: number) {
    this.line = line;
    this.id = id;
  }

  /** A new environment. `index`: the task that it is wanted for, which some servers like to know. */
  static async create(line: Line, index: number, signal: AbortSignal): Promise<Remote> {
    const { kind } = line;
    const body = kind.createsWithTask ? { id: index } : {};
    return askFor(
      line,
      "create",
      body,
      signal,
      (answer) => new Remote(line, kind.readCreated(answer)),
    );
  }

  async reset(index: number, signal: AbortSignal): Promise<Beginning> {
    const { kind } = this.line;
    const body = { ...this.#key(), [kind.index.field]: index, ...kind.resetFields };
    const beginning = await askFor(this.line, "reset", body, signal, kind.readReset);
    this.#actions = kind.keepsActions ? beginning.admissible : undefined;
    if (kind.actions) this.#actions = await this.#askActions(signal);
    return this.#withActions(beginning);
  }

  async step(action: string, signal: AbortSignal): Promise<Outcome> {
    const { kind } = this.line;
    const body = { ...this.#key(), action };
    const outcome = await askFor(this.line, "step", body, signal, kind.readStep);
    if (kind.actions?.when === "step" && !outcome.done)
      this.#actions = await acted(this.#askActions(signal));
    return this.#withActions(outcome);
  }

  /** Our own servers know solutions; others have no such route. */
  async solution(signal: AbortSignal): Promise<readonly string[] | undefined> {
    try {
      return await this.#ask("solution", signal, (answer) =>
        answer === null ? undefined : textsOf(answer),
      );
    } catch (error) {
      if (error instanceof ServerFailure && error.delivery === "refused") return undefined;
      throw error;
    }
  }

  /** False where a kind's servers cannot close environments: they are better used again. (Ours can.) */
  get closes(): boolean {
    return this.line.kind.closes === true;
  }

  async close(signal: AbortSignal): Promise<void> {
    await askFor(this.line, "close", this.#key(), signal, () => undefined);
  }

  #key(): Readonly<Record<string, Json>> {
    return { [this.line.kind.key]: this.id };
  }

  #ask<Result>(
    route: string,
    signal: AbortSignal,
    read: (answer: unknown) => Result,
  ): Promise<Result> {
    const query = `${route}?${this.line.kind.key}=${this.id}`;
    return askFor(this.line, query, undefined, signal, read);
  }

  #askActions(signal: AbortSignal): Promise<readonly string[]> {
    const { route, read } = this.line.kind.actions!;
    return this.#ask(route, signal, read);
  }

  #withActions<Said extends { readonly admissible?: readonly string[] }>(said: Said): Said {
    // A server that lists nothing does not mean that nothing can be done.
    return said.admissible || !this.#actions?.length
      ? said
      : { ...said, admissible: this.#actions };
  }
}

/** After a step, a failure of whatever kind does not undo it: sending the step again would be a second. */
async function acted<Result>(question: Promise<Result>): Promise<Result> {
  try {
    return await question;
  } catch (error) {
    if (!(error instanceof ServerFailure)) throw error;
    throw new ServerFailure("unknown", error.message, { cause: error });
  }
}

/** Asks, and reads the answer; what cannot be read is a failure that says what was wrong. */
async function askFor<Result>(
  { base, timeout, key }: Line,
  route: string,
  body: Readonly<Record<string, unknown>> | undefined,
  signal: AbortSignal,
  read: (answer: unknown) => Result,
): Promise<Result> {
  const url = `${base}/${route}`;
  const answer = await ask({ url, ...(body && { body }), key, timeout, signal });
  if (isRecord(answer) && typeof answer.error === "string")
    throw new ServerFailure("refused", `${url} answered with an error: ${shown(answer.error)}`);
  try {
    return read(answer);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ServerFailure("unknown", `${url} answered wrongly: ${error.message}`, {
      cause: error,
    });
  }
}
