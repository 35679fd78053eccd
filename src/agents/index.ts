/**
 * @file The door of the agents room: reply formats, histories, prompts, the agent.
 */
export { chosenAction, isAdmissible } from "./action.ts";
export {
  type Agent,
  type AgentContext,
  type AgentEpisode,
  type AgentOptions,
  type AgentReply,
  type AgentStart,
  createAgent,
} from "./agent.ts";
export type {
  Field,
  ParsedReply,
  Problem,
  ProblemKind,
  ReplyFormat,
  Situation,
  ToolCall,
} from "./formats/format.ts";
export { defineFormat, FORMAT_NAMES, type FormatSketch, replyFormat } from "./formats/registry.ts";
export type {
  History,
  HistoryOptions,
  MakeHistory,
  MemoryOptions,
  PastStep,
  Present,
  WindowOptions,
} from "./history/history.ts";
export { FileMemory } from "./history/memory.ts";
export type { Summarizer, SummaryOptions } from "./history/summary.ts";
export {
  BARE_PROMPTS,
  PROMPT_SETS,
  PROMPTS,
  type PromptParts,
  type PromptSet,
  type Prompts,
} from "./prompts.ts";
export { runTool } from "./tools.ts";
export { wordsOf } from "./words.ts";
