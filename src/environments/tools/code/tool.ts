/**
 * @file Running JavaScript as a tool.
 */
import type { Tool } from "../tool.ts";
import type { CodeLimits, CodeResult } from "./run.ts";
import { createSandbox } from "./sandbox.ts";

export const CODE_LIMITS: CodeLimits = { time: 2_000, memory: 64 << 20, output: 8_000 };

export function codeTool(limits: Partial<CodeLimits> = {}, processes = 2): Tool {
  const sandbox = createSandbox({ ...CODE_LIMITS, ...limits }, processes);
  return {
    name: "javascript",
    description:
      "Runs JavaScript and shows what it prints (print or console.log) and the value of its last " +
      "expression. There are no files, no network, no modules and no clock; a run starts from nothing.",
    parameters: {
      type: "object",
      properties: { code: { type: "string", description: "the program", maxLength: 100_000 } },
      required: ["code"],
      additionalProperties: false,
    },
    async execute({ code }, signal) {
      const result = await sandbox.run(String(code), signal);
      if (result.error === undefined) return shown(result);
      throw new Error([result.error, ...printed(result)].join("\n"));
    },
    close: () => sandbox.close(),
  };
}

function shown(result: CodeResult): string {
  const lines = result.printed === "" ? [] : [result.printed];
  if (result.value !== undefined) lines.push(result.value);
  return lines.length > 0 ? lines.join("\n") : "(nothing was printed, and there is no value)";
}

function printed(result: CodeResult): string[] {
  return result.printed === "" ? [] : [`It printed:\n${result.printed}`];
}
