/**
 * @file A generator behind HTTP: the same interface as the engine's, answered by an OpenAI-compatible
 * server. Token ids go in and come out; nothing is tokenised again unless the caller says so.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { Completion, GenerationRequest, TextGenerator } from "../request.ts";
import { fillSampling } from "../sampling.ts";
import { Collected } from "./collected.ts";
import { ServerError } from "./errors.ts";
import { exchange } from "./exchange.ts";
import { createLimiter } from "./limiter.ts";
import { openai, openaiText } from "./openai.ts";
import { type Protocol, seedOf } from "./protocol.ts";
import { type RetryOptions, withRetries } from "./retry.ts";

export interface ServerOptions {
  /** As OpenAI's clients take it: "http://127.0.0.1:8000/v1". */
  baseUrl: string;
  /** The name under which the server knows the model. */
  model: string;
  apiKey?: string;
  /** Needed for choices (to check them) and for `viaText`. */
  tokenizer?: Tokenizer;
  /** Requests at once; the others wait. Default 64. */
  concurrency?: number;
  /** Milliseconds for a whole answer; of a stream, between two pieces. Default 120 000. */
  timeout?: number;
  /** How often to ask again after 429, 5xx, a failed connection, a timeout. Default 4. */
  retries?: number;
  /** Milliseconds before the first retry, doubled each time. Default 500. */
  firstWait?: number;
  /** The longest wait before a retry; a longer Retry-After is an error. Default 60 000. */
  longestWait?: number;
  /** Whether to ask for a stream: "always", or (default) when the request has onToken. */
  streaming?: "always" | "on demand";
  /**
   * What the server's log-probabilities are of: the model's own distribution (vLLM's default,
   * raw_logprobs), or the one that was sampled from (processed_logprobs). The other one is known only
   * where both are the same, and NaN elsewhere.
   */
  logprobs?: "model" | "sampled";
  /**
   * For servers that give no ids: the prompt goes as text and the answer's text is tokenised again.
   * Those are not the sampled ids: completions say `retokenized`, and have NaN for log-probabilities.
   */
  viaText?: boolean;
  /** More fields for the request's body; they win over ours. */
  extraBody?: Record<string, unknown>;
}

export interface ServerGenerator extends TextGenerator {
  /** Recorded on completions; to be raised by whoever gives the server new weights. */
  weightsVersion: number;
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

  const generator: ServerGenerator = { weightsVersion: 0, generate, release() {}, close };
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
    const collected = new Collected(request, sampling, {
      tokenizer,
      retokenize: viaText,
      known: options.logprobs ?? "model",
      weightsVersion: generator.weightsVersion,
    });
    const stream = !viaText && (options.streaming === "always" || request.onToken !== undefined);
    const body = {
      ...protocol.body({
        model: options.model,
        prompt: viaText ? tokenizer!.decode(request.prompt) : request.prompt,
        sampling,
        ownStopTokens: request.sampling.stopTokens !== undefined,
        seed: seedOf(request),
        stream,
      }),
      ...options.extraBody,
    };
    const stopping = new AbortController();
    const abort = () => stopping.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    if (conversation !== undefined) conversations.add(conversation);
    const running = answer(body, request, collected, stopping.signal);
    open.set(stopping, running);
    try {
      return await running;
    } catch (error) {
      if (stopping.signal.aborted && stopping.signal.reason === closing) throw closing;
      if (signal?.aborted) return collected.completion("abort");
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      open.delete(stopping);
      if (conversation !== undefined) conversations.delete(conversation);
    }
  }

  async function answer(
    body: Record<string, unknown>,
    request: GenerationRequest,
    collected: Collected,
    signal: AbortSignal,
  ): Promise<Completion> {
    const leave = await limiter.enter(signal);
    try {
      await withRetries(
        () => attempt(body, collected, signal),
        BigInt(request.seed),
        settings,
        signal,
      );
      return collected.finished();
    } finally {
      leave();
    }
  }

  async function attempt(
    body: Record<string, unknown>,
    collected: Collected,
    signal: AbortSignal,
  ): Promise<void> {
    collected.begin();
    try {
      const { apiKey } = options;
      for await (const json of exchange({ url, body, apiKey, timeout: settings.timeout, signal }))
        collected.add(protocol.piece(json));
      collected.requireEnd(url);
    } catch (error) {
      // Tokens that were handed out cannot be taken back, and a second answer may differ.
      if (error instanceof ServerError && error.retryable && collected.handedOut > 0)
        throw new ServerError(
          `${error.message} (after ${collected.handedOut} tokens were handed to onToken: not asked again)`,
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

function addressOf(baseUrl: string, path: string): string {
  const valid = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
  if (!valid)
    throw new TypeError(
      `createServerGenerator: baseUrl must be like http://127.0.0.1:8000/v1, got ${baseUrl}`,
    );
  return `${baseUrl.replace(/\/+$/, "")}/${path}`;
}

interface Settings extends RetryOptions {
  concurrency: number;
  timeout: number;
}

function checkedSettings(options: ServerOptions): Settings {
  const settings: Settings = {
    concurrency: options.concurrency ?? 64,
    timeout: options.timeout ?? 120_000,
    retries: options.retries ?? 4,
    firstWait: options.firstWait ?? 500,
    longestWait: options.longestWait ?? 60_000,
  };
  const require = (name: keyof Settings, holds: boolean, expected: string) => {
    if (!holds)
      throw new RangeError(
        `createServerGenerator: ${name} must be ${expected}, got ${settings[name]}`,
      );
  };
  const count = (value: number, least: number) => Number.isInteger(value) && value >= least;
  require("concurrency", count(settings.concurrency, 1), "a whole number, 1 or more");
  require("retries", count(settings.retries, 0), "a whole number, 0 or more");
  // Node's timers take 31 bits.
  for (const name of ["timeout", "firstWait", "longestWait"] as const)
    require(name, settings[name] >= 1 && settings[name] < 2 ** 31, "milliseconds, 1 or more");
  return settings;
}

/** The longest bias that servers take. */
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
  if (sampling.choices && !tokenizer)
    throw new Error("generate: choices need the generator's tokenizer, to check the answer");
}
