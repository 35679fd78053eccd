/**
 * @file What one says about a server, checked and filled in.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { GenerationRequest } from "../request.ts";
import type { LogprobKind } from "./completion-builder.ts";
import type { RetryOptions } from "./retry.ts";

export interface ServerOptions {
  /** As OpenAI's clients take it: "http://127.0.0.1:8000/v1". */
  baseUrl: string;
  /** The name under which the server knows the model. */
  model: string;
  apiKey?: string;
  /** Needed for choices (to check them) and for `viaText`; checks that ids and text agree. */
  tokenizer?: Tokenizer;
  /** Ids from here on are refused. Default: the tokenizer's vocabulary, where there is one. */
  vocabularySize?: number;
  /** Requests at once; the others wait. Default 64. */
  concurrency?: number;
  /** Milliseconds for a whole answer; of a stream, between two pieces. Default 120 000. */
  timeout?: number;
  /** Milliseconds for the whole of a stream. Default: ten times `timeout`. */
  streamTimeout?: number;
  /** How often to ask again after 429, 5xx, a failed connection, a timeout. Default 4. */
  retries?: number;
  /** Milliseconds before the first retry, doubled each time. Default 500. */
  firstWait?: number;
  /** The longest wait before a retry; a longer Retry-After is an error. Default 60 000. */
  longestWait?: number;
  /** Whether to ask for a stream: "always", or (default) when the request has onToken. */
  streaming?: "always" | "on demand";
  /** What the server's log-probabilities are of. Default "model". */
  logprobs?: LogprobKind;
  /**
   * For servers that give no ids: the prompt goes as text and the answer's text is tokenised again.
   * Those are not the sampled ids: completions say `retokenized`, and have NaN for log-probabilities.
   */
  viaText?: boolean;
  /** More fields for the request's body; they win over ours, and undefined leaves ours out. */
  extraBody?: Record<string, unknown>;
  /** The same, for each request. */
  telling?: (request: GenerationRequest) => Record<string, unknown>;
}

/** Where requests go. */
export function addressOf(baseUrl: string, path: string): string {
  const valid = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
  if (!valid)
    throw new TypeError(
      `createServerGenerator: baseUrl must be like http://127.0.0.1:8000/v1, got ${baseUrl}`,
    );
  return `${baseUrl.replace(/\/+$/, "")}/${path}`;
}

/** Node's timers take 31 bits. */
const LONGEST = 2 ** 31 - 1;

export interface Settings extends RetryOptions {
  concurrency: number;
  timeout: number;
  streamTimeout: number;
}

/** Fills in defaults; a value out of range is an error that names it. */
export function checkedSettings(options: ServerOptions): Settings {
  const { timeout = 120_000 } = options;
  const settings: Settings = {
    concurrency: options.concurrency ?? 64,
    timeout,
    streamTimeout: options.streamTimeout ?? Math.min(10 * timeout, LONGEST),
    retries: options.retries ?? 4,
    firstWait: options.firstWait ?? 500,
    longestWait: options.longestWait ?? 60_000,
  };
  const check = (name: keyof Settings, holds: boolean, expected: string) => {
    if (!holds)
      throw new RangeError(
        `createServerGenerator: ${name} must be ${expected}, got ${settings[name]}`,
      );
  };
  const count = (value: number, least: number) => Number.isInteger(value) && value >= least;
  check("concurrency", count(settings.concurrency, 1), "a whole number, 1 or more");
  check("retries", count(settings.retries, 0), "a whole number, 0 or more");
  for (const name of ["timeout", "streamTimeout", "firstWait", "longestWait"] as const)
    check(name, settings[name] >= 1 && settings[name] <= LONGEST, "milliseconds, 1 or more");
  return settings;
}
