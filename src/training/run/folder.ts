/**
 * @file The run's folder: what is where, and that only one process writes to it.
 *
 *   config.yaml      the resolved configuration        metrics.jsonl   a line per iteration
 *   run.json         what the run is, for people       trajectories/   every episode
 *   versions.json    what it ran with                  validation/     those of validations
 *   checkpoints/                                       report.html     at the end
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { runtimeInfo } from "../../torch/index.ts";
import type { RunOptions } from "../options.ts";
import { type HeldLock, takeLock } from "./lock.ts";

export interface RunFolder {
  readonly path: string;
  readonly metrics: string;
  /** Writes down what the run is; one that begins anew removes what an earlier one left. */
  begin(): void;
  release(): void;
}

/** What stands in run.json. */
export interface RunDescription {
  readonly title: string;
  readonly subtitle: string;
  /** The folder of the model that it began with. */
  readonly start: string;
  /** What must be the same when the run goes on, by name. */
  readonly identity: Readonly<Record<string, unknown>>;
}

export function readRunDescription(folder: string): RunDescription | undefined {
  const file = join(folder, "run.json");
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as RunDescription;
  } catch (error) {
    throw new OptionError(
      `${file}: cannot be read (${(error as Error).message}). Remove it to go on with the run as it is ` +
        "configured now; its checkpoints are whole or say that they are not.",
    );
  }
}

/**
 * Takes the folder for this process. A run of another configuration that lies there is refused. Nothing
 * is written or removed before `begin`: until then the run may turn out to be impossible.
 */
export function openRunFolder(run: RunOptions, held?: HeldLock): RunFolder {
  const { folder: path, title, subtitle, start, identity, resume } = run;
  const isNew = !existsSync(path);
  const { release } = held ? { release: () => {} } : lockRunFolder(path);
  let begun = false;
  const leave = () => {
    release();
    if (isNew && !begun) rmSync(path, { recursive: true, force: true });
  };
  try {
    if (resume !== "new" && hasResults(path)) requireSame(path, identity);
  } catch (error) {
    leave();
    throw error;
  }
  // Whole or not at all: a run that is killed here must find what it was.
  const write = (name: string, text: string) => {
    const draft = join(path, `.${name}-${process.pid}`);
    writeFileSync(draft, text);
    renameSync(draft, join(path, name));
  };
  return {
    path,
    metrics: join(path, "metrics.jsonl"),
    begin: () =>
      writable(path, () => {
        if (resume === "new") clear(path);
        begun = true;
        write("config.yaml", run.record);
        const description: RunDescription = { title, subtitle, start, identity };
        write("run.json", `${JSON.stringify(description, null, 1)}\n`);
        write("versions.json", `${JSON.stringify(versions(), null, 1)}\n`);
      }),
    release: leave,
  };
}

/** Makes the folder, and makes it this process's own; see lock.ts. */
export function lockRunFolder(path: string): HeldLock {
  return writable(path, () => {
    const isNew = !existsSync(path);
    mkdirSync(path, { recursive: true });
    const lock = takeLock(path);
    return {
      release() {
        lock.release();
        // A run that turned out to be impossible leaves nothing.
        if (isNew && readdirSync(path).length === 0) rmdirSync(path);
      },
    };
  });
}

function writable<Value>(path: string, write: () => Value): Value {
  try {
    return write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new OptionError(
      `${path}: the run's folder cannot be written to (${(error as Error).message}). ` +
        "Choose another (`folder`, or trainer.default_local_dir=FOLDER).",
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

function requireSame(path: string, identity: RunOptions["identity"]): void {
  const before = readRunDescription(path)?.identity;
  if (before === undefined) return;
  const differences = differing(before, identity);
  if (differences.length === 0) return;
  throw new OptionError(
    `${path} is of a run with another configuration:\n` +
      differences
        .slice(0, 8)
        .map(({ path: name, before: old, after }) => `  ${name}: ${old} there, ${after} now`)
        .join("\n") +
      "\nChoose another folder (`folder`, or trainer.experiment_name), or begin anew with " +
      "trainer.resume_mode=disable.",
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
    /^(checkpoints|policy|policies|tensorboard|metrics\.jsonl|mlflow\.json|report\.html|(trajectories|validation)(-\d+)?)$/;
  for (const name of readdirSync(path))
    if (ours.test(name)) rmSync(join(path, name), { recursive: true, force: true });
}

function versions() {
  const manifest = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  ) as { version: string };
  return { "openmanus-rl": manifest.version, node: process.version, ...runtimeInfo() };
}
