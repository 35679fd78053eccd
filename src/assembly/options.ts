/**
 * @file What must be known to let an agent play: plain options, all of them given. Where they come from (a
 * program, a configuration, a model's folder) is the affair of later rooms.
 */
import type { AgentOptions, HistoryOptions, MakeHistory } from "../agents/index.ts";
import type { IsolateOptions, WorldDefinition } from "../environments/index.ts";
import type { EngineOptions, Quantization } from "../generation/index.ts";
import type { EpisodeLimits, SearchOptions, ValidityRule } from "../rollout/index.ts";
import type { ServerQuestions } from "./asking.ts";

/** Where an agent acts, on which tasks. */
export interface WorldOptions {
  /** A world's name, the file of one's own, or the world itself. */
  readonly world: string | WorldDefinition;
  /** The world's own options. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Of the world's own randomness, where it has an option for that. */
  readonly seed: number;
  /** Default: the world's first split. */
  readonly trainSplit?: string | undefined;
  /** Default: the held-out tasks where there are some, else the world's second split. */
  readonly valSplit?: string | undefined;
  /** Tasks of the training split that are set aside; see held-out.ts. */
  readonly heldOut: number;
  /** Turns of an episode at most. Default: the world's own number. */
  readonly turns?: number | undefined;
  /** Seconds to open the world, and to list the tasks of a split. Default 600. */
  readonly openSeconds?: number | undefined;
  /** Processes of the world's own. Default: none, it is played in this one. */
  readonly isolate?: IsolateOptions | undefined;
  /** Episodes that every prompt begins with. Default: none. */
  readonly examples?: ExampleOptions | undefined;
}

/** Episodes to be shown, in the form in which the agent plays; see examples.ts. */
export interface ExampleOptions {
  /** So many of the world's expert in tasks of the training split, or a file of chats. */
  readonly from: number | string;
  readonly agent: AgentSettings;
  readonly limits: Omit<EpisodeLimits, "turns">;
  /** Which tasks they are follows from it. */
  readonly seed: number;
}

/** How tokens are drawn. */
export interface Sampling {
  /** 0: the most likely token. */
  readonly temperature: number;
  /** 0: all. */
  readonly topK: number;
  readonly topP: number;
}

export const GREEDY: Sampling = { temperature: 0, topK: 0, topP: 1 };

/** An agent before it is known who writes its summaries. */
export interface AgentSettings extends Omit<AgentOptions, "history"> {
  readonly history?: HistoryOptions | SummarySettings | MakeHistory | undefined;
}

export interface SummarySettings {
  readonly kind: "summary";
  readonly length?: number;
  /** Who writes them. Default: the policy itself. */
  readonly server?: ServerQuestions | undefined;
}

/** How an agent plays: what it sees and answers, with which limits, and how many at once. */
export interface PlayOptions {
  readonly agent: AgentSettings;
  readonly limits: Omit<EpisodeLimits, "turns">;
  /** Tokens of one reply at most. */
  readonly replyTokens: number;
  /** Only admissible actions can be drawn. To be reported apart from free generation. */
  readonly constrain: boolean;
  /** What makes an action invalid, in rates and penalties. */
  readonly validity: ValidityRule;
  /** Episodes at once; undefined: all. */
  readonly concurrency: number | undefined;
  readonly retries: number;
  /** How episodes are searched for. Undefined: they are played once. */
  readonly search?: SearchOptions | undefined;
  readonly engine: {
    readonly cacheBytes: number;
    readonly tokensPerStep: number;
    /** Next tokens are guessed where that is faster; answers are the same. */
    readonly speculation: boolean;
    /** Generates with a copy of the weights in fewer bytes. */
    readonly quantization: Quantization | undefined;
    /** Makes the cache's memory, where it is not of this process alone. */
    readonly newCache?: EngineOptions["newCache"] | undefined;
  };
  /** How the weights are held. */
  readonly dtype: "float32" | "bfloat16" | "float16";
  readonly device: string;
  /** How replies are drawn when the agent is evaluated. */
  readonly evaluation: Sampling;
  /** Everything random in evaluation follows from it. */
  readonly seed: number;
}
