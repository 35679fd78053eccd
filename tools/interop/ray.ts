/**
 * @file A Ray cluster of two machines for the checks: two network namespaces of this one, with addresses that exist
 * nowhere else.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Peers } from "./peers.ts";
import { type Launched, launched } from "./ranks.ts";

const SPACES = ["openmanus-a", "openmanus-b"] as const;
const ADDRESSES = ["10.231.77.1", "10.231.77.2"] as const;

export interface RayCluster {
  /** Starts a command on the first machine. */
  start(words: readonly string[]): Launched;
  /** Cuts the second machine off, and ends what runs there. */
  takeAway(): void;
  bringBack(): Promise<void>;
  close(): Promise<void>;
}

/** Undefined where namespaces cannot be made: not root, or no `ip`. */
export async function rayCluster(peers: Peers, folder: string): Promise<RayCluster | undefined> {
  const ip = (...words: string[]) => execFileSync("ip", words, { stdio: "ignore" });
  const remove = () => {
    for (const space of SPACES) spawnSync("ip", ["netns", "del", space]);
  };
  remove();
  if (spawnSync("ip", ["netns", "add", SPACES[0]]).status !== 0) return undefined;
  ip("netns", "add", SPACES[1]);
  ip(
    "link",
    "add",
    "om-a",
    "netns",
    SPACES[0],
    "type",
    "veth",
    "peer",
    "name",
    "om-b",
    "netns",
    SPACES[1],
  );
  for (const [i, link] of ["om-a", "om-b"].entries()) {
    ip("-n", SPACES[i]!, "addr", "add", `${ADDRESSES[i]}/24`, "dev", link);
    ip("-n", SPACES[i]!, "link", "set", link, "up");
    ip("-n", SPACES[i]!, "link", "set", "lo", "up");
  }
  const python = join(peers.folder, "venv", "bin", "python");
  const variables = {
    PATH: `${dirname(python)}:${process.env.PATH}`,
    RAY_USAGE_STATS_ENABLED: "0",
    // Ray refuses several machines in one kernel otherwise when it looks for leftovers.
    RAY_enable_open_telemetry: "0",
    RAY_health_check_period_ms: "1000",
    RAY_health_check_timeout_ms: "2000",
    RAY_health_check_failure_threshold: "3",
  };
  const inside = (machine: 0 | 1, words: readonly string[]) =>
    launched(["ip", "netns", "exec", SPACES[machine], ...words], variables);
  const ray = async (machine: 0 | 1, ...words: string[]) => {
    const place = join(folder, `r${machine}`);
    mkdirSync(place, { recursive: true });
    const own = ["--node-ip-address", ADDRESSES[machine], "--num-cpus=1"];
    const { ended, output } = inside(machine, [
      ...[python, "-m", "ray.scripts.scripts", "start", ...words, ...own],
    ]);
    if ((await ended) !== 0) throw new Error(`ray does not start:\n${output().slice(-3000)}`);
  };
  const endAll = (space: string) => {
    for (const pid of processesIn(space)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It ended by itself.
      }
    }
  };
  const head = ["--head", "--port=6379", `--dashboard-host=${ADDRESSES[0]}`];
  const join2 = () => ray(1, `--address=${ADDRESSES[0]}:6379`);
  const close = async () => {
    for (const space of SPACES) endAll(space);
    await wait(200);
    remove();
  };
  try {
    await ray(0, ...head, `--temp-dir=${join(folder, "r0")}`);
    await join2();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    start: (words) => inside(0, words),
    takeAway() {
      ip("-n", SPACES[1], "link", "set", "om-b", "down");
    },
    async bringBack() {
      endAll(SPACES[1]);
      ip("-n", SPACES[1], "link", "set", "om-b", "up");
      await join2();
    },
    close,
  };
}

/** The processes in a namespace of ours. */
function processesIn(space: string): number[] {
  const { stdout } = spawnSync("ip", ["netns", "pids", space], { encoding: "utf8" });
  return (stdout ?? "").split("\n").filter(Boolean).map(Number);
}

/** Processes of Ray or of ranks that are left in the namespaces. */
export function leftBehind(): number {
  return SPACES.flatMap(processesIn).filter((pid) => {
    try {
      return /openmanus-rl\.mjs/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      return false;
    }
  }).length;
}

export const DASHBOARD = `http://${ADDRESSES[0]}:8265`;
