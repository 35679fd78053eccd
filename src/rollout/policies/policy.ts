/**
 * @file The policy as an episode sees it: whatever continues a prompt with token ids.
 */
import type { Observation } from "../../environments/index.ts";
import type { Completion } from "../../generation/index.ts";
import type { Chat, ChatMessage } from "../../models/index.ts";

export interface ReplyRequest {
  /** The episode's id: one request of an episode at a time. */
  readonly episode: string;
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
  reply(request: ReplyRequest): Promise<Completion & { readonly source?: ReplySource }>;
  /** The episode is over: gives back what was kept for it. */
  end(episode: string): void;
}
