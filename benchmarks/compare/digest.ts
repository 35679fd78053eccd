/**
 * @file What of a run is kept in the repository: a line per validation, small enough to be committed,
 * enough to draw curves and make tables again.
 */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { join } from "node:path";
import { readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import type { Comparison } from "./comparison.ts";

/** The first line of a file of results: what was run, where. */
export interface About {
  /** For pictures: "ALFWorld, 3 seeds". */
  readonly title: string;
  /** The tasks of its validations, in words. */
  readonly split: string;
  /** Whether purchases have scores. */
  readonly withScore: boolean;
  readonly command: string;
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** How a comparison's runs were made; a single run's command says it. */
  readonly made?: Pick<Comparison, "agent" | "model" | "warmUp" | "training" | "tuning">;
  readonly questions?: Comparison["questions"];
  /** Success of each algorithm's tuning runs by their learning rates. */
  readonly tuned?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A validation of a run. */
export interface Measured {
  readonly algorithm: string;
  readonly seed: number;
  readonly step: number;
  readonly episodes: number;
  /** Tokens that the policy sampled. */
  readonly tokens: number;
  /** Of training, validations left out. */
  readonly minutes: number;
  readonly tasks: number;
  readonly success: number;
  readonly score: number;
  readonly valid: number;
  readonly turns: number;
  readonly types: Readonly<Record<string, number>>;
  /** Success in other splits, by which nothing is chosen. */
  readonly also?: Readonly<Record<string, number>>;
  /** Success of the episodes that were learned from since the validation before; not at the start. */
  readonly learnedFrom?: number;
  /** Of the policy on its own episodes, per token; not before the first iteration. */
  readonly entropy?: number;
  /** Of the last validation, task by task in the order of their names: "1" for those that were won. */
  readonly won?: string;
}

export function measuredOf(folder: string, of: Pick<Measured, "algorithm" | "seed" | "tasks">) {
  const lines: Measured[] = [];
  let seconds = 0;
  let own: number[] = [];
  for (const { step, metrics } of readMetrics(join(folder, "metrics.jsonl"))) {
    seconds += (metrics["timing_s/step"] ?? 0) - (metrics["timing_s/testing"] ?? 0);
    const played = metrics["episode/success_rate"];
    if (played !== undefined) own.push(played);
    const success = metrics["val/success_rate"];
    if (success === undefined) continue;
    const types: Record<string, number> = {};
    const also: Record<string, number> = {};
    for (const [name, value] of Object.entries(metrics)) {
      const [, split, type] = /^val\/(?:(\w+)\/)?(?:(.+)_)?success_rate$/.exec(name) ?? [];
      if (split !== undefined) also[split] = round(value);
      else if (type !== undefined) types[type] = round(value);
    }
    const entropy = metrics["actor/entropy"] ?? metrics["actor/entropy_loss"];
    lines.push({
      ...of,
      step,
      episodes: metrics["training/episodes"] ?? 0,
      tokens: metrics["training/tokens"] ?? 0,
      minutes: round(seconds / 60),
      success: round(success),
      score: round(metrics["val/score"] ?? 0),
      valid: round(metrics["val/valid_action_ratio"] ?? 0),
      turns: round(metrics["val-aux/num_turns/mean"] ?? 0),
      types,
      ...(Object.keys(also).length > 0 && { also }),
      ...(own.length > 0 && {
        learnedFrom: round(own.reduce((sum, value) => sum + value, 0) / own.length),
      }),
      ...(entropy !== undefined && { entropy: round(entropy) }),
    });
    own = [];
  }
  return lines;
}

/** Which tasks a validation won. */
export function wonTasks(folder: string, step: number): string {
  const played = [...readTrajectories(join(folder, "validation"))].filter(
    (one) => one.step === step,
  );
  return played
    .sort((a, b) => (a.task.id < b.task.id ? -1 : 1))
    .map(({ won }) => (won ? "1" : "0"))
    .join("");
}

export function commit(): string {
  return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
}

export function machine(): string {
  const all = cpus();
  return `${all.length} cores, ${all[0]?.model ?? "unknown"}`;
}

const round = (value: number) => Number(value.toFixed(4));
