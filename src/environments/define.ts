/**
 * @file How a world is defined: `defineWorld` for the general case, `defineEnvironment` for a world
 * that is a few functions over plain data.
 */
import {
  EnvironmentError,
  type Expert,
  type Json,
  type LocalEnvironment,
  type Observation,
  type StepResult,
  type Task,
  type World,
} from "./environment.ts";
import type { OptionTable, OptionValues } from "./options.ts";
import { type Random, seededRandom } from "./random.ts";
import { requireSplit, taskSet } from "./tasks.ts";

/** What the registry knows of a world before its data is loaded. Must be cheap to import. */
export interface WorldDefinition<Table extends OptionTable = OptionTable> {
  /** The name in tasks and trajectories. Names are found without regard to case. */
  readonly name: string;
  /** Other names by which it is found. */
  readonly aliases?: readonly string[];
  /** One sentence for `env list`. */
  readonly summary: string;
  /** What an agent is told of it, before anything else: a sentence or two. The summary unless said. */
  readonly briefing?: string;
  /** How many steps an episode usually has. */
  readonly maximumSteps: number;
  /** The kinds of task, where there are kinds. */
  readonly types?: readonly string[];
  readonly options: Table;
  /** Loads what the world needs. `options` are already checked; see `openWorld` in registry.ts. */
  open(options: OptionValues<Table>): World | Promise<World>;
}

/** Only for its types: the options that `open` receives follow from the table. */
export function defineWorld<const Table extends OptionTable>(
  definition: WorldDefinition<Table>,
): WorldDefinition<Table> {
  return definition;
}

/** What an action does, in a world made with `defineEnvironment`. Only `text` is a must. */
export interface Answer<State> {
  readonly text: string;
  /** The state afterwards, if it is another. The old one must stay as it is: it is frozen. */
  readonly state?: State;
  /** Ends the episode, solved. */
  readonly won?: boolean;
  /** Ends the episode, not to be solved any more. */
  readonly lost?: boolean;
  /** Ends the episode in any case. */
  readonly done?: boolean;
  /** 10 for winning and 0 otherwise unless said. */
  readonly reward?: number;
  /** 1 for winning and 0 otherwise unless said. */
  readonly score?: number;
  /** Whether the action made sense. Follows from `actions` where that is defined. */
  readonly admissible?: boolean;
  /** The text unless said. */
  readonly anchor?: string;
  readonly info?: Readonly<Record<string, Json>>;
}

/** A task of a world made with `defineEnvironment`: any of it may be left out. */
export type TaskSketch = Partial<Pick<Task, "id" | "type" | "seed" | "data">>;

export interface EnvironmentParts<State, Table extends OptionTable>
  extends LocalWorldParts<State, Table> {
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly briefing?: string;
  readonly maximumSteps: number;
  readonly options?: Table;
}

/** What the functions of a world are; `localWorld` makes a world of them. */
export interface LocalWorldParts<State, Table extends OptionTable = Record<never, never>> {
  readonly name: string;
  /** Where its tasks come from, for people. */
  readonly source?: string;
  /** For each split its tasks, or only how many there are: then they differ in their random numbers. */
  readonly splits: Readonly<Record<string, number | readonly TaskSketch[]>>;
  /** The state in which a task begins: plain data, or anything that nobody changes. */
  start(task: Task, random: Random, options: OptionValues<Table>): State;
  /** What the agent sees first. */
  intro(state: State, task: Task): string | Pick<Observation, "text" | "instruction">;
  /** Every action that makes sense now. Called only when somebody asks. */
  actions?(state: State): readonly string[];
  act(state: State, action: string, random: Random): Answer<State>;
  /** Actions that are known to solve the task: `env verify` replays them. */
  solution?(state: State, task: Task): readonly string[] | undefined;
  /** The shortest actions that solve the task from here; `steps` were taken. Undefined if none do. */
  plan?(state: State, task: Task, steps: number): readonly string[] | undefined;
  /** A scripted policy that sees what an agent sees, for one episode. */
  expert?(seed: number): Expert;
}

/**
 * A world from a few functions. States are not changed but replaced, which makes copies free and
 * observations true snapshots; random numbers depend on the task and the step only, so that a copy
 * and a replay draw the same.
 */
export function defineEnvironment<State, const Table extends OptionTable = Record<never, never>>(
  parts: EnvironmentParts<State, Table>,
): WorldDefinition<Table> {
  const { name, aliases, summary, briefing, maximumSteps } = parts;
  return {
    name,
    ...(aliases && { aliases }),
    summary,
    ...(briefing !== undefined && { briefing }),
    maximumSteps,
    options: parts.options ?? ({} as Table),
    open: (options) => localWorld(parts, options),
  };
}

