/**
 * @file The run's folder: what is where, and that only one process writes to it.
 *
 *   config.yaml      the resolved configuration        metrics.jsonl   a line per iteration
 *   versions.json    what it ran with                  trajectories/   every episode
 *   checkpoints/                                       report.html     at the end
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseYaml, stringify } from "yaml";
import { type Config, ConfigError } from "../config/index.ts";
import { runtimeInfo } from "../torch/index.ts";

export interface RunFolder {
  readonly path: string;
  readonly metrics: string;
  readonly trajectories: string;
  readonly validation: string;
  readonly report: string;
  release(): void;
}

export function runPath({ trainer }: Config): string {
  return trainer.default_local_dir ?? join("runs", trainer.project_name, trainer.experiment_name);
}

/** Takes the folder for this process. A run of another configuration that lies there is refused. */
export function openRunFolder(config: Config): RunFolder {
  const path = runPath(config);
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new Error(`${path}: cannot be written to (${(error as Error).message})`);
  }
  const release = lock(path);
  try {
    const file = join(path, "config.yaml");
    if (existsSync(file) && config.trainer.resume_mode !== "disable") requireSame(file, config);
    if (config.trainer.resume_mode === "disable") clear(path);
    writeFileSync(file, stringify(config));
    writeFileSync(join(path, "versions.json"), `${JSON.stringify(versions(), null, 1)}\n`);
  } catch (error) {
    release();
    throw error;
  }
  return {
    path,
    metrics: join(path, "metrics.jsonl"),
    trajectories: join(path, "trajectories"),
    validation: join(path, "validation"),
    report: join(path, "report.html"),
    release,
  };
}

/** One process at a time; a lock whose process is gone is taken over. */
function lock(path: string): () => void {
  const file = join(path, "run.lock");
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST")
        throw new Error(`${path}: cannot be written to (${(error as Error).message})`);
    }
    const owner = Number(readFileSync(file, "utf8"));
    if (owner === process.pid) return () => rmSync(file, { force: true });
    if (isAlive(owner))
      throw new Error(
        `${path}: process ${owner} is training in this folder. Wait for it, or choose another ` +
          "(trainer.default_local_dir).",
      );
    rmSync(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** What may differ when a run goes on: how long and how often, not what is trained. */
const MAY_DIFFER = [
  ...[
    "total_epochs",
    "total_training_steps",
    "test_freq",
    "save_freq",
    "val_before_train",
    "logger",
  ],
  ...["resume_mode", "resume_from_path", "max_actor_ckpt_to_keep", "target_success", "max_minutes"],
  ...["max_memory_gb", "keep_trajectories", "val_only", "default_local_dir"],
];

function requireSame(file: string, config: Config): void {
  const before = parseYaml(readFileSync(file, "utf8")) as Config;
  const relevant = ({ trainer, ...rest }: Config) => ({
    ...rest,
    trainer: Object.fromEntries(
      Object.entries(trainer).filter(([key]) => !MAY_DIFFER.includes(key)),
    ),
  });
  const differences = differing(relevant(before), relevant(config));
  if (differences.length === 0) return;
  throw new ConfigError(
    `${file} is of a run with another configuration:\n` +
      differences
        .slice(0, 8)
        .map(({ path, before: old, after }) => `  ${path}: ${old} there, ${after} now`)
        .join("\n") +
      "\nChoose another folder (trainer.experiment_name), or begin anew with trainer.resume_mode=disable.",
  );
}

function differing(
  before: unknown,
  after: unknown,
  path: readonly string[] = [],
): { path: string; before: string; after: string }[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isTree = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isTree(before) || !isTree(after))
    return [
      {
        path: path.join("."),
        before: JSON.stringify(before) ?? "unset",
        after: JSON.stringify(after) ?? "unset",
      },
    ];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => differing(before[key], after[key], [...path, key]));
}

/** Begins anew: what an earlier run left is removed, and nothing else. */
function clear(path: string): void {
  for (const name of ["checkpoints", "trajectories", "validation", "metrics.jsonl", "report.html"])
    rmSync(join(path, name), { recursive: true, force: true });
}

function versions() {
  const manifest = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { version: string };
  return { "openmanus-rl": manifest.version, node: process.version, ...runtimeInfo() };
}
