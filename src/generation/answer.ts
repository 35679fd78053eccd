/**
 * @file One request while it is being answered: its tokens so far, and when it is done.
 */
import type { Model, TextStream, Tokenizer } from "../models/index.ts";
import type { CachedSequence } from "./cache/sequence.ts";
import { type ChoiceCursor, choiceCursor, constraintCursor } from "./choices.ts";
import type { Completion, FinishReason, GenerationRequest, SampledToken } from "./request.ts";
import { drawSeed, type FilledSampling, fillSampling, type SamplerRow } from "./sampling.ts";
import type { Guessable } from "./speculation/guess.ts";

export interface AnswerContext {
  model: Model;
  tokenizer: Tokenizer | undefined;
  /** Tokens that the whole cache holds. */
  capacity: number;
  resolve: (completion: Completion) => void;
  reject: (error: unknown) => void;
}

export class Answer {
  readonly sequence: CachedSequence;
  readonly conversation: string | undefined;
  readonly task: string | undefined;
  readonly promptLength: number;
  /** Tokens of the prompt that were in the cache when its computation began. */
  cachedTokens = 0;
  /** Whether tokens were computed since it last lost its place in the cache. */
  computing = false;
  /** Whether the conversation's cache stays after the answer. */
  kept: boolean;
  settled = false;
  readonly #request: GenerationRequest;
  readonly #context: AnswerContext;
  readonly #sampling: FilledSampling;
  readonly #seed: bigint;
  readonly #drawn: SampledToken[] = [];
  readonly #allowed: (readonly number[])[] = [];
  readonly #longest: number;
  readonly #cursor: ChoiceCursor | null;
  readonly #stream: TextStream | null;
  #begun = false;
  #text = "";
  #stop: string | number | null = null;

