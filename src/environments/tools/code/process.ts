/**
 * @file The process in which code is run: takes one piece after another from its parent. It holds
 * nothing else, and may be killed at any time.
 */
import { type CodeLimits, type CodeResult, runCode } from "./run.ts";

export interface CodeRequest {
  readonly code: string;
  readonly limits: CodeLimits;
}

process.on("message", async ({ code, limits }: CodeRequest) => {
  let result: CodeResult;
  try {
    result = await runCode(code, limits);
  } catch (error) {
    result = { printed: "", error: `it could not be run (${(error as Error).message})` };
  }
  process.send?.(result);
  // The memories of past runs, before they add up.
  (globalThis as { gc?: () => void }).gc?.();
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
