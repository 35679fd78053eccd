/**
 * @file The interface of every text world: tasks, observations, steps, environments, worlds.
 *
 * A **world definition** is what the registry knows by name. Opening it with options (`open`) loads
 * its data once and gives a **world**: task sets by split, and as many **environments** as there are
 * episodes to run at once. An environment is one episode at a time: `reset(task)`, then `step(action)`
 * until `done`. Environments of one world share its data and nothing else.
 *
 * What every world promises:
 * - Deterministic: the same task (with its seed) and the same actions give the same observations,
 *   rewards and admissible actions, whatever else runs and in whatever order.
 * - Any string is an action. An action that the world does not understand gets the world's own
 *   answer ("Nothing happens."), never an exception.
 * - What goes wrong inside a world (broken data, a dead server) is thrown as EnvironmentError.
 * - How many steps an episode may take is the episode's business; a world only states its usual
 *   limit (`maximumSteps`).
 */

/** What JSON can hold; everything that ends up in a trajectory file. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** One problem, as plain data: it can be stored, sent to another process and replayed there. */
export interface Task {
  /** The world's name in the registry. */
  readonly environment: string;
  /** "train", "valid_seen", "test", …: the world says which it has. */
  readonly split: string;
  /** Stable: names the same problem in every run and version of the data. */
  readonly id: string;
  /** The kind of problem, for success rates by kind ("pick_heat_then_place_in_recep"). */
  readonly type?: string;
  /** Where the world itself is random. The same task with another seed is another episode. */
  readonly seed?: number;
  /** Whatever else the world needs to set the problem up. */
  readonly data?: Json;
}

/**
 * The tasks of one split, in an order that never changes. Shuffling is the consumer's affair.
 * Tasks are made when asked for: a set may be larger than memory.
 */
export interface TaskSet {
  readonly environment: string;
  readonly split: string;
  readonly length: number;
  /** Throws EnvironmentError when there is no such index. */
  task(index: number): Task;
  /** The kind of the problem, without making the task where that is cheaper. */
  type(index: number): string | undefined;
}

/**
 * What the agent is told. A snapshot: it stays as it was, `admissible` included, when the
 * environment moves on.
 */
export interface Observation {
  /** Exactly the text that the world shows. */
  readonly text: string;
  /** What the agent is asked to do, where the world states it apart from its observations. */
  readonly instruction?: string | undefined;
  /**
   * Every action that would be understood now, where the world knows them. May be a getter that
   * computes the list when first asked, so do not read (or spread, or log) it for nothing. An entry
   * may hold a blank for the agent to fill in, in angle brackets: `search[<your query>]`.
   */
  readonly admissible?: readonly string[] | undefined;
  /** GiGPO groups the steps of a group's episodes that have equal anchors. */
  readonly anchor: string;
  /** Further facts for logs and metrics; the agent does not see them. */
  readonly info: Readonly<Record<string, Json>>;
}

/** What became of an action. */
export interface StepResult {
  readonly observation: Observation;
  /** This step's reward. On success 10 in the worlds of the documents, as they train. */
  readonly reward: number;
  /** The episode is over. */
  readonly done: boolean;
  /** The task is solved. */
  readonly won: boolean;
  /** Over and never to be solved; only in worlds that can be lost. */
  readonly lost?: boolean;
  /** Whether the action was an admissible one, where the world knows. */
  readonly admissible?: boolean;
  /** The world's own score of the episode so far, 0 to 1 (ALFWorld: solved or not; WebShop: the match). */
  readonly score: number;
}

/** One episode at a time in one world. */
export interface Environment {
  /** Begins the task. May be called at any time, also in the middle of an episode. */
  reset(task: Task): Observation | Promise<Observation>;
  /**
   * Acts. Before the first reset this throws EnvironmentError; after `done` it changes nothing and
   * gives the last result again, with reward 0.
   */
  step(action: string): StepResult | Promise<StepResult>;
  /** An independent environment in the same state, for search. Absent where the world cannot. */
  clone?(): Environment;
  /** The shortest actions that solve the task from here, where the world can tell; undefined if none do. */
  plan?(): readonly string[] | undefined;
  /** Gives back what the environment holds (connections, processes). */
  close?(): void | Promise<void>;
}

/** An environment that lives in this process: no promises, and it can always be copied. */
export interface LocalEnvironment extends Environment {
  reset(task: Task): Observation;
  step(action: string): StepResult;
  clone(): LocalEnvironment;
}

/**
 * A scripted policy for one episode. It sees what an agent sees and nothing else; `act` is called
 * with every observation in turn, beginning with that of `reset`.
 */
export interface Expert {
  act(observation: Observation): string;
  /**
   * The agent did this instead of what the expert said last; the next observation is what came of it.
   * Absent: the expert cannot go on from there.
   */
  acted?(action: string): void;
  /** Why it said what it said last, in a line: what formats with a thought write down. */
  thought?(): string;
}

/** A function that a world offers to agents, as prompts describe it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: { readonly [key: string]: Json };
}

/** A world whose data is loaded. */
export interface World<Kind extends Environment = Environment> {
  /** As in the registry. */
  readonly name: string;
  /** Where its tasks come from, for people: "3693 games in /data/alfworld". */
  readonly source?: string;
  readonly splits: readonly string[];
  /** In a world of tools: what its actions may call, the final answer included. */
  readonly tools?: readonly ToolDefinition[];
  /** Throws EnvironmentError, with the splits that there are, when there is no such split. */
  tasks(split: string): TaskSet | Promise<TaskSet>;
  /** A new environment, cheap: hundreds of them share the world's data. */
  environment(): Kind;
  /** A new scripted expert for one episode, deterministic by seed. */
  expert?(seed: number): Expert;
  /** Actions that are known to solve a task (recorded or computed); `env verify` replays them. */
  solution?(task: Task): readonly string[] | undefined | Promise<readonly string[] | undefined>;
  close?(): void | Promise<void>;
}

/** An error inside a world: what was wrong, what was expected and what to do, with the world's name. */
export class EnvironmentError extends Error {
  override name = "EnvironmentError";
  readonly environment: string;

  constructor(environment: string, message: string, options?: ErrorOptions) {
    super(`${environment}: ${message}`, options);
    this.environment = environment;
  }
}
