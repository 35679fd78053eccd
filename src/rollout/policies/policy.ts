/**
 * @file The policy as an episode sees it: whatever continues a prompt with token ids.
 */
import type { Observation, Task } from "../../environments/index.ts";
import type { Completion, SampledToken } from "../../generation/index.ts";
import type { Chat, ChatMessage } from "../../models/index.ts";
import type { EpisodeLimits } from "../limits.ts";
import type { EpisodeStatus, Turn } from "../trajectory.ts";

export interface ReplyRequest {
  /** The episode's id: one request of an episode at a time. */
  readonly episode: string;
  /** The task's id: replies to the same task are alike. */
  readonly task?: string;
  /** Replies given before. */
  readonly turn: number;
  /** The agent's messages since its last reply; in the context `steps`, the whole prompt. */
  readonly messages: readonly ChatMessage[];
  /** The whole context, in ids. */
  readonly prompt: readonly number[];
  /** What the agent sees: for scripted policies and constrained decoding. */
  readonly observation: Observation;
  /** Sampled tokens at most. */
  readonly maximumTokens: number;
  /** Of this turn. */
  readonly seed: bigint;
  readonly signal: AbortSignal;
  /** Hears each token as it is drawn, where the policy can tell; must not throw. */
  readonly onToken?: (token: SampledToken) => void;
}

/** A session of the policy's, for an episode that is a program: whoever has its key may ask. */
export interface PolicySession {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** What was asked and answered so far, branch after branch. */
  turns(): readonly Turn[];
  /** What the program told the server of its reward. */
  readonly told: SessionReward | undefined;
  /** The limit that it ran into; nothing is answered since. */
  readonly limit: Extract<EpisodeStatus, "turn limit" | "token limit" | "context full"> | undefined;
  /** What went wrong in the model. */
  readonly failure: Error | undefined;
  /** Nothing is answered any more, and what was kept is given back. */
  close(): Promise<void>;
}

export interface SessionReward {
  readonly reward: number;
  readonly score?: number | undefined;
  readonly won?: boolean | undefined;
}

export interface SessionRequest {
  /** The episode's id. */
  readonly episode: string;
  readonly task: Task;
  readonly seed: bigint;
  readonly limits: Pick<EpisodeLimits, "turns" | "tokens" | "promptTokens">;
}

export type ReplySource = "policy" | "scripted";

export interface Policy {
  readonly chat: Chat;
  /** Tokens that fit into the model, prompt and reply together. */
  readonly contextLength: number;
  /** Tokens of one reply at most. */
  readonly replyTokens: number;
  /** Where the ids of replies come from, unless one says otherwise. */
  readonly source: ReplySource;
  /** Opens a session for a program. Absent: this policy cannot be asked by programs. */
  session?(request: SessionRequest): Promise<PolicySession>;
  reply(request: ReplyRequest): Promise<Completion & { readonly source?: ReplySource }>;
  /** The episode is over: gives back what was kept for it. */
  end(episode: string): void;
}
