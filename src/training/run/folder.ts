/**
 * @file The run's folder: what is where, and that only one process writes to it.
 *
 *   config.yaml      the resolved configuration        metrics.jsonl   a line per iteration
 *   run.json         what the run is, for people       trajectories/   every episode
 *   versions.json    what it ran with                  validation/     those of validations
 *   checkpoints/                                       tokens/         what updates knew of single tokens
 *   report.html      at the end                        log.jsonl       what it said, and how it ended
 *   live.jsonl       the episode that is being played
 */
import { existsSync, readdirSync, readFileSync, realpathSync, rmdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import {
  diskSentence,
  FolderError,
  makeFolder,
  type OwnedFolder,
  ownedFolder,
  takeLock,
  writeText,
} from "../../folders/index.ts";
import { runtimeInfo } from "../../torch/index.ts";
import { checkpointFolder, checkpointSteps } from "../checkpoint/folders.ts";
import type { RunOptions, SettingChange } from "../options.ts";

/** A run's folder that is this process's own until it is released. */
export interface HeldFolder {
  readonly owned: OwnedFolder;
  /** Throws where another process has taken it over. */
  requireHeld(): void;
  release(): void;
}

export interface RunFolder {
  readonly path: string;
  /** Settings that are not as they were when the run was stopped, and may be so. */
  readonly changes: readonly SettingChange[];
  readonly metrics: string;
  /** Writes down what the run is; one that begins anew removes what an earlier one left. */
  begin(): void;
  requireHeld(): void;
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

/** Where the file is torn, the copy of the last checkpoint that has one. */
export function readRunDescription(folder: string): RunDescription | undefined {
  const file = join(folder, "run.json");
  if (!existsSync(file)) return undefined;
  const copies = checkpointSteps(folder)
    .reverse()
    .map((step) => join(checkpointFolder(folder, step), "run.json"));
  for (const place of [file, ...copies]) {
    const found = descriptionIn(place);
    if (found) return found;
  }
  throw new OptionError(
    `${file}: cannot be read. Remove it to go on with the run as it is configured now; its checkpoints are ` +
      "whole or say that they are not.",
  );
}

function descriptionIn(file: string): RunDescription | undefined {
  try {
    const found = JSON.parse(readFileSync(file, "utf8")) as RunDescription | null;
    return typeof found?.identity === "object" ? found : undefined;
  } catch {
    return undefined;
  }
}

/** What a run makes in its folder. */
const NAMES = [
  ...["config.yaml", "run.json", "versions.json", "metrics.jsonl", "mlflow.json", "report.html"],
  ...["log.jsonl", "live.jsonl"],
  ...["checkpoints", "policy", "policies", "tensorboard", "tokens", "trajectories", "validation"],
];

/** What `train` makes there before the run: a run that begins anew keeps it. */
const PREPARED = ["model", "warm", "warm.training"];

/**
 * Takes the folder for this process. Another run that lies there is refused, and so is
 * whatever is no run of ours. Nothing is written or removed before `begin`: until then the run may turn out
 * to be impossible.
 */
export function openRunFolder(run: RunOptions, given?: HeldFolder): RunFolder {
  const { folder: path, resume } = run;
  const held = given ?? holdRunFolder(path);
  const release = () => {
    if (!given) held.release();
  };
  const { owned } = held;
  let changes: readonly SettingChange[] = [];
  try {
    if (!owned.isKnown && resume !== "new" && isOlderRun(path))
      owned.adopt([...NAMES, ...PREPARED]);
    owned.requireFree(NAMES);
    if (resume !== "new" && hasResults(path)) changes = allowedChanges(run);
    if (typeof resume === "object") requireOwnHistory(path, resume.from);
  } catch (error) {
    release();
    throw error;
  }
  return {
    path,
    changes,
    metrics: join(path, "metrics.jsonl"),
    begin: () =>
      writable(path, () => {
        owned.claim(NAMES);
        owned.discardPrevious();
        if (resume === "new") owned.clear(PREPARED);
        for (const [name, text] of Object.entries(recordOf(run)))
          writeIfOther(join(path, name), text);
        writeIfOther(join(path, "versions.json"), `${JSON.stringify(versions(), null, 1)}\n`);
      }),
    requireHeld: held.requireHeld,
    release,
  };
}

/** What is written down about a run, by file; checkpoints have it, too. */
export function recordOf({ title, subtitle, start, identity, record }: RunOptions) {
  const description: RunDescription = { title, subtitle, start, identity };
  return { "config.yaml": record, "run.json": `${JSON.stringify(description, null, 1)}\n` };
}

/** Whole or not at all, and not for nothing: a run that is killed here must find what it was. */
function writeIfOther(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  writeText(file, text);
}

/** Makes the folder, and makes it this process's own. */
export function holdRunFolder(path: string): HeldFolder {
  return writable(path, () => {
    const isNew = !existsSync(path);
    makeFolder(path);
    const lock = takeLock(path);
    const release = () => {
      lock.release();
      // A run that turned out to be impossible leaves nothing.
      if (isNew && readdirSync(path).length === 0) rmdirSync(path);
    };
    try {
      const owned = ownedFolder(path, "run");
      return {
        owned,
        requireHeld: lock.requireHeld,
        release() {
          owned.leave();
          release();
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  });
}

/** Of a version that had no markers. */
function isOlderRun(path: string): boolean {
  return (
    existsSync(join(path, "versions.json")) && readRunDescription(path)?.identity !== undefined
  );
}

/**
 * A checkpoint of another run continues in a folder of its own: what this one has saved would be lost. One of
 * this run's is its own past, and what came after it is given up.
 */
function requireOwnHistory(path: string, checkpoint: string): void {
  const own = join(path, "checkpoints");
  // One that is not there is told by whoever opens it.
  if (!existsSync(join(checkpoint, "state.json")) || !hasResults(path)) return;
  if (existsSync(own) && realpathSync(own) === realpathSync(dirname(resolve(checkpoint)))) return;
  throw new FolderError(
    `${checkpoint} is a checkpoint of another run than the one in ${path}, whose results would be lost. ` +
      "Choose another folder for it (trainer.default_local_dir), or go on with the run that is there " +
      "(trainer.resume_mode=auto).",
  );
}

function writable<Value>(path: string, write: () => Value): Value {
  try {
    return write();
  } catch (error) {
    const told = diskSentence(error);
    if (told !== error || (error as NodeJS.ErrnoException).code === undefined) throw told;
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

/** So many are told. */
const TOLD = 8;

/** What changed since the run was stopped; throws where that makes it another run. */
function allowedChanges(run: RunOptions): readonly SettingChange[] {
  const { folder } = run;
  const identity = readRunDescription(folder)?.identity;
  if (identity === undefined) return [];
  const file = join(folder, "config.yaml");
  const record = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  const changes = run.changesSince({ identity, record });
  const refused = changes.filter(({ kind }) => kind === "another run");
  if (refused.length === 0) return changes;
  const lines = refused
    .slice(0, TOLD)
    .map(({ path, before, after, means }) => `  ${path}: ${before} there, ${after} now (${means})`);
  throw new OptionError(
    `${folder} is of a run with another configuration, and its curves and checkpoints would not be what they say:\n` +
      `${lines.join("\n")}\nChoose another folder (\`folder\`, or trainer.experiment_name) for a run of its own, begin ` +
      "anew with trainer.resume_mode=disable, or set these back to go on.",
  );
}

function versions() {
  const manifest = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  ) as { version: string };
  return { "openmanus-rl": manifest.version, node: process.version, ...runtimeInfo() };
}
