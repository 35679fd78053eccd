/**
 * @file The dashboard's command as a process of its own, for measuring it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));

export interface StartedDashboard {
  readonly url: string;
  readonly pid: number;
  stop(): void;
}

export async function startDashboard(folder: string): Promise<StartedDashboard> {
  const child = spawn(process.execPath, [COMMAND, "dashboard", folder, "--port", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return { url, pid: child.pid!, stop: () => child.kill() };
}
