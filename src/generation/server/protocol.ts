/**
 * @file What the dialects of servers have in common: a request becomes a body, each piece of an answer
 * becomes tokens.
 */
import { shown } from "../../network/index.ts";
import type { GenerationRequest } from "../request.ts";
import type { FilledSampling } from "../sampling.ts";
import { ServerError } from "./errors.ts";

/** One piece of an answer: all of it, or what is new in one event of a stream. */
export interface Piece {
  ids: number[];
  /** One per id. */
  logprobs: number[];
  text: string;
  /** null: more is to come. */
  finish: "stop" | "length" | null;
  /** What stopped it, if the server says. */
  stop: string | number | null;
  /** Tokens of the prompt that the server had in its cache, if it says. */
  cachedTokens: number | null;
  /** How many tokens it says that it made, altogether. */
  completionTokens: number | null;
}

export interface BodyOptions {
  model: string;
  /** The prompt: ids, or text for servers that take nothing else. */
  prompt: readonly number[] | string;
  sampling: FilledSampling;
  /** Whether the caller gave stop tokens, instead of the model's own. */
  ownStopTokens: boolean;
  /** Whether the model's own end is none of them, and is to be gone past. */
  ignoresEnd: boolean;
  /** Fits a double exactly. */
  seed: number;
  stream: boolean;
}

export interface Protocol {
  /** Appended to the base address. */
  path: string;
  body(options: BodyOptions): Record<string, unknown>;
  /** Reads one answer or event; throws a ServerError that says what is missing. */
  piece(json: unknown): Piece;
}

export function emptyPiece(): Piece {
  return {
    ids: [],
    logprobs: [],
    text: "",
    finish: null,
    stop: null,
    cachedTokens: null,
    completionTokens: null,
  };
}

/** Servers compute in half precision: a token that is certain may come out a little above 0. */
const ROUNDING = 1e-4;
/** vLLM writes -9999 where it means minus infinity. */
const LEAST_LOGPROB = -10_000;

export function requireObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unexpected(`${what} must be an object`, value);
  return value as Record<string, unknown>;
}

export function requireIds(value: unknown, what: string): number[] {
  if (!Array.isArray(value) || !value.every((id) => Number.isSafeInteger(id) && id >= 0))
    throw unexpected(`${what} must be a list of token ids`, value);
  return value as number[];
}

export function requireLogprobs(value: unknown, what: string): number[] {
  if (!Array.isArray(value) || !value.every((logprob) => Number.isFinite(logprob)))
    throw unexpected(`${what} must be a list of numbers`, value);
  const wrong = value.find((logprob) => logprob > ROUNDING || logprob < LEAST_LOGPROB);
  if (wrong !== undefined)
    throw new ServerError(
      `the server's answer: ${what} has ${wrong}; a log-probability is 0 or less, and of a token that was drawn not below ${LEAST_LOGPROB}`,
    );
  // Above 0 it would be more than certain, and count as such wherever it is compared.
  return value.map((logprob: number) => Math.min(logprob, 0));
}

export function optionalCount(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** An answer that is not what the protocol says. */
export function unexpected(problem: string, found: unknown): ServerError {
  return new ServerError(`the server's answer: ${problem}, got ${shown(found)}`);
}

/** The seed as servers take it: a whole number that JSON keeps. */
export function seedOf(request: GenerationRequest): number {
  return Number(BigInt.asUintN(53, BigInt(request.seed)));
}
