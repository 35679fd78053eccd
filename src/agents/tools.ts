/**
 * @file Tools of the agent's own, beside what its world offers: the agent calls them in the format
 * "tools", they answer, and the world does not move.
 */
import type { ToolCall, ToolDescription } from "./formats/format.ts";

export interface AgentTool extends ToolDescription {
  /** What the agent is told. What it throws is told to the agent, too, as an observation. */
  execute(given: Readonly<Record<string, unknown>>, signal?: AbortSignal): string | Promise<string>;
}

/** Runs a call of one of the tools; undefined if it is none of theirs. */
export async function runTool(
  tools: readonly AgentTool[],
  call: ToolCall | undefined,
  signal?: AbortSignal,
): Promise<{ text: string; failed: boolean } | undefined> {
  const tool = call && tools.find(({ name }) => name === call.name);
  if (!tool) return undefined;
  try {
    return { text: await tool.execute(call.arguments, signal), failed: false };
  } catch (error) {
    if (signal?.aborted) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return { text: `${tool.name} failed: ${reason}`, failed: true };
  }
}
