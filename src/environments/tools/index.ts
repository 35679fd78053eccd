/**
 * @file Tool use: a question, tools, an answer. The tools can be used elsewhere too.
 */
import { defineWorld } from "../define.ts";
import type { ToolsOptions } from "./world.ts";

export type { CodeLimits, CodeResult } from "./code/run.ts";
export { callTool, type Tool, type ToolArguments, type ToolOutcome } from "./tool.ts";

/** Tools by their makers; loaded when asked for. */
export const toolMakers = {
  calculator: async () => (await import("./calculator/tool.ts")).calculatorTool(),
  search: async (...given: Parameters<typeof import("./search/tool.ts").searchTool>) =>
    (await import("./search/tool.ts")).searchTool(...given),
  javascript: async (...given: Parameters<typeof import("./code/tool.ts").codeTool>) =>
    (await import("./code/tool.ts")).codeTool(...given),
  fetch: async (...given: Parameters<typeof import("./fetch/tool.ts").fetchTool>) =>
    (await import("./fetch/tool.ts")).fetchTool(...given),
  /** All tools of a server of the Model Context Protocol: a command line, or an address. */
  mcp: async (...given: Parameters<typeof import("./mcp/client.ts").mcpTools>) =>
    (await import("./mcp/client.ts")).mcpTools(...given),
} as const;

export const tools = defineWorld({
  name: "tools",
  aliases: ["tool_use", "gaia"],
  summary: "answer a question with the help of tools: calculator, search, code, MCP servers",
  briefing:
    "You answer a question. Tools help you: call them one at a time, read what they say, and give the " +
    "answer when you know it.",
  maximumSteps: 12,
  types: ["lookup", "two_hops", "difference", "total", "density", "income"],
  options: {
    data: {
      kind: "text",
      default: "builtin",
      about:
        "a .json, .jsonl or .parquet file of questions with answers (GAIA's layout too), or builtin " +
        "for generated ones",
    },
    corpus: {
      kind: "text",
      about:
        "what search searches: a folder of .txt and .md files, or a .json, .jsonl or .parquet file " +
        "with title and text; default: with builtin questions their own documents",
    },
    tools: {
      kind: "list",
      choices: ["calculator", "search", "javascript", "fetch"],
      about: "which tools there are; default: all but fetch",
    },
    mcp: {
      kind: "list",
      default: [],
      about: "servers of the Model Context Protocol whose tools are added: commands or addresses",
    },
    fetchPrivate: {
      kind: "boolean",
      default: false,
      about: "whether fetch may read private addresses, this machine's included",
    },
    codeSeconds: {
      ...{ kind: "number", minimum: 0.1, maximum: 600, default: 2 },
      about: "how long a program may run",
    },
    codeMegabytes: {
      ...{ kind: "number", minimum: 24, maximum: 2000, default: 64 },
      about: "how much memory a program may use, the interpreter's 16 MB included",
    },
    observationLength: {
      ...{ kind: "number", integer: true, minimum: 200, maximum: 1_000_000, default: 8000 },
      about: "how many characters of a tool's answer are shown",
    },
    describe: {
      kind: "boolean",
      default: true,
      about: "whether the first observation describes the tools",
    },
    judgeUrl: {
      kind: "text",
      about:
        "an OpenAI-compatible server that judges answers that are not exact (http://127.0.0.1:8000/v1)",
    },
    judgeModel: { kind: "text", about: "the model that judges" },
    judgeKey: {
      kind: "text",
      default: "OPENAI_API_KEY",
      about: "the environment variable that holds the judge's key",
    },
    questions: {
      ...{ kind: "number", integer: true, minimum: 1, maximum: 100_000_000, default: 10_000 },
      about: "how many generated questions the split train has",
    },
    towns: {
      ...{ kind: "number", integer: true, minimum: 30, maximum: 2000, default: 120 },
      about: "how many towns the generated country has",
    },
    seed: {
      ...{ kind: "number", integer: true, minimum: 0, default: 0 },
      about: "another seed makes another country and other questions",
    },
    winReward: { kind: "number", default: 10, about: "the reward of the right answer" },
  },
  open: async (options) =>
    (await import("./world.ts")).toolsWorld("tools", options satisfies ToolsOptions),
});
