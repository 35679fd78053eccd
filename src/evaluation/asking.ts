/**
 * @file Models that are asked in words, besides the policy's own work: for summaries of the past, and for
 * marks of a judge. A chat server, or the policy itself.
 */
import type { Summarizer } from "../agents/index.ts";
import { type Config, ConfigError } from "../config/index.ts";
import { createChatClient, type TextGenerator } from "../generation/index.ts";
import type { Chat } from "../models/index.ts";
import { deriveSeed } from "../rollout/index.ts";

/** Whatever answers a question in words. */
export type Ask = Summarizer;

const SUMMARY_TOKENS = 300;
const JUDGE_TOKENS = 200;

interface Server {
  /** The setting that the address comes from, for messages. */
  readonly setting: string;
  readonly endpoint: string;
  readonly model: string;
  readonly key: string | undefined;
  readonly concurrency?: number;
  readonly maximumTokens: number;
  readonly temperature: number;
}

function askServer(server: Server): Ask {
  const { setting, endpoint, model, maximumTokens, temperature } = server;
  const valid = URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol);
  if (!valid)
    throw new ConfigError(
      `${setting} is "${endpoint}", expected a server's address, like http://127.0.0.1:8000/v1`,
    );
  const apiKey = server.key ?? process.env.OPENAI_API_KEY;
  const client = createChatClient({
    baseUrl: endpoint,
    model,
    ...(apiKey !== undefined && { apiKey }),
    ...(server.concurrency !== undefined && { concurrency: server.concurrency }),
  });
  return async (content, signal) => {
    const { text } = await client({
      messages: [{ role: "user", content }],
      maximumTokens,
      temperature,
      seed: deriveSeed("question", content),
      ...(signal && { signal }),
    });
    return text;
  };
}

/** The policy as it is, asked for its most likely answer. */
function askPolicy(generator: TextGenerator, chat: Chat, contextLength: number): Ask {
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
      throw new ConfigError(
        `a summary needs a context of some hundred tokens; the model leaves ${longest}`,
      );
    const third = Math.floor(text.length / 3);
    text = `${text.slice(0, third)} … ${text.slice(-third)}`;
  }
}

/** Who writes summaries of the past, where the configuration wants them; undefined where not. */
export function summarizerOf(
  { env }: Config,
  policy: { generator: TextGenerator; chat: Chat; contextLength: number } | undefined,
): Summarizer | undefined {
  if (env.context !== "steps" || !(env.history === "summary" || env.use_summary)) return undefined;
  if (env.summary_endpoint !== undefined)
    return askServer({
      setting: "env.summary_endpoint",
      endpoint: env.summary_endpoint,
      model: env.summary_model,
      key: env.summary_api_key,
      concurrency: env.summary_concurrency,
      maximumTokens: SUMMARY_TOKENS,
      temperature: 0.1,
    });
  return policy && askPolicy(policy.generator, policy.chat, policy.contextLength);
}

/** Who gives marks, where the reward has that part; undefined where not. */
export function judgeOf({ reward }: Config): Ask | undefined {
  if (reward.judge === 0) return undefined;
  return askServer({
    setting: "reward.judge_endpoint",
    endpoint: reward.judge_endpoint!,
    model: reward.judge_model,
    key: reward.judge_api_key,
    maximumTokens: JUDGE_TOKENS,
    temperature: 0,
  });
}
