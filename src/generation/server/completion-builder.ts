/**
 * @file Builds a completion from the pieces of a server's answer, as they arrive.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { Completion, FinishReason, GenerationRequest, SampledToken } from "../request.ts";
import type { FilledSampling } from "../sampling.ts";
import { requireAgreement } from "./agreement.ts";
import { ServerError } from "./errors.ts";
import { requireLength } from "./limits.ts";
import { emptyPiece, type Piece } from "./protocol.ts";

/**
 * Which distribution a server's log-probabilities are of. What cannot be known from them is NaN.
 *
 * model: the model's own (vLLM's default raw_logprobs, llama.cpp); tempered: after penalties, biases and
 * temperature, before the filters (SGLang); sampled: the one that was drawn from (vLLM's
 * processed_logprobs).
 */
export type LogprobKind = "model" | "tempered" | "sampled";

export interface CompletionBuilderOptions {
  tokenizer: Tokenizer | undefined;
  /** Ids from here on mean nothing; undefined: that is not known. */
  vocabularySize: number | undefined;
  /** Whether the answer's text is to be tokenised again. */
  retokenize: boolean;
  known: LogprobKind;
  weightsVersion: number;
}

/** Tokens more than twice the maximum that a text may have when it is tokenised again. */
const RETOKENIZED_ROOM = 16;

export class CompletionBuilder {
  /** Everything of this attempt so far. */
  piece: Piece = emptyPiece();
  /** Tokens that onToken has seen. */
  handedOut = 0;
  readonly #request: GenerationRequest;
  readonly #sampling: FilledSampling;
  readonly #options: CompletionBuilderOptions;

  constructor(
    request: GenerationRequest,
    sampling: FilledSampling,
    options: CompletionBuilderOptions,
  ) {
    this.#request = request;
    this.#sampling = sampling;
    this.#options = options;
  }

  /** Forgets an attempt that failed. */
  begin(): void {
    this.piece = emptyPiece();
  }

  add(piece: Piece): void {
    const all = this.piece;
    this.#requireRoom(all.ids.length + piece.ids.length);
    this.#requireKnown(piece.ids);
    for (const [i, id] of piece.ids.entries()) {
      all.ids.push(id);
      all.logprobs.push(piece.logprobs[i]!);
      this.#handOut(this.#token(id, piece.logprobs[i]!));
    }
    all.text += piece.text;
    all.finish ??= piece.finish;
    all.stop ??= piece.stop;
    all.cachedTokens = piece.cachedTokens ?? all.cachedTokens;
    all.completionTokens = piece.completionTokens ?? all.completionTokens;
  }

  /** After the last piece: an answer without an end was cut off. */
  requireEnd(): void {
    const { finish, ids, text, completionTokens } = this.piece;
    if (finish === null)
      throw new ServerError(
        `the answer broke off after ${ids.length} tokens, without a finish_reason`,
        { retryable: true },
      );
    if (this.#options.retokenize) return;
    if (ids.length === 0) this.#wrongLength(0);
    if (completionTokens !== null && completionTokens !== ids.length)
      throw new ServerError(
        `the server's answer has ${ids.length} token ids, but says that it made ${completionTokens}`,
      );
    const { tokenizer } = this.#options;
    if (tokenizer) requireAgreement(text, ids, tokenizer, this.#sampling.stopStrings);
  }

  /** At once: a server that does not stop is not listened to until it does. */
  #requireRoom(count: number): void {
    if (count > this.#sampling.maximumTokens) this.#wrongLength(count);
  }

  #wrongLength(count: number): never {
    throw new ServerError(
      `the server's answer has ${count} tokens; expected 1 to ${this.#sampling.maximumTokens} (maximumTokens)`,
    );
  }

  #requireKnown(ids: readonly number[]): void {
    const { vocabularySize = Infinity } = this.#options;
    const unknown = ids.find((id) => id >= vocabularySize);
    if (unknown !== undefined)
      throw new ServerError(
        `the server's answer has token id ${unknown}; the vocabulary here has ${vocabularySize} (is it the same tokenizer?)`,
      );
  }

