/**
 * @file The world behind OpenEnv's servers: tasks by seed, a session for each environment.
 */
import { keyAt, NetworkError } from "../../network/index.ts";
import {
  type Environment,
  EnvironmentError,
  type Observation,
  type StepResult,
  type Task,
  type World,
} from "../environment.ts";
import { requireSplit, taskSet } from "../tasks.ts";
import { actionData, callHelp, observationOf, type ReadingRules, resultOf } from "./reading.ts";
import {
  type ActionForm,
  actionForm,
  type Line,
  openSession,
  type RemoteSession,
} from "./remote.ts";

export interface OpenEnvOptions {
  readonly url: readonly string[];
  readonly tasks: number;
  readonly testTasks: number;
  readonly first: number;
  /** Seconds. */
  readonly timeout: number;
  readonly field: string | undefined;
  readonly text: string | undefined;
  readonly winAt: number;
  /** Where the servers' key is: `env:NAME` or `file:PATH`. */
  readonly key: string | undefined;
}

export async function openenvWorld(options: OpenEnvOptions): Promise<World> {
  const key = options.key === undefined ? undefined : keyIn(options.key);
  const lines = options.url.map(
    (url): Line => ({ base: baseOf(url), timeout: options.timeout * 1000, key }),
  );
  if (lines.length === 0)
    throw new EnvironmentError("openenv", "which server? Set url=http://127.0.0.1:8000.");
  const form = await actionForm(lines[0]!, options.field);
  const sizes: Readonly<Record<string, number>> = {
    train: options.tasks,
    ...(options.testTasks > 0 && { test: options.testTasks }),
  };
  const living = new Set<RemoteEnvironment>();
  let made = 0;
  return {
    name: "openenv",
    source: `OpenEnv at ${lines.map(({ base }) => base).join(", ")}`,
    splits: Object.keys(sizes),
    ...("tools" in form && { tools: form.tools }),
    tasks(split) {
      requireSplit("openenv", split, Object.keys(sizes));
      const from = options.first + (split === "test" ? options.tasks : 0);
      return taskSet({
        ...{ environment: "openenv", split, length: sizes[split]! },
        task: (index) => ({
          ...{ environment: "openenv", split, id: `${split}/${from + index}`, seed: from + index },
        }),
      });
    },
    environment() {
      const environment = new RemoteEnvironment(lines[made++ % lines.length]!, form, options, () =>
        living.delete(environment),
      );
      living.add(environment);
      return environment;
    },
    close() {
      for (const environment of living) environment.close();
    },
  };
}

class RemoteEnvironment implements Environment {
  readonly #line: Line;
  readonly #form: ActionForm;
  readonly #rules: ReadingRules;
  readonly #onClose: () => void;
  readonly #closing = new AbortController();
  #session: RemoteSession | undefined;
  #last: Observation | undefined;
  #end: StepResult | undefined;

  constructor(line: Line, form: ActionForm, rules: ReadingRules, onClose: () => void) {
    this.#line = line;
    this.#form = form;
    this.#rules = rules;
    this.#onClose = onClose;
  }

  async reset({ seed }: Task): Promise<Observation> {
    this.#requireOpen();
    this.#end = undefined;
    this.#last = undefined;
    if (!this.#session?.isOpen) this.#session = await openSession(this.#line, this.#closing.signal);
    const outcome = await this.#session.ask("reset", seed === undefined ? {} : { seed });
    this.#last = observationOf(outcome, this.#rules);
    return this.#last;
  }

  async step(action: string): Promise<StepResult> {
    this.#requireOpen();
    if (this.#end) return { ...this.#end, reward: 0 };
    const [before, session] = [this.#last, this.#session];
    if (!before || !session)
      throw new EnvironmentError("openenv", "step() before reset(); call reset(task) first.");
    const data = actionData(this.#form, action);
    // It is no call: the server is not asked, and the agent is told.
    if (!data) {
      const text = callHelp("tools" in this.#form ? this.#form.tools : []);
      const observation = { ...before, text, anchor: text };
      return { observation, reward: 0, done: false, won: false, score: 0, admissible: false };
    }
    const result = resultOf(await session.ask("step", data), action, before, this.#rules);
    this.#last = result.observation;
    if (result.done) this.#end = result;
    return result;
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    // What is under way ends with the connection.
    this.#session?.close();
    this.#closing.abort(new EnvironmentError("openenv", "it was closed."));
    this.#onClose();
  }

  #requireOpen(): void {
    if (this.#closing.signal.aborted)
      throw new EnvironmentError("openenv", "it is closed; make a new environment.");
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && ["http:", "https:"].includes(parsed.protocol) && !parsed.username)
    return (parsed.origin + parsed.pathname).replace(/\/+$/, "");
  throw new EnvironmentError(
    "openenv",
    `"${url}" is no server's address; one is like http://127.0.0.1:8000.`,
  );
}

function keyIn(place: string): string {
  try {
    return keyAt("key", place);
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new EnvironmentError("openenv", error.message, { cause: error });
  }
}
