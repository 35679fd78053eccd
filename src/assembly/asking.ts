/**
 * @file Models that are asked in words, besides the policy's own work: for summaries of the past, and for
 * marks of a judge. A chat server, or the policy itself.
 */
import type { Summarizer } from "../agents/index.ts";
import { createChatClient, type TextGenerator } from "../generation/index.ts";
import type { Chat } from "../models/index.ts";
import { withoutCredentials } from "../spelling/index.ts";
import { deriveSeed } from "../torch/index.ts";
import { OptionError } from "./errors.ts";
import { hidingKey } from "./hidden-key.ts";

/** Whatever answers a question in words. */
export type Ask = Summarizer;

const SUMMARY_TOKENS = 300;

/** An OpenAI-compatible server that is asked questions. */
export interface ServerQuestions {
  /** For messages: what its address was given as. */
  readonly name: string;
  readonly endpoint: string;
  readonly model: string;
  /** Reads its key; throws if it is not where it is said to be. Default: OPENAI_API_KEY. */
  readonly key?: (() => string) | undefined;
  /** Requests at once. */
  readonly concurrency?: number | undefined;
  readonly maximumTokens?: number;
  readonly temperature?: number;
}

export function askServer(server: ServerQuestions): Ask {
  const { name, endpoint, model, maximumTokens = SUMMARY_TOKENS, temperature = 0 } = server;
  const valid = URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol);
  if (!valid)
    throw new OptionError(
      `${name} is "${withoutCredentials(endpoint)}", expected a server's address, like http://127.0.0.1:8000/v1`,
    );
  const apiKey = server.key ? server.key() : process.env.OPENAI_API_KEY || undefined;
  const client = createChatClient({
    baseUrl: endpoint,
    model,
    ...(apiKey !== undefined && { apiKey }),
    ...(server.concurrency !== undefined && { concurrency: server.concurrency }),
  });
  return async (content, signal) => {
    const request = {
      messages: [{ role: "user", content }],
      ...{ maximumTokens, temperature, seed: deriveSeed("question", content) },
      ...(signal && { signal }),
    };
    const { text } = await hidingKey(client(request), apiKey);
    return text;
  };
}

/** Whatever continues a prompt, with its tokenizer. */
export interface Generating {
  readonly generator: TextGenerator;
  readonly chat: Chat;
  /** Tokens that fit into the model. */
  readonly contextLength: number;
}

/** The policy as it is, asked for its most likely answer. */
export function askPolicy({ generator, chat, contextLength }: Generating): Ask {
  return async (question, signal) => {
    const { ids } = await generator.generate({
      prompt: promptThatFits(chat, question, contextLength - SUMMARY_TOKENS),
      sampling: {
        maximumTokens: SUMMARY_TOKENS,
        temperature: 0,
        stopTokens: [chat.endOfTurnId],
      },
      // By the question, not by who asked first: the same episodes whatever runs beside them.
      seed: deriveSeed("question", question),
      ...(signal && { signal }),
    });
    return chat.tokenizer.decode(ids, { skipSpecialTokens: true });
  };
}

/** What is too long loses its middle, again and again: the task at its beginning must stay. */
function promptThatFits(chat: Chat, question: string, longest: number): number[] {
  for (let text = question; ; ) {
    const prompt = chat.promptIds([{ role: "user", content: text }]);
    if (prompt.length <= longest) return prompt;
    if (text.length < 100)
      throw new OptionError(
        `a summary needs a context of some hundred tokens; the model leaves ${longest}`,
      );
    const third = Math.floor(text.length / 3);
    text = `${text.slice(0, third)} … ${text.slice(-third)}`;
  }
}
