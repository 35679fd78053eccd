/**
 * @file How much a server may send for what it was asked: generous for honest ones, and an end for others.
 */
import { ServerError } from "./errors.ts";

/** Bytes of any answer, besides those for its tokens: names, usage, error texts. */
const FLOOR = 2 ** 20;
/** Bytes for a token: its id, its text, its log-probability and those of others, and an event around them. */
const PER_TOKEN = 8 * 1024;
/** Some servers repeat the prompt, in ids and in text. */
const PER_PROMPT_TOKEN = 64;
const CEILING = 256 * 2 ** 20;
/** Where no maximum is asked for, servers have one of their own. */
const USUAL_TOKENS = 4096;

/** Characters of a token: vocabularies have rows of up to 128 spaces. */
const LONGEST_TOKEN = 256;

export function largestAnswer(maximumTokens = USUAL_TOKENS, promptTokens = 0): number {
  return Math.min(CEILING, FLOOR + PER_TOKEN * maximumTokens + PER_PROMPT_TOKEN * promptTokens);
}

/** A text that so many tokens cannot make. */
export function requireLength(text: string, maximumTokens = USUAL_TOKENS): void {
  const most = LONGEST_TOKEN * maximumTokens;
  if (text.length > most)
    throw new ServerError(
      `the server's answer has a text of ${text.length} characters, more than ${maximumTokens} tokens (maximumTokens) can have`,
    );
}
