/**
 * @file What differs between AgentGym's servers: each kind of environment has routes, field names and
 * error styles of its own. A `Kind` says how one of them talks; client and server both go by it.
 */
import type { Json, Observation, StepResult, Task } from "../environment.ts";

export type Fields = Readonly<Record<string, Json>>;

/** What a server says of a new episode. */
export interface Beginning {
  readonly text: string;
  readonly admissible?: readonly string[];
  readonly info: Fields;
}

/** What a server says of a step. */
export interface Outcome {
  readonly text: string;
  readonly admissible?: readonly string[];
  /** Its "reward" or "score": `Kind.reward` says what that means. */
  readonly value: number;
  readonly done: boolean;
  readonly info: Fields;
}

/** How the value that a server sends with a step is to be understood. */
export interface RewardRule {
  /**
   * step: what this step earned; total: what the episode has earned so far, so that a step earned the
   * difference. (AgentGym's trainers take the last one for the episode's: the same sum.)
   */
  readonly counts: "step" | "total";
  /** The value of a task that is solved completely. */
  readonly best: number;
  /** Whether an episode that is over with this value was solved. */
  won(value: number): boolean;
  /** The reward that we give for solving, where it is not the server's number. */
  readonly winReward?: number;
}

/** Further requests that tell what can be done. */
export interface ActionQuery {
  readonly route: string;
  /** Each time, or once per episode because it never changes. */
  readonly when: "step" | "episode";
  read(answer: unknown): readonly string[];
}

/** An episode on our server: what questions about it are answered from. */
export interface HostedEpisode {
  readonly task: Task;
  /** Its number among the server's tasks. */
  readonly index: number;
  /** What its beginning said. */
  readonly first: Observation;
  readonly observation: Observation;
  /** Undefined before the first step. */
  readonly result: StepResult | undefined;
}

export interface Kind {
  readonly name: string;
  /** The n-th task is called `${item}_${n}` in AgentGym's data. */
  readonly item: string;
  /** Before every route: "/maze" where servers share a port. */
  readonly prefix: string;
  /** The field that holds an environment's number. */
  readonly key: "id" | "env_idx";
  /** The field of a reset that holds the task's number, and whether it may be left out. */
  readonly index: { readonly field: string; readonly optional?: true };
  /** Numbers past the last task begin again with the first; otherwise they are an error. */
  readonly wraps?: true;
  /** What else a reset's body has. */
  readonly resetFields?: Fields;
  /** Whether a body of /create has the task's number. */
  readonly createsWithTask?: true;
  /** Whether /create begins a task too, and answers as /reset does or says nothing of it. */
  readonly createsBegun?: "told" | "untold";
  /** Refusals: status 200 with {"error": …}, or status 500. */
  readonly errors: "body" | "status";
  /** Whether a step after the end is refused. Otherwise it is answered as before. */
  readonly refusesFinished?: true;
  /** Whether AgentGym's server has POST /close. (Ours always has.) */
  readonly closes?: true;
  readonly reward: RewardRule;
  readonly actions?: ActionQuery;
  /** Whether the actions that a reset lists are those of the whole episode. */
  readonly keepsActions?: true;
  /** Whether whatever is not listed makes no sense. */
  readonly listsAllActions?: true;
  /** What the agent is to do, where AgentGym's client says it and not the server. */
  readonly instruction?: string;

  /** Reads the answers of a server; a wrong shape is thrown as TypeError. */
  readCreated(answer: unknown): number;
  readReset(answer: unknown): Beginning;
  readStep(answer: unknown): Outcome;

  /** Writes the answers of our server. */
  writeCreated(id: number): Json;
  writeReset(id: number, episode: HostedEpisode): Json;
  writeStep(result: StepResult): Json;
  /** GET routes that are answered without saying which environment. */
  readonly constants?: Readonly<Record<string, Json>>;
  /** GET routes about one environment. */
  readonly questions: Readonly<Record<string, (episode: HostedEpisode) => Json>>;
}
