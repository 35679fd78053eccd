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
  /**
   * The larger, the harder, against other tasks of the world: curricula go by it. Without it they count the actions of
   * the task's solution, where the world has one.
   */
  readonly difficulty?: number;
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
  /**
   * In how many variants every task is there: first all tasks once, then all of them again, in the same order, as often
   * as it takes. Who sets a task aside sets its variants aside too. Default 1.
   */
  readonly variants?: number | undefined;
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
  /** It limits the time of its answers itself: nobody else has to. */
  readonly timed?: boolean;
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

/** An expert that may have to be waited for: one that lives in another process (see isolated/). */
export interface DistantExpert {
  act(observation: Observation): string | Promise<string>;
  acted?(action: string): void;
  /** Of what it said last. */
  thought?(): string;
}

/** A function that a world offers to agents, as prompts describe it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: { readonly [key: string]: Json };
}

/** What a program is told when it is started for a task. */
export interface ProgramCall {
  readonly task: Task;
  /** Where the model answers, as OpenAI's servers do: "http://127.0.0.1:40123/s/…/v1". */
  readonly baseUrl: string;
  /** By which the server knows the episode's session. */
  readonly apiKey: string;
  /** Follows from the run's seed, the task and the member: for whatever is random in the program. */
  readonly seed: number;
  /** Aborted: its time is up, or nobody wants it any more. */
  readonly signal: AbortSignal;
}

/** What came of a program. */
export interface ProgramResult {
  /** Of the episode. Absent: what was told to the server counts, or nothing. */
  readonly reward?: number | undefined;
  /** 0 to 1. Default: the reward, cut off there. */
  readonly score?: number | undefined;
  /** Default: a score of 1. */
  readonly won?: boolean | undefined;
  /** What it said at its end. */
  readonly output: string;
}

/** What a program asks, for whoever answers in the model's place. */
export interface ProgramQuestion {
  readonly task: Task;
  readonly messages: readonly {
    readonly role: "system" | "user" | "assistant" | "tool";
    readonly content: string;
    /** Of an assistant; arguments are JSON. */
    readonly calls?: readonly { readonly name: string; readonly arguments: string }[] | undefined;
  }[];
  readonly tools: readonly ToolDefinition[];
  /** From 0 to 1, the same numbers in the same episode: for an expert that is not always right. */
  readonly random: () => number;
}

/** A text, or calls of functions, with a text before them or none. */
export type ProgramReply =
  | string
  | {
      readonly content?: string;
      readonly calls: readonly {
        readonly name: string;
        readonly arguments: Readonly<Record<string, Json>>;
      }[];
    };

/** A program that talks to the model by itself: what an episode of some worlds is. */
export interface AgentProgram {
  /** Seconds of an episode at most. */
  readonly seconds: number;
  /** Whether an episode without a reward is a mistake; false: reward components judge it. */
  readonly rewarded: boolean;
  /** Answers in the model's place, so that a model can learn from it before it learns by itself. */
  expert?(question: ProgramQuestion): ProgramReply | Promise<ProgramReply>;
  /** Rejects when the program fails. When `signal` aborts, it is ended, and everything that it started. */
  run(call: ProgramCall): Promise<ProgramResult>;
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
  /** In place of `expert`, where it lives in another process; `expertsOf` gives whichever there is. */
  distantExpert?(seed: number): DistantExpert;
  /** An episode is this program: it is not played step by step, and `environment` gives none that could be. */
  readonly program?: AgentProgram;
  /** Actions that are known to solve a task (recorded or computed); `env verify` replays them. */
  solution?(task: Task): readonly string[] | undefined | Promise<readonly string[] | undefined>;
  close?(): void | Promise<void>;
}

/** How a world makes its experts, wherever they live; undefined: it has none. */
export function expertsOf(world: World): ((seed: number) => DistantExpert) | undefined {
  if (world.expert) return (seed) => world.expert!(seed);
  return world.distantExpert && ((seed) => world.distantExpert!(seed));
}

/** An error inside a world: what was wrong, what was expected and what to do, with the world's name. */
export class EnvironmentError extends Error {
  override name = "EnvironmentError";
  readonly environment: string;
  /** Another episode's doing (they share a process, which died): the one that got this is begun again. */
  readonly blameless: boolean;
  /** What is known of the fault: an answer that is none, a process that is gone. */
  readonly kind: "garbage" | "ended" | undefined;

  constructor(
    environment: string,
    message: string,
    options: ErrorOptions & {
      readonly blameless?: boolean;
      readonly kind?: "garbage" | "ended";
    } = {},
  ) {
    super(`${environment}: ${message}`, options);
    this.environment = environment;
    this.blameless = options.blameless ?? false;
    this.kind = options.kind;
  }
}
