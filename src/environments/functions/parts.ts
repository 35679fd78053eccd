/**
 * @file The functions of which a world of one's own is made: what they get, and what they give.
 *
 * A value that says `Now | Promise` may be a promise. A world none of whose functions gives one is
 * played without promises.
 */
import type { Expert, Json, Observation, Task } from "../environment.ts";
import type { OptionTable, OptionValues } from "../options.ts";
import type { Random } from "../random.ts";

/** What an action does. Only `text` is a must. */
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
  /** Default: 10 for winning and 0 otherwise. */
  readonly reward?: number;
  /** Default: 1 for winning and 0 otherwise. */
  readonly score?: number;
  /** Whether the action made sense. Follows from `actions` where that is defined. */
  readonly admissible?: boolean;
  /** Default: the text. */
  readonly anchor?: string;
  readonly info?: Readonly<Record<string, Json>>;
}

/** A task of a world made from functions: any of it may be left out. */
export type TaskSketch = Partial<Pick<Task, "id" | "type" | "difficulty" | "seed" | "data">>;

/** What is the same whether a world waits for things or not. */
interface PlainParts<State> {
  readonly name: string;
  /** Where its tasks come from, for people. */
  readonly source?: string;
  /** For each split its tasks, or only how many there are: then they differ in their random numbers. */
  readonly splits: Readonly<Record<string, number | readonly TaskSketch[]>>;
  /** What the agent sees first. */
  intro(state: State, task: Task): string | Pick<Observation, "text" | "instruction">;
  /** Every action that makes sense now. Called only when somebody asks. */
  actions?(state: State): readonly string[];
  /** The shortest actions that solve the task from here; `steps` were taken. Undefined if none do. */
  plan?(state: State, task: Task, steps: number): readonly string[] | undefined;
  /** A scripted policy that sees what an agent sees, for one episode. */
  expert?(seed: number): Expert;
}

/** The functions of a world that never waits; `localWorld` makes a world of them. */
export interface LocalWorldParts<State, Table extends OptionTable = Record<never, never>>
  extends PlainParts<State> {
  /** The state in which a task begins: plain data, or anything that nobody changes. */
  start(task: Task, random: Random, options: OptionValues<Table>): State;
  act(state: State, action: string, random: Random): Answer<State>;
  /** Actions that are known to solve the task: `env verify` replays them. */
  solution?(state: State, task: Task): readonly string[] | undefined;
}

/**
 * The functions of a world that may wait, and may hold something: a connection, a process, a browser.
 * Types follow from the functions in the order in which they are written, so write `open` before `start`,
 * and `start` before the others.
 */
export interface WorldParts<State, Table extends OptionTable, Resource> extends PlainParts<State> {
  /** Makes what all episodes of an opened world share; called once, before anything else. */
  open?(options: OptionValues<Table>): Resource | Promise<Resource>;
  /**
   * The state in which a task begins: plain data, or anything that nobody changes. What belongs to one
   * episode (a page of the browser, a session) is part of it, and `finish` gives it back.
   */
  start(
    task: Task,
    random: Random,
    options: OptionValues<Table>,
    resource: Resource,
  ): State | Promise<State>;
  act(
    state: State,
    action: string,
    random: Random,
    resource: Resource,
  ): Answer<NoInfer<State>> | Promise<Answer<NoInfer<State>>>;
  /**
   * Gives back what `start` made for one episode. Called exactly once for each state that `start` made,
   * with the latest one: when the episode is over, when another is begun in the middle of it, or when the
   * environment or the world is closed, also while `act` still runs. A world with `finish` has no
   * `clone()`: two environments cannot both give the same thing back.
   */
  finish?(state: State, resource: Resource): unknown;
  /** Gives back what `open` made; called once, after every episode was finished. */
  close?(resource: Resource): unknown;
  /** Actions that are known to solve the task: `env verify` replays them. */
  solution?(
    state: State,
    task: Task,
  ): readonly string[] | undefined | Promise<readonly string[] | undefined>;
}
