/**
 * @file Runs other programs (python, apt-get, the compiler) and returns what they said.
 *
 * It is passed around as a value of type `Run`, so that tests can put a fake in its place.
 */

import { spawn } from "node:child_process";
import { constants } from "node:os";

export interface CommandResult {
  /** Exit code; 127 when there is no such program, 128 + signal when it was killed. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly folder?: string;
  readonly signal?: AbortSignal;
}

export type Run = (
  command: string,
  args: readonly string[],
  options?: RunOptions,
) => Promise<CommandResult>;

/** Never rejects: a program that cannot be started is a result like any other failure. */
export const runCommand: Run = (command, args, options = {}) =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...options.environment },
      cwd: options.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    const stop = () => child.kill();
    options.signal?.addEventListener("abort", stop, { once: true });
    child.on("error", (error) => resolve({ status: 127, stdout: "", stderr: error.message }));
    child.on("close", (code, signal) => {
      options.signal?.removeEventListener("abort", stop);
      resolve({ status: code ?? 128 + (signal ? constants.signals[signal] : 0), ...output });
    });
  });
