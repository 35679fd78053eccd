/**
 * @file What a session is asked, what it gives, and what it is made of.
 */
import type { ProgramReply, ToolDefinition } from "../../environments/index.ts";
import type {
  Completion,
  SampledToken,
  SamplingOptions,
  TextGenerator,
} from "../../generation/index.ts";
import type { ReplyPiece } from "../tools/reader.ts";
import type { ToolTemplate } from "../tools/template.ts";
import type { ForkReason } from "./branches.ts";
import type { GatewayMessage, ToolCall } from "./messages.ts";

/** How a reply is drawn; what is absent is the session's. */
export type ReplySampling = Partial<Omit<SamplingOptions, "stopTokens">>;

export interface ReplyAsk {
  readonly messages: readonly GatewayMessage[];
  readonly tools: readonly ToolDefinition[];
  /** False: what looks like a call is text. */
  readonly readsCalls: boolean;
  readonly sampling: ReplySampling;
  readonly seed?: number | bigint | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Hears the reply as it is written. */
  readonly onPiece?: (piece: GivenPiece) => void;
}

/** A piece of a reply as a client gets it: with names for its calls, and the tokens that it came from. */
export interface GivenPiece extends Omit<ReplyPiece, "calls"> {
  readonly calls: readonly ToolCall[];
  readonly tokens: readonly SampledToken[];
}

export interface GivenReply {
  readonly content: string;
  readonly calls: readonly ToolCall[];
  readonly finish: Completion["finish"];
  /** The string that ended it. */
  readonly stop: string | null;
  readonly promptIds: readonly number[];
  readonly completion: Completion;
  readonly branch: number;
}

export interface SessionParts {
  readonly id: string;
  readonly generator: TextGenerator;
  readonly templates: ToolTemplate;
  /** Tokens of prompt and reply together. */
  readonly contextLength: number;
  /** Whether what is said is kept for later: otherwise every request is the only one. */
  readonly keeps: boolean;
  readonly seed: bigint;
  readonly task?: string | undefined;
  /** Replaces what clients ask for: a run draws as it says, whatever its programs say. */
  readonly sampling?: ReplySampling | undefined;
  readonly limits?: {
    readonly turns?: number | undefined;
    readonly tokens?: number | undefined;
    readonly promptTokens?: number | undefined;
    readonly replyTokens?: number | undefined;
  };
  /** Answers in the model's place. */
  readonly script?: ((ask: ReplyAsk) => Promise<ProgramReply>) | undefined;
  readonly onFork?: (reason: ForkReason) => void;
}
