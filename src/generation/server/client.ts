/**
 * @file A generator behind HTTP: the same interface as the engine's, answered by an OpenAI-compatible
 * server. Token ids go in and come out; nothing is tokenised again unless the caller says so.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { Completion, GenerationRequest, TextGenerator } from "../request.ts";
import { fillSampling } from "../sampling.ts";
import { CompletionBuilder } from "./completion-builder.ts";
import { named, ServerError } from "./errors.ts";
import { type Asking, ask } from "./exchange.ts";
import { createLimiter } from "./limiter.ts";
import { largestAnswer } from "./limits.ts";
import { openai, openaiText } from "./openai.ts";
import { type Protocol, seedOf } from "./protocol.ts";
import { withRetries } from "./retry.ts";
import { addressOf, checkedSettings, type ServerOptions } from "./settings.ts";

export interface ServerGenerator extends TextGenerator {
  /** Recorded on completions; to be raised by whoever gives the server new weights. */
  weightsVersion: number;
  /** The name by which requests call the model. */
  model: string;
}

export function createServerGenerator(options: ServerOptions): ServerGenerator {
  const { tokenizer, viaText = false } = options;
  const protocol: Protocol = viaText ? openaiText : openai;
  const url = addressOf(options.baseUrl, protocol.path);
  const settings = checkedSettings(options);
  if (viaText && !tokenizer) throw new Error("createServerGenerator: viaText needs a tokenizer");
  const limiter = createLimiter(settings.concurrency);
  const conversations = new Set<string>();
  const open = new Map<AbortController, Promise<unknown>>();
  const closing = new Error("generate: the generator was closed");
  let closed = false;

  const generator: ServerGenerator = {
    ...{ weightsVersion: 0, model: options.model },
    ...{ generate, release() {}, close },
  };
  return generator;

  async function generate(request: GenerationRequest): Promise<Completion> {
    if (closed) throw closing;
    const { conversation, signal } = request;
    const sampling = fillSampling(request.sampling, Number.MAX_SAFE_INTEGER, []);
    requireSendable(request, tokenizer);
    if (conversation !== undefined && conversations.has(conversation))
      throw new Error(
        `generate: conversation ${conversation} has a request that is not answered yet`,
      );
    const builder = new CompletionBuilder(request, sampling, {
      tokenizer,
      vocabularySize: options.vocabularySize ?? tokenizer?.vocabularySize,
      retokenize: viaText,
      known: options.logprobs ?? "model",
      weightsVersion: generator.weightsVersion,
    });
    const stream = !viaText && (options.streaming === "always" || request.onToken !== undefined);
    const body = {
      ...protocol.body({
        model: generator.model,
        prompt: viaText ? tokenizer!.decode(request.prompt) : request.prompt,
        sampling,
        ownStopTokens: request.sampling.stopTokens !== undefined,
        ignoresEnd: !endsAt(request.sampling.stopTokens, tokenizer?.eosTokenId),
        seed: seedOf(request),
        stream,
      }),
      ...options.extraBody,
      ...options.telling?.(request),
    };
    const stopping = new AbortController();
    const abort = () => stopping.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    if (conversation !== undefined) conversations.add(conversation);
    const asking = {
      ...{ url, body, apiKey: options.apiKey, signal: stopping.signal },
      timeout: stream ? settings.streamTimeout : settings.timeout,
      silence: stream ? settings.timeout : undefined,
      largest: largestAnswer(sampling.maximumTokens, request.prompt.length),
    };
    const running = answer(asking, request, builder);
    open.set(stopping, running);
    try {
      return await running;
    } catch (error) {
      if (stopping.signal.aborted && stopping.signal.reason === closing) throw closing;
      if (signal?.aborted) return builder.completion("abort");
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      open.delete(stopping);
      if (conversation !== undefined) conversations.delete(conversation);
    }
  }

  async function answer(
    asking: Asking,
    request: GenerationRequest,
    builder: CompletionBuilder,
  ): Promise<Completion> {
    const leave = await limiter.enter(asking.signal);
    try {
      await withRetries(
        () => attempt(asking, builder),
        BigInt(request.seed),
        settings,
        asking.signal,
      );
      return builder.finished();
    } catch (error) {
      throw error instanceof ServerError ? named(url, error) : error;
    } finally {
      leave();
    }
  }

  async function attempt(asking: Asking, builder: CompletionBuilder): Promise<void> {
    builder.begin();
    try {
      await ask(asking, (json) => builder.add(protocol.piece(json)));
      builder.requireEnd();
    } catch (error) {
      // Tokens that were handed out cannot be taken back, and a second answer may differ.
      if (error instanceof ServerError && error.retryable && builder.handedOut > 0)
        throw new ServerError(
          `${error.message} (after ${builder.handedOut} tokens were handed to onToken: not asked again)`,
          { cause: error },
        );
      throw error;
    }
  }

  async function close(): Promise<void> {
    closed = true;
    const running = [...open.values()];
    for (const stopping of open.keys()) stopping.abort(closing);
    await Promise.allSettled(running);
  }
}

/** Servers take no bias beyond this. */
const LARGEST_BIAS = 100;

function requireSendable(request: GenerationRequest, tokenizer: Tokenizer | undefined): void {
  const { prompt, sampling } = request;
  if (prompt.length === 0) throw new RangeError("generate: the prompt is empty");
  const wrong = prompt.find((id) => !Number.isInteger(id) || id < 0);
  if (wrong !== undefined)
    throw new RangeError(`generate: the prompt has id ${wrong}; ids are whole numbers from 0`);
  for (const [id, bias] of sampling.bias ?? [])
    if (!(Math.abs(bias) <= LARGEST_BIAS))
      throw new RangeError(
        `generate: bias ${bias} of token ${id}: servers take -${LARGEST_BIAS} to ${LARGEST_BIAS}`,
      );
  if (sampling.constraint)
    throw new RangeError(
      "sampling: constraint is a rule of this program, which a server cannot be told; use choices",
    );
  if (sampling.choices && !tokenizer)
    throw new Error("generate: choices need the generator's tokenizer, to check the answer");
}

function endsAt(
  stopTokens: readonly number[] | undefined,
  end: number | null | undefined,
): boolean {
  return end !== null && end !== undefined && stopTokens?.includes(end) === true;
}
