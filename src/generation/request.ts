/**
 * @file What is asked of a generator and what it answers, whether the model is in this process or
 * behind a server.
 */

export interface SamplingOptions {
  /** 0 takes the most likely token. Default 1. */
  temperature?: number;
  /** Only the k most likely tokens; 0 (default): all. */
  topK?: number;
  /** Only the most likely tokens that together have this probability. Default 1. */
  topP?: number;
  /** Only tokens at least this likely relative to the most likely one. Default 0. */
  minP?: number;
  /** Logits of tokens already in the sequence are divided by it. Default 1. */
  repetitionPenalty?: number;
  /** Added to logits by token id. */
  bias?: ReadonlyMap<number, number>;
  /** How many tokens at most. */
  maximumTokens: number;
  /** Stop tokens are not drawn before so many tokens. Default 0. */
  minimumTokens?: number;
  /** Any of these ends the answer, and is its last token. Default: the model's own. */
  stopTokens?: readonly number[];
  /** The answer ends with the token that completes one of these. */
  stopStrings?: readonly string[];
  /** The answer's text is one of these, by construction. */
  choices?: readonly string[];
  /** Any other rule of what may come next; not together with choices. Only engines of this process know it. */
  constraint?: Constraint;
}

/** A rule of which tokens may come next: a grammar, a list. */
export interface Constraint {
  /** At the beginning of an answer. Any of `stopTokens` ends one that may end. */
  cursor(stopTokens: readonly number[]): ConstraintCursor;
}

/** Where an answer is under such a rule. */
export interface ConstraintCursor {
  /** Tokens that may come next, stop tokens among them; never none. */
  allowed(): readonly number[];
  advance(id: number): void;
  /** Another one at the same place, which goes its own way. */
  copy(): ConstraintCursor;
}

export interface GenerationRequest {
  /** Token ids of the whole context. */
  prompt: readonly number[];
  sampling: SamplingOptions;
  /** The same request with the same seed gets the same tokens, whatever else runs. */
  seed: number | bigint;
  /**
   * Names a conversation whose cache is kept after the answer: a later request of the same name whose
   * prompt begins with what is known computes only what is new. `release` ends it.
   */
  conversation?: string;
  /**
   * What it is about: requests of the same task get similar answers, so the engine guesses by earlier ones.
   * Changes how long an answer takes, never what it is. Servers are not told.
   */
  task?: string;
  signal?: AbortSignal;
  /** Called for each token as it is drawn. */
  onToken?: (token: SampledToken) => void;
}

export interface SampledToken {
  id: number;
  /** log p under the model: softmax of its logits. */
  logprob: number;
  /** log p under the tempered and filtered distribution that it was drawn from; NaN: unknown. */
  sampledLogprob: number;
}

/**
 * stop: a stop token, stop string or the end of a choice; length: maximumTokens; context: the model's
 * longest sequence; abort: the signal.
 */
export type FinishReason = "stop" | "length" | "context" | "abort";

export interface Completion {
  ids: number[];
  logprobs: number[];
  sampledLogprobs: number[];
  /** With choices: for each token the ids that could be drawn; null where all could. Absent: all, always. */
  allowed?: (readonly number[] | null)[];
  finish: FinishReason;
  /** The string or token id that ended it. */
  stop: string | number | null;
  /** Tokens of the prompt that were in the cache. */
  cachedTokens: number;
  /** Which weights answered: counts their updates. */
  weightsVersion: number;
  /** True: the ids are text that was tokenised again, not what was sampled. Never train on them. */
  retokenized: boolean;
}

/** Whatever answers requests. */
export interface TextGenerator {
  generate(request: GenerationRequest): Promise<Completion>;
  /** Forgets a conversation's cache. */
  release(conversation: string): void;
  close(): Promise<void>;
}
