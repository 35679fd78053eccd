/**
 * @file The process in which code is run, one piece after another.
 */
import { serveParent } from "../../confined/child.ts";
import { type CodeLimits, type CodeResult, runCode } from "./run.ts";

export interface CodeRequest {
  readonly code: string;
  readonly limits: CodeLimits;
}

serveParent(async ({ code, limits }: CodeRequest): Promise<CodeResult> => {
  try {
    return await runCode(code, limits);
  } catch (error) {
    return { printed: "", error: `it could not be run (${(error as Error).message})` };
  }
});
