/**
 * @file How many cores this process may really use.
 *
 * Node (and OpenMP) count the cores the scheduler offers; a container's CPU quota is not among what
 * they see. More threads than the quota pays for are put to sleep by the kernel in the middle of a
 * parallel loop, and all the others wait for them.
 */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Returns the file's text, or undefined when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

const readText: ReadText = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

const VERSION_2_MOUNTS = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const VERSION_1_MOUNTS = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/** Whole cores, at least 1; a quota of 1.5 cores counts as 1, because a late thread delays all. */
export function availableThreads(
  available: number = availableParallelism(),
  read: ReadText = readText,
): number {
  return Math.max(1, Math.floor(Math.min(available, cpuQuota(read))));
}

/** The tightest CPU quota on the way up from our control group, in cores; Infinity without one. */
function cpuQuota(read: ReadText): number {
  let quota = Number.POSITIVE_INFINITY;
  for (const line of (read("/proc/self/cgroup") ?? "").split("\n")) {
    // "0::/path" is the version 2 hierarchy; "3:cpu,cpuacct:/path" a version 1 one.
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    if (controllers === "") {
      for (const folder of foldersUp(VERSION_2_MOUNTS, path)) {
        quota = Math.min(quota, version2Quota(read(`${folder}/cpu.max`)));
      }
    } else if (controllers.split(",").includes("cpu")) {
      for (const folder of foldersUp(VERSION_1_MOUNTS, path)) {
        const microseconds = read(`${folder}/cpu.cfs_quota_us`);
        const period = read(`${folder}/cpu.cfs_period_us`);
        quota = Math.min(quota, ratio(microseconds, period));
      }
    }
  }
  return quota;
}

/** `/a/b` below each mount, then `/a`, then the mount itself: a limit on any of them binds us. */
function foldersUp(mounts: readonly string[], path: string): string[] {
  const parts = path.split("/").filter(Boolean);
  return mounts.flatMap((mount) =>
    parts
      .map((_, depth) => [mount, ...parts.slice(0, parts.length - depth)].join("/"))
      .concat(mount),
  );
}

/** "200000 100000" is two cores; "max 100000" is no limit. */
function version2Quota(text: string | undefined): number {
  const [quota, period] = (text ?? "").trim().split(/\s+/);
  return ratio(quota, period);
}

/** No limit when there is none to read, or when it is written as "max" or -1. */
function ratio(quota: string | undefined, period: string | undefined): number {
  const cores = Number(quota ?? Number.NaN) / Number(period ?? Number.NaN);
  return cores > 0 ? cores : Number.POSITIVE_INFINITY;
}
