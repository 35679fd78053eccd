/**
 * @file The agent: observation and history become messages, a reply becomes an action.
 *
 * It works in words only; tokens are the affair of src/rollout.
 */

import { type Observation, type Tool, type ToolDefinition, within } from "../environments/index.ts";
import type { ChatMessage } from "../models/index.ts";
import { chosenAction } from "./action.ts";
import { ACT } from "./formats/calls.ts";
import type { ParsedReply, ReplyFormat, Situation } from "./formats/format.ts";
import { replyFormat } from "./formats/registry.ts";
import {
  type History,
  type HistoryOptions,
  type MakeHistory,
  type PastStep,
  windowHistory,
} from "./history/history.ts";
import { memoryHistory } from "./history/memory.ts";
import { summaryHistory } from "./history/summary.ts";
import { PROMPTS, type PromptParts, type Prompts } from "./prompts.ts";

/**
 * conversation: one growing sequence of messages per episode; each token is computed once.
 * steps: every turn has a prompt of its own, with as much of the past as the history tells.
 */
export type AgentContext = "conversation" | "steps";

export interface AgentOptions {
  /** A name of the registry, or one's own. Default "action". */
  readonly format?: string | ReplyFormat;
  /** Default "conversation". */
  readonly context?: AgentContext;
  /** What a prompt tells of the past; only in the context `steps`. Default: a window of 2. */
  readonly history?: HistoryOptions | MakeHistory;
  /** Whether prompts list the admissible actions, where the world knows them. Default true. */
  readonly showAdmissible?: boolean;
  /** Whether prompts say how to answer. Default true; false for models that have learned it. */
  readonly showInstruction?: boolean;
  /** Other words for prompts. */
  readonly prompts?: Partial<Prompts>;
  /** Tools of the agent's own; see tools.ts. */
  readonly tools?: readonly Tool[];
}

/** What an episode tells its agent at the start. */
export interface AgentStart {
  /** Unique: names the memory's file. */
  readonly episode: string;
  /** The world's summary. */
  readonly world: string;
  readonly turns: number;
  readonly observation: Observation;
  /** The functions that the world offers, if it is one of tools. */
  readonly worldTools?: readonly ToolDefinition[] | undefined;
  /** Turns of other episodes, to be shown before this one's. */
  readonly examples?: readonly ChatMessage[] | undefined;
}

export interface Agent {
  readonly format: ReplyFormat;
  readonly context: AgentContext;
  readonly tools: readonly Tool[];
  begin(start: AgentStart): AgentEpisode;
}

/** A reply as it was understood. */
export interface AgentReply extends ParsedReply {
  readonly wellFormed: boolean;
}

/** The agent in one episode. */
export interface AgentEpisode {
  /** Messages for the next reply: all (context `steps`, and the first turn), or the new ones. */
  messages(signal?: AbortSignal): readonly ChatMessage[] | Promise<readonly ChatMessage[]>;
  read(reply: string): AgentReply;
  /** The reply was read and acted upon; `observation` is what the agent sees now. */
  advance(reply: AgentReply, text: string, observation: Observation): void;
  /** What the agent is told when its reply could not be read. */
  unreadable(reply: AgentReply): string;
}

export function createAgent(options: AgentOptions = {}): Agent {
  const { context = "conversation", history, tools = [] } = options;
  const format =
    typeof options.format === "object" ? options.format : replyFormat(options.format ?? "action");
  if (context !== "conversation" && context !== "steps")
    throw new RangeError(
      `agent: the context is "${context as string}", expected conversation or steps`,
    );
  if (history && context === "conversation")
    throw new RangeError(
      'agent: a history needs the context "steps"; in a conversation the past is all there',
    );
  if (tools.length > 0 && format.name !== "tools")
    throw new RangeError(`agent: tools need the reply format "tools", not "${format.name}"`);
  return {
    format,
    context,
    tools,
    begin: (start) => beginEpisode({ ...options, format, context, tools }, start),
  };
}

function beginEpisode(
  options: AgentOptions & { format: ReplyFormat; context: AgentContext },
  { episode, world, turns, worldTools, examples = [], observation: first }: AgentStart,
): AgentEpisode {
  const { format, context, showAdmissible = true, showInstruction = true, tools = [] } = options;
  const prompts: Prompts = { ...PROMPTS, ...options.prompts };
  const history = context === "steps" ? historyOf(options.history, episode) : undefined;
  // Beside tools of its own, an agent in a world without tools must still be able to act.
  const ofWorld = worldTools && worldTools.length > 0 ? worldTools : [ACT];
  const offered = [...ofWorld, ...tools.map(descriptionOf)];
  const situation = (turn?: number): Situation => ({ turn, tools: offered });
  let turn = 0;
  let observation = first;
  // What the world says of the task it says at the start; later observations may repeat it or not.
  const task = first.instruction ?? "";

  return {
    async messages(signal) {
      const parts: PromptParts = {
        world,
        task,
        observation: observation.text,
        admissible: showAdmissible ? observation.admissible : undefined,
        history: history ? await history.text({ task, observation: observation.text, signal }) : "",
        instruction: showInstruction
          ? format.instruction(situation(context === "steps" ? turn : undefined))
          : "",
        turn,
        turns,
      };
      if (context === "steps") return [...examples, { role: "user", content: prompts.step(parts) }];
      const message: ChatMessage = { role: "user", content: prompts.turn(parts) };
      if (turn > 0) return [message];
      const system = prompts.system(parts);
      const before: ChatMessage[] = system === "" ? [] : [{ role: "system", content: system }];
      return [...before, ...examples, message];
    },
    read(text) {
      const parsed = format.parse(text, situation(turn));
      const { action } = parsed;
      return {
        ...parsed,
        action: action === undefined ? undefined : chosenAction(action, observation.admissible),
        wellFormed: parsed.problems.length === 0,
      };
    },
    advance(reply, text, next) {
      turn++;
      history?.record(pastStep(turn, observation.text, reply, text));
      observation = next;
    },
    unreadable: ({ problems }) => prompts.unreadable(problems),
  };
}

/** Of a reply that could not be read, so much goes into the history. */
const SHOWN_OF_UNREADABLE = 80;

function pastStep(number: number, observation: string, reply: AgentReply, text: string): PastStep {
  const action = reply.action ?? text.trim().slice(0, SHOWN_OF_UNREADABLE);
  return { number, observation, action, note: reply.parts.memory };
}

function historyOf(
  options: HistoryOptions | MakeHistory = { kind: "window" },
  episode: string,
): History {
  if (typeof options === "function") return ownHistory(options(episode));
  switch (options.kind) {
    case "window":
      return windowHistory(options);
    case "summary":
      return summaryHistory(options);
    case "memory":
      return memoryHistory(options, episode);
  }
}

/** How long a history of one's own is waited for. */
const OWN_HISTORY = { seconds: 120 };

function ownHistory(history: History): History {
  return {
    record: (step) => history.record(step),
    text: (present) =>
      within(OWN_HISTORY, "the history's text()", history.text(present), present.signal),
  };
}

function descriptionOf({ name, description, parameters }: ToolDefinition): ToolDefinition {
  return { name, description, parameters };
}