  finished(): Completion {
    const { retokenize, tokenizer } = this.#options;
    if (retokenize) this.#encodeText(tokenizer!);
    if (this.#sampling.choices) this.#requireChoice(this.#sampling.choices, tokenizer!);
    const { finish, ids } = this.piece;
    if (finish !== "length") return this.completion("stop");
    const full = retokenize || ids.length >= this.#sampling.maximumTokens;
    return this.completion(full ? "length" : "context");
  }

  completion(finish: FinishReason): Completion {
    const { ids, logprobs, stop, cachedTokens } = this.piece;
    const tokens = ids.map((id, i) => this.#token(id, logprobs[i]!));
    return {
      ids: [...ids],
      logprobs: tokens.map(({ logprob }) => logprob),
      sampledLogprobs: tokens.map(({ sampledLogprob }) => sampledLogprob),
      finish,
      // A server that names nothing was stopped by the model's own end token.
      stop: finish === "stop" ? (stop ?? ids.at(-1) ?? null) : null,
      cachedTokens: cachedTokens ?? 0,
      weightsVersion: this.#options.weightsVersion,
      retokenized: this.#options.retokenize,
    };
  }

  #encodeText(tokenizer: Tokenizer): void {
    const { text, finish, stop } = this.piece;
    // Servers leave a stop string out of the text; ours is part of the answer.
    const whole = finish === "stop" && typeof stop === "string" ? text + stop : text;
    requireLength(whole, this.#sampling.maximumTokens);
    this.piece.ids = tokenizer.encode(whole);
    // The same text may take some more tokens than the server's, and not many more.
    const { length } = this.piece.ids;
    if (length > 2 * this.#sampling.maximumTokens + RETOKENIZED_ROOM) this.#wrongLength(length);
    this.piece.logprobs = this.piece.ids.map(() => Number.NaN);
    for (const id of this.piece.ids) this.#handOut(this.#token(id, Number.NaN));
  }

  /** Servers ignore what they do not know: whether the choice was constrained shows in the answer. */
  #requireChoice(choices: readonly string[], tokenizer: Tokenizer): void {
    const { ids } = this.piece;
    const found = [ids, ids.slice(0, -1)].map((part) => tokenizer.decode(part));
    const choice = found.find((text) => choices.includes(text));
    if (choice === undefined)
      throw new ServerError(
        `the server answered ${JSON.stringify(found[0])}, which is not one of the ${choices.length} choices: does it know structured_outputs.choice? (extraBody can say it in another way)`,
      );
    this.piece.stop = choice;
  }

  #handOut(token: SampledToken): void {
    if (!this.#request.onToken) return;
    this.#request.onToken(token);
    this.handedOut++;
  }

  #token(id: number, value: number): SampledToken {
    const { known } = this.#options;
    const untempered = leavesLogits(this.#sampling);
    const unfiltered = leavesTokens(this.#sampling);
    const isModel = untempered && (known !== "sampled" || unfiltered);
    const isSampled = unfiltered && (known !== "model" || untempered);
    return {
      id,
      logprob: known === "model" || isModel ? value : Number.NaN,
      sampledLogprob: this.#sampledLogprob(known === "sampled" || isSampled ? value : Number.NaN),
    };
  }

  #sampledLogprob(value: number): number {
    // The most likely token is drawn with certainty.
    return this.#sampling.temperature === 0 && !this.#options.retokenize ? 0 : value;
  }
}

/** Whether the logits are used as the model gives them. */
function leavesLogits({ temperature, repetitionPenalty, bias }: FilledSampling): boolean {
  return temperature === 1 && repetitionPenalty === 1 && !bias?.size;
}

/** Whether every token can be drawn. */
function leavesTokens({ topK, topP, minP, minimumTokens, choices }: FilledSampling): boolean {
  return topK === 0 && topP === 1 && minP === 0 && minimumTokens === 0 && !choices;
}