  constructor(request: GenerationRequest, sequence: CachedSequence, context: AnswerContext) {
    const { config } = context.model;
    this.#request = request;
    this.#context = context;
    this.#sampling = fillSampling(request.sampling, config.vocabularySize, config.eosTokenIds);
    this.#seed = BigInt.asUintN(64, BigInt(request.seed));
    this.#longest = Math.min(config.maximumPositions, context.capacity);
    this.conversation = request.conversation;
    this.task = request.task;
    this.promptLength = request.prompt.length;
    this.kept = request.conversation !== undefined;
    this.sequence = sequence;
    requirePrompt(request.prompt, config.vocabularySize, this.#longest);
    const { choices, constraint, stopStrings, stopTokens } = this.#sampling;
    const tokenizer = (choices || stopStrings.length > 0) && requireTokenizer(context.tokenizer);
    this.#cursor =
      tokenizer && choices
        ? choiceCursor(choices, (text) => tokenizer.encodePlain(text), this.#sampling.stopTokens)
        : constraint
          ? constraintCursor(constraint.cursor(stopTokens))
          : null;
    requireRoom(this.#cursor, this.#sampling.maximumTokens);
    this.#stream = tokenizer && stopStrings.length > 0 ? tokenizer.stream() : null;
    sequence.setTokens(request.prompt);
  }

  /** Its first tokens are about to be computed: what is there by now was in the cache. */
  begin(): void {
    if (!this.#begun) this.cachedTokens = this.sequence.computed;
    this.#begun = true;
    this.computing = true;
  }

  get aborted(): boolean {
    return this.#request.signal?.aborted === true;
  }

  /** What is known of it to whoever guesses its next tokens. */
  guessable(): Guessable {
    const { maximumTokens, stopTokens } = this.#sampling;
    const { ids } = this.sequence;
    const left = Math.min(maximumTokens - this.#drawn.length, this.#longest - ids.length);
    const cursor = this.#cursor?.copy() ?? null;
    return { ids, task: this.task, stopTokens, cursor, room: left - 1 };
  }

  /** Rows to draw the next token from, and those behind each guess if the guesses before it are right. */
  samplerRows(guesses: readonly number[]): SamplerRow[] {
    const { minimumTokens, stopTokens } = this.#sampling;
    const penalized = this.#sampling.repetitionPenalty !== 1;
    const cursor = this.#cursor?.copy() ?? null;
    const { ids } = this.sequence;
    return Array.from({ length: guesses.length + 1 }, (_, place) => {
      if (place > 0) cursor?.advance(guesses[place - 1]!);
      const drawn = this.#drawn.length + place;
      return {
        sampling: this.#sampling,
        seed: drawSeed(this.#seed, drawn),
        repeated: place > 0 && penalized ? [...ids, ...guesses.slice(0, place)] : ids,
        forbidden: drawn < minimumTokens ? stopTokens : [],
        allowed: cursor ? cursor.allowed() : null,
      };
    });
  }

  /** What it drew after so many tokens. */
  drawnSince(count: number): number[] {
    return this.#drawn.slice(count).map(({ id }) => id);
  }

  get drawnCount(): number {
    return this.#drawn.length;
  }

  /** Takes the next token; says whether, and why, the answer is complete. */
  take(token: SampledToken): FinishReason | null {
    this.#drawn.push(token);
    // Of a grammar nearly all tokens may be allowed at each place: too much to be kept.
    if (this.#sampling.choices) this.#allowed.push(this.#cursor!.allowed());
    this.sequence.ids.push(token.id);
    this.#request.onToken?.(token);
    if (this.#isStop(token.id)) return "stop";
    if (this.#drawn.length >= this.#sampling.maximumTokens) return "length";
    return this.sequence.ids.length >= this.#longest ? "context" : null;
  }

  #isStop(id: number): boolean {
    if (this.#sampling.stopTokens.includes(id)) {
      this.#stop = this.#cursor?.text() ?? id;
      return true;
    }
    if (this.#cursor) {
      this.#cursor.advance(id);
      this.#stop = this.#cursor.finished();
      return this.#stop !== null;
    }
    if (!this.#stream) return false;
    const { stopStrings } = this.#sampling;
    this.#text += this.#stream.push(id);
    this.#stop = stopStrings.find((text) => this.#text.includes(text)) ?? null;
    // Only so much of the text can still be part of a stop string.
    this.#text = this.#text.slice(-Math.max(...stopStrings.map((text) => text.length)));
    return this.#stop !== null;
  }

  settle(finish: FinishReason, weightsVersion: number): void {
    this.settled = true;
    this.#context.resolve({
      ids: this.#drawn.map(({ id }) => id),
      logprobs: this.#drawn.map(({ logprob }) => logprob),
      sampledLogprobs: this.#drawn.map(({ sampledLogprob }) => sampledLogprob),
      ...(this.#sampling.choices && { allowed: this.#allowed }),
      finish,
      stop: this.#stop,
      cachedTokens: this.cachedTokens,
      weightsVersion,
      retokenized: false,
    });
  }

  fail(error: unknown): void {
    this.settled = true;
    this.sequence.evict();
    this.#context.reject(error);
  }
}

function requirePrompt(prompt: readonly number[], vocabulary: number, longest: number): void {
  if (prompt.length === 0) throw new RangeError("generate: the prompt is empty");
  if (prompt.length >= longest)
    throw new RangeError(
      `generate: the prompt has ${prompt.length} tokens; the model and the cache allow ${longest - 1} and an answer`,
    );
  const wrong = prompt.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
  if (wrong !== undefined)
    throw new RangeError(`generate: the prompt has id ${wrong}; the vocabulary has ${vocabulary}`);
}

function requireRoom(cursor: ChoiceCursor | null, maximumTokens: number): void {
  if (cursor && cursor.longest > maximumTokens)
    throw new RangeError(
      `sampling: maximumTokens is ${maximumTokens}, but the longest choice takes ${cursor.longest}`,
    );
}

function requireTokenizer(tokenizer: Tokenizer | undefined): Tokenizer {
  if (!tokenizer) throw new Error("generate: stop strings and choices need the engine's tokenizer");
  return tokenizer;
}
