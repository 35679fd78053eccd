/**
 * @file Whether all ranks are about to do the same. Ranks that were started with other settings, another model or
 * other data would train something that nobody asked for, and no error would say so.
 */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { OptionError } from "../../assembly/index.ts";
import type { TaskSet } from "../../environments/index.ts";
import { differing } from "../differences.ts";
import type { Ranks } from "./ranks.ts";

/** So many differences of a rank are told. */
const TOLD = 6;

/**
 * Throws on all ranks where one's facts are not rank 0's; `what` they are of goes into the sentence. Facts are a tree
 * of plain values.
 */
export function requireSameOnRanks(ranks: Ranks, what: string, facts: unknown): void {
  if (ranks.size === 1) return;
  const all = ranks.gather({ host: hostname(), facts });
  const [first] = all;
  const lines: string[] = [];
  for (const [rank, { host, facts: own }] of all.entries())
    for (const { path, before, after } of differing(first!.facts, own).slice(0, TOLD))
      lines.push(
        `  ${path}: ${before} on rank 0 (${first!.host}), ${after} on rank ${rank} (${host})`,
      );
  if (lines.length === 0) return;
  throw new OptionError(
    `the ranks do not have the same ${what}:\n${lines.join("\n")}\n` +
      "Nothing was written. Start all ranks with the same command, the same version, and the same files on every " +
      "machine.",
  );
}

/** So many tasks of a split are looked at. */
const LOOKED_AT = 256;

/** By what a split of a world is told from another of the same name. */
export function fingerprintOfTasks(tasks: TaskSet): { tasks: number; fingerprint: string } {
  const hash = createHash("sha256");
  const stride = Math.max(1, Math.floor(tasks.length / LOOKED_AT));
  for (let i = 0; i < tasks.length; i += stride) hash.update(`${JSON.stringify(tasks.task(i))}\n`);
  return { tasks: tasks.length, fingerprint: hash.digest("hex").slice(0, 16) };
}
