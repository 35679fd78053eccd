/**
 * @file Chats over HTTP: messages in, text out (`/v1/chat/completions`), for servers that give nothing
 * else. For evaluation, summaries and judges: what such a server sampled cannot be trained on.
 */
import { reported, ServerError } from "./errors.ts";
import { ask } from "./exchange.ts";
import { createLimiter } from "./limiter.ts";
import { largestAnswer, requireLength } from "./limits.ts";
import { optionalCount, requireObject, unexpected } from "./protocol.ts";
import { withRetries } from "./retry.ts";
import { addressOf, checkedSettings, type ServerOptions } from "./settings.ts";

export type ChatClientOptions = Pick<
  ServerOptions,
  | "baseUrl"
  | "model"
  | "apiKey"
  | "concurrency"
  | "timeout"
  | "retries"
  | "firstWait"
  | "longestWait"
  | "extraBody"
>;

export interface ChatRequest {
  messages: readonly { readonly role: string; readonly content: string }[];
  maximumTokens?: number;
  /** Default: left to the server, because some models refuse any. */
  temperature?: number;
  topP?: number;
  /** For the waits before retries, and for servers that take one. */
  seed?: bigint;
  signal?: AbortSignal;
}

export interface ChatAnswer {
  text: string;
  finish: "stop" | "length";
  /** Tokens that the server says it made, if it does. */
  completionTokens: number | null;
}

export type ChatClient = (request: ChatRequest) => Promise<ChatAnswer>;

export function createChatClient(options: ChatClientOptions): ChatClient {
  const url = addressOf(options.baseUrl, "chat/completions");
  const settings = checkedSettings(options);
  const limiter = createLimiter(settings.concurrency);
  return async ({ messages, maximumTokens, temperature, topP, seed = 0n, signal }) => {
    const body = {
      model: options.model,
      messages: messages.map(({ role, content }) => ({ role, content })),
      ...(maximumTokens !== undefined && { max_tokens: maximumTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { top_p: topP }),
      ...options.extraBody,
    };
    const stopping = signal ?? new AbortController().signal;
    const leave = await limiter.enter(stopping);
    try {
      const attempt = async (): Promise<ChatAnswer> => {
        let answer: ChatAnswer | undefined;
        await ask(
          {
            ...{ url, body, apiKey: options.apiKey, signal: stopping },
            ...{ timeout: settings.timeout, silence: undefined },
            largest: largestAnswer(maximumTokens),
          },
          (json) => {
            answer ??= answerOf(json, maximumTokens);
          },
        );
        if (answer) return answer;
        throw new ServerError(`${url}: the server's answer is empty`, { retryable: true });
      };
      return await withRetries(attempt, seed, settings, stopping);
    } finally {
      leave();
    }
  };
}

function answerOf(json: unknown, maximumTokens: number | undefined): ChatAnswer {
  const answer = requireObject(json, "it");
  if (answer.error) throw reported(answer.error);
  if (!Array.isArray(answer.choices) || answer.choices.length === 0)
    throw unexpected("choices must be a list with an entry", answer.choices);
  const choice = requireObject(answer.choices[0], "choices[0]");
  const message = requireObject(choice.message, "choices[0].message");
  // A reply that is only a tool call, or a refusal, has no text.
  const text = message.content ?? "";
  if (typeof text !== "string")
    throw unexpected("choices[0].message.content must be a string", text);
  requireLength(text, maximumTokens);
  const usage = answer.usage ? requireObject(answer.usage, "usage") : {};
  return {
    text,
    finish: choice.finish_reason === "length" ? "length" : "stop",
    completionTokens: optionalCount(usage.completion_tokens),
  };
}
