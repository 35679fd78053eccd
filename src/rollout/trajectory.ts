/**
 * @file The trajectory: what really happened in one episode, in words and in tokens. Every later number
 * (advantage, ratio, KL) can be traced back to it.
 */
import type { AgentContext, Problem } from "../agents/index.ts";
import type { Json, Task } from "../environments/index.ts";
import type { FinishReason } from "../generation/index.ts";
import type { ChatMessage } from "../models/index.ts";

/** Every way in which an episode can end. */
export type EpisodeStatus =
  /** The task is solved. */
  | "won"
  /** The world ended the episode, and the task is not solved. */
  | "lost"
  /** As many turns as there may be. */
  | "turn limit"
  /** As many sampled tokens as there may be. */
  | "token limit"
  /** The next prompt leaves no room for a reply. */
  | "context full"
  /** More replies that could not be read than are allowed. */
  | "parse failures"
  /** The world failed, and failed again on fresh environments. */
  | "environment error"
  /** The model or its server failed. */
  | "policy error"
  /** The episode's time was up. */
  | "timeout"
  /** Whoever started it stopped it. */
  | "aborted";

/** Ends that are the agent's doing: these episodes can be trained on. The others are only counted. */
export const TRAINABLE: ReadonlySet<EpisodeStatus> = new Set<EpisodeStatus>([
  ...(["won", "lost", "turn limit", "token limit", "context full", "parse failures"] as const),
]);

/** A reply as it was sampled. */
export interface SampledReply {
  readonly ids: readonly number[];
  /** log p under the model; NaN: unknown. */
  readonly logprobs: readonly number[];
  /** log p under the distribution that was drawn from; NaN: unknown. */
  readonly sampledLogprobs: readonly number[];
  /** Where only admissible actions could be drawn: the ids that could, for each token; null: all could. */
  readonly allowed?: readonly (readonly number[] | null)[];
  /** For people and the parser: decoded, without special tokens. Never tokenised again. */
  readonly text: string;
  readonly finish: FinishReason;
  readonly weightsVersion: number;
  /**
   * policy: the ids are what the policy drew; scripted: written by an expert; retokenized: a server
   * gave only text. Only the first can be trained on with reinforcement learning.
   */
  readonly source: "policy" | "scripted" | "retokenized";
}

/** One observation, the reply to it, and what became of it. */
export interface Turn {
  /** What the agent was shown. */
  readonly observation: string;
  /** The state, as GiGPO compares it. */
  readonly anchor: string;
  /** In a conversation: the messages since the last reply. In steps: the whole prompt. */
  readonly messages: readonly ChatMessage[];
  /** Those messages in ids, with what the template puts around them. */
  readonly promptIds: readonly number[];
  readonly reply: SampledReply;
  /** What the world was given; null: the reply could not be read. */
  readonly action: string | null;
  /** The reply's other fields. */
  readonly parts: Readonly<Record<string, string>>;
  /** What was wrong with the reply's form; empty: well-formed. */
  readonly problems: readonly Problem[];
  /** Whether the action was one of the admissible ones; null: the world does not know. */
  readonly admissible: boolean | null;
  /** The tool of the agent's own that was called; the world did not move then. */
  readonly tool?: { readonly name: string; readonly failed: boolean };
  /** The world's reward of this step. */
  readonly reward: number;
  /** The world's score after it, 0 to 1. */
  readonly score: number;
  readonly info: Readonly<Record<string, Json>>;
  /**
   * Where an episode is a program that asks by itself: which of its conversations this turn belongs to. The
   * turns of a branch stand together, in their order.
   */
  readonly branch?: number;
  /** Wall-clock, for throughput only: nothing is decided by it. */
  readonly seconds: { readonly generate: number; readonly step: number };
}

export interface Trajectory {
  /** Unique in its run: step, task and member. */
  readonly id: string;
  /** The iteration of the run. */
  readonly step: number;
  /** Episodes of one task in one iteration. */
  readonly group: string;
  readonly member: number;
  readonly task: Task;
  /** All randomness of the policy in this episode follows from it. */
  readonly seed: bigint;
  /** Whose ids these are: the tokenizer's fingerprint. Absent in episodes of earlier versions. */
  readonly tokenizer?: string;
  readonly format: string;
  readonly context: AgentContext;
  readonly status: EpisodeStatus;
  /** Why it failed, where it did. */
  readonly error?: string;
  readonly won: boolean;
  /** The world's last score, 0 to 1. */
  readonly score: number;
  /** Sum of the world's rewards. */
  readonly reward: number;
  /** What of it belongs to the episode as a whole and to none of its turns. Absent: nothing does. */
  readonly outcome?: number;
  readonly turns: readonly Turn[];
  /** What the agent saw at the end, after its last action. */
  readonly lastObservation: string;
  /** How often it was begun: more than once if the world failed. */
  readonly attempts: number;
  readonly seconds: number;
  /** The composed reward by component; src/rewards fills it in. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** What it took to find it, where it was searched for. */
  readonly search?: SearchAccount;
  /** Why it was not trained on, where it was played for training and left out. */
  readonly dropped?: string;
}

/** What a search cost, whose best line an episode is. */
export interface SearchAccount {
  readonly strategy: string;
  /** Drawn by the policy, for all lines and judgements. */
  readonly tokens: number;
  /** Turns that were played. */
  readonly states: number;
  /** Lines that came to an end. */
  readonly finished: number;
}

export function isTrainable({ status, turns }: Trajectory): boolean {
  return TRAINABLE.has(status) && turns.length > 0;
}

/**
 * The turns of each sequence of tokens that is trained on: all of an episode, or each of `steps`, or those of
 * a branch.
 */
export function rowsOf<Some extends Pick<Turn, "branch">>({
  context,
  turns,
}: Pick<Trajectory, "context"> & { readonly turns: readonly Some[] }): Some[][] {
  const rows: Some[][] = [];
  for (const [i, turn] of turns.entries())
    if (beginsRow(context, turns, i)) rows.push([turn]);
    else rows.at(-1)!.push(turn);
  return rows;
}

/** Whether a turn is the first of its row. */
export function beginsRow(
  context: Trajectory["context"],
  turns: readonly Pick<Turn, "branch">[],
  turn: number,
): boolean {
  return turn === 0 || context === "steps" || turns[turn]!.branch !== turns[turn - 1]!.branch;
}

/** Tokens that the policy drew. */
export function sampledTokens({ turns }: Pick<Trajectory, "turns">): number {
  return turns.reduce((sum, { reply }) => sum + reply.ids.length, 0);
}

export function isWellFormed({ problems }: Turn): boolean {
  return problems.length === 0;
}