/** The same, for a world whose definition loads the functions only when it is opened. */
export function localWorld<State, Table extends OptionTable = Record<never, never>>(
  parts: LocalWorldParts<State, Table>,
  options: OptionValues<Table>,
): World<LocalEnvironment> {
  const { name, source } = parts;
  const splits = Object.keys(parts.splits);
  return {
    name,
    ...(source !== undefined && { source }),
    splits,
    tasks(split) {
      requireSplit(name, split, splits);
      const listed = parts.splits[split]!;
      return taskSet({
        environment: name,
        split,
        length: typeof listed === "number" ? listed : listed.length,
        task: (index) => ({
          environment: name,
          split,
          id: `${split}/${index}`,
          ...(typeof listed === "number" ? {} : listed[index]),
        }),
      });
    },
    environment: () => newEnvironment(parts, options),
    ...(parts.solution && {
      solution: (task: Task) => parts.solution!(startOf(parts, task, options), task),
    }),
    ...(parts.expert && { expert: (seed: number) => parts.expert!(seed) }),
  };
}

/** Where an episode stands. */
interface Episode<State> {
  readonly task: Task;
  readonly state: State;
  readonly instruction: string | undefined;
  readonly steps: number;
  /** The result that ended it. */
  readonly end?: StepResult;
}

function newEnvironment<State, Table extends OptionTable>(
  parts: LocalWorldParts<State, Table>,
  options: OptionValues<Table>,
  begun?: Episode<State>,
): LocalEnvironment {
  const { name } = parts;
  let episode = begun;
  return {
    reset(task) {
      const state = startOf(parts, task, options);
      const intro = guarded(name, "intro", () => parts.intro(state, task));
      const { text, instruction } = typeof intro === "string" ? { text: intro } : intro;
      episode = { task, state, instruction, steps: 0 };
      return observation(parts, episode, { text });
    },
    step(action) {
      if (!episode)
        throw new EnvironmentError(name, "step() before reset(); call reset(task) first.");
      if (episode.end) return { ...episode.end, reward: 0 };
      const { task, state, steps } = episode;
      const random = randomOf(name, task, steps + 1);
      const answer = guarded(name, `act (${shown(action)})`, () =>
        parts.act(state, action, random),
      );
      const next: Episode<State> = {
        ...episode,
        state: answer.state === undefined ? state : frozen(answer.state),
        steps: steps + 1,
      };
      const { won = false, lost = false } = answer;
      const known = parts.actions && guarded(name, "actions", () => parts.actions!(state));
      const admissible = answer.admissible ?? known?.includes(action);
      const result: StepResult = {
        observation: observation(parts, next, answer),
        reward: answer.reward ?? (won ? 10 : 0),
        done: won || lost || (answer.done ?? false),
        won,
        ...(lost && { lost }),
        ...(admissible !== undefined && { admissible }),
        score: answer.score ?? (won ? 1 : 0),
      };
      episode = result.done ? { ...next, end: result } : next;
      return result;
    },
    clone: () => newEnvironment(parts, options, episode),
    ...(parts.plan && {
      plan() {
        if (!episode)
          throw new EnvironmentError(name, "plan() before reset(); call reset(task) first.");
        const { state, task, steps, end } = episode;
        return end ? undefined : guarded(name, "plan", () => parts.plan!(state, task, steps));
      },
    }),
  };
}

/** The random numbers of a task's step; step 0 is its start. */
export function randomOf(name: string, task: Task, step: number): Random {
  return seededRandom(name, task.split, task.id, task.seed ?? 0, step);
}

function startOf<State, Table extends OptionTable>(
  parts: LocalWorldParts<State, Table>,
  task: Task,
  options: OptionValues<Table>,
): State {
  const random = randomOf(parts.name, task, 0);
  return frozen(guarded(parts.name, "start", () => parts.start(task, random, options)));
}

function observation<State, Table extends OptionTable>(
  parts: LocalWorldParts<State, Table>,
  { state, instruction }: Episode<State>,
  { text, anchor = text, info = {} }: Pick<Answer<State>, "text" | "anchor" | "info">,
): Observation {
  const plain = { text, anchor, info, ...(instruction !== undefined && { instruction }) };
  if (!parts.actions) return plain;
  let list: readonly string[] | undefined;
  return {
    ...plain,
    get admissible() {
      list ??= guarded(parts.name, "actions", () => parts.actions!(state));
      return list;
    },
  };
}

/** Runs one of the user's functions; what it throws becomes an EnvironmentError that says which. */
function guarded<Result>(name: string, place: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new EnvironmentError(name, `its function ${place} failed: ${reason}`, { cause: error });
  }
}

function shown(action: string): string {
  return JSON.stringify(action.length > 60 ? `${action.slice(0, 60)}…` : action);
}

/** Freezes plain objects and arrays all the way down; what is frozen already is left out. */
function frozen<Value>(value: Value): Value {
  const plain =
    Array.isArray(value) ||
    (typeof value === "object" && value !== null && isPlain(Object.getPrototypeOf(value)));
  if (!plain || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value as object)) frozen(part);
  return value;
}

function isPlain(prototype: object | null): boolean {
  return prototype === null || prototype === Object.prototype;
}
