/**
 * @file Tools of the agent's own, beside what its world offers: the agent calls them in the format
 * "tools", they answer, and the world does not move. They are the tools of src/environments (calculator,
 * search, code, MCP servers) or one's own.
 */
import { callTool, type Tool, type ToolOutcome } from "../environments/index.ts";
import type { ToolCall } from "./formats/format.ts";

/** A longer answer is cut in its middle: it has to fit into a prompt. */
const LONGEST_ANSWER = 10_000;

/** Runs a call of one of the tools; undefined if it is none of theirs. A failure is an answer, too. */
export async function runTool(
  tools: readonly Tool[],
  call: ToolCall | undefined,
  signal?: AbortSignal,
): Promise<ToolOutcome | undefined> {
  const tool = call && tools.find(({ name }) => name === call.name);
  return tool && (await callTool(tool, call.arguments, LONGEST_ANSWER, signal));
}
