/**
 * @file A program that runs elsewhere: it is sent the task and where the model is, and answers when it is done.
 */
import { EnvironmentError, type Json } from "../../environments/index.ts";
import { ExchangeError, exchange, oneLine } from "../../network/index.ts";
import type { ProgramAnswer } from "./define.ts";
import { lastWords, type Start } from "./run.ts";

/** Bytes of its answer. */
const MOST_OUTPUT = 4 * 2 ** 20;
/** Seconds; the episode's own time ends it earlier. */
const LONGEST = 86_400;

export async function runAtUrl<Data extends Json>(
  url: string,
  { name, task, access, seed, signal }: Start<Data>,
): Promise<ProgramAnswer> {
  const body = JSON.stringify({
    task,
    base_url: access.baseURL,
    anthropic_base_url: access.anthropicBaseURL,
    api_key: access.apiKey,
    model: access.model,
    seed,
  });
  try {
    return await exchange(
      {
        ...{ url, method: "POST", body, signal, headers: { "content-type": "application/json" } },
        limits: { time: LONGEST * 1000, size: MOST_OUTPUT },
      },
      async (answer) => {
        const text = await answer.text();
        if (answer.ok) return lastWords(text);
        throw new EnvironmentError(
          name,
          `the agent at ${url} answered ${answer.status}: ${oneLine(text, 300)}`,
        );
      },
    );
  } catch (error) {
    if (error instanceof ExchangeError)
      throw new EnvironmentError(name, `the agent at ${url} did not answer: ${error.message}`, {
        cause: error,
      });
    throw error;
  }
}
