/**
 * @file The agent that settings describe, with whoever writes its summaries.
 */
import { type Agent, createAgent, type HistoryOptions, type MakeHistory } from "../agents/index.ts";
import { type Ask, askServer } from "./asking.ts";
import { OptionError } from "./errors.ts";
import type { AgentSettings } from "./options.ts";

/** `summarize`: the policy, where it can write summaries itself. */
export function agentOf(settings: AgentSettings, summarize?: Ask): Agent {
  const { history, ...rest } = settings;
  try {
    return createAgent({
      ...rest,
      ...(history && { history: historyOf(history, summarize) }),
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new OptionError(error.message);
  }
}

function historyOf(
  history: NonNullable<AgentSettings["history"]>,
  policy: Ask | undefined,
): HistoryOptions | MakeHistory {
  if (typeof history === "function" || history.kind !== "summary" || "summarize" in history)
    return history;
  const { server, length } = history;
  const summarize = server ? askServer(server) : policy;
  if (!summarize)
    throw new OptionError(
      "a history of summaries: there is no model here that could write them; name an " +
        "OpenAI-compatible server that does (env.summary_endpoint=ADDRESS), or use another history",
    );
  return { kind: "summary", summarize, ...(length !== undefined && { length }) };
}
