/**
 * @file Runs code in processes of their own: some built-in functions of the interpreter cannot be interrupted
 * from inside.
 */
import { confinedPool } from "../../confined/pool.ts";
import type { CodeRequest } from "./process.ts";
import type { CodeLimits, CodeResult } from "./run.ts";

export interface Sandbox {
  /** Never rejects for what the code does, only when `signal` says so or the sandbox is closed. */
  run(code: string, signal?: AbortSignal): Promise<CodeResult>;
  close(): void;
}

/** Longer code is nobody's. */
const LONGEST_CODE = 100_000;
// Deep recursion must end in the interpreter's own limit, not in V8's.
const FLAGS = ["--stack-size=3500", "--max-old-space-size=128", "--expose-gc"];

export function createSandbox(limits: CodeLimits, processes = 2): Sandbox {
  const pool = confinedPool<CodeRequest, CodeResult>(
    { name: "./process", base: import.meta.url },
    FLAGS,
    processes,
  );
  return {
    async run(code, signal) {
      if (code.length > LONGEST_CODE)
        return { printed: "", error: `it is longer than ${LONGEST_CODE} characters` };
      try {
        const result = await pool.ask({ code, limits }, limits.time, signal);
        const seconds = limits.time / 1000;
        return result ?? { printed: "", error: `it took longer than ${seconds} s and was stopped` };
      } catch (error) {
        signal?.throwIfAborted();
        if (pool.isClosed()) throw error;
        return { printed: "", error: `it ended the interpreter (${(error as Error).message})` };
      }
    },
    close: () => pool.close(),
  };
}
