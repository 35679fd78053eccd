/**
 * @file The run's folder: what is where, and that only one process writes to it.
 *
 *   config.yaml      the resolved configuration        metrics.jsonl   a line per iteration
 *   versions.json    what it ran with                  trajectories/   every episode
 *   checkpoints/                                       report.html     at the end
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parse as parseYaml, stringify } from "yaml";
import { type Config, ConfigError } from "../config/index.ts";
import { runtimeInfo } from "../torch/index.ts";
import { takeLock } from "./run-lock.ts";

export interface RunFolder {
  readonly path: string;
  readonly metrics: string;
  /** Writes down what the run is; with resume_mode=disable what an earlier one left is removed. */
  begin(): void;
  release(): void;
}

export function runPath({ trainer }: Config): string {
  return trainer.default_local_dir ?? join("runs", trainer.project_name, trainer.experiment_name);
}

/**
 * Takes the folder for this process. A run of another configuration that lies there is refused. Nothing
 * is written or removed before `begin`: until then the run may turn out to be impossible.
 */
export function openRunFolder(config: Config): RunFolder {
  const path = runPath(config);
  const isNew = !existsSync(path);
  const release = writable(path, () => {
    mkdirSync(path, { recursive: true });
    return takeLock(path);
  });
  const file = join(path, "config.yaml");
  let begun = false;
  const leave = () => {
    release();
    if (isNew && !begun) rmSync(path, { recursive: true, force: true });
  };
  try {
    const goesOn = config.trainer.resume_mode !== "disable";
    if (goesOn && existsSync(file) && hasResults(path)) requireSame(file, config);
  } catch (error) {
    leave();
    throw error;
  }
  return {
    path,
    metrics: join(path, "metrics.jsonl"),
    begin: () =>
      writable(path, () => {
        if (config.trainer.resume_mode === "disable") clear(path);
        begun = true;
        writeFileSync(file, stringify(config));
        writeFileSync(join(path, "versions.json"), `${JSON.stringify(versions(), null, 1)}\n`);
      }),
    release: leave,
  };
}

function writable<Value>(path: string, write: () => Value): Value {
  try {
    return write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new ConfigError(
      `${path}: the run's folder cannot be written to (${(error as Error).message}). ` +
        "Choose another: trainer.default_local_dir=FOLDER",
    );
  }
}

/** Whether a run got as far as to leave something that another must not be mixed with. */
function hasResults(path: string): boolean {
  const metrics = join(path, "metrics.jsonl");
  const checkpoints = join(path, "checkpoints");
  return (
    (existsSync(metrics) && statSync(metrics).size > 0) ||
    (existsSync(checkpoints) && readdirSync(checkpoints).length > 0)
  );
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
  const ours =
    /^(checkpoints|policy|tensorboard|metrics\.jsonl|report\.html|(trajectories|validation)(-\d+)?)$/;
  for (const name of readdirSync(path))
    if (ours.test(name)) rmSync(join(path, name), { recursive: true, force: true });
}

function versions() {
  const manifest = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { version: string };
  return { "openmanus-rl": manifest.version, node: process.version, ...runtimeInfo() };
}
