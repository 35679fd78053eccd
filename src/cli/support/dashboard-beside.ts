/**
 * @file A dashboard beside a run, in a process of its own: training holds its own process for seconds at a time.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../../bin/openmanus-rl.mjs", import.meta.url));

export interface BesideDashboard {
  stop(): void;
}

/** `say` is told the address, or why there is none: a run does not end for want of a page. */
export function dashboardBeside(folder: string, say: (text: string) => void): BesideDashboard {
  const child = spawn(
    process.execPath,
    [COMMAND, "dashboard", folder, "--port", "0", "--json", "--wait"],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  let isStopped = false;
  let complaint = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    try {
      say(`dashboard ${(JSON.parse(line) as { url: string }).url}`);
    } catch {
      say(line);
    }
  });
  child.stderr.on("data", (text: Buffer) => {
    complaint = (complaint + text.toString("utf8")).slice(-2000);
  });
  child.on("error", (error) => say(`the dashboard could not be started: ${error.message}`));
  child.on("exit", () => {
    if (!isStopped) say(`the dashboard has ended: ${complaint.trim() || "it did not say why"}`);
  });
  // Neither keeps the other: it ends when this end of the pipe does, however that comes.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    stream.on("error", () => {});
    (stream as unknown as { unref?(): void }).unref?.();
  }
  return {
    stop() {
      isStopped = true;
      child.kill();
    },
  };
}
