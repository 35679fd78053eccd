/**
 * @file Whether what was downloaded is what it should be. The first download of a file writes its sum
 * (SHA-256) down beside the data, and from then on the file must stay the same, wherever it comes from
 * and also when the data was removed meanwhile. A sum that somebody knows can be given from the start.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { writeJson } from "../../folders/index.ts";
import { DownloadError } from "./download.ts";

export interface SumOptions {
  /** Of the data; the sums are beside it. */
  readonly folder: string;
  /** Sums that the caller knows: `HASH` for every file, or `NAME=HASH` for one. */
  readonly sha256?: readonly string[] | undefined;
  /** Whether a file may have changed since it was first downloaded. */
  readonly acceptChanged?: boolean | undefined;
}

export interface FoundFile {
  /** By which the data set knows it, whatever its address. */
  readonly name: string;
  readonly url: string;
  /** Where it is. A file that is refused is removed. */
  readonly file: string;
  readonly sha256: string;
}

const SUM = /^(?:([^=]+)=)?([0-9a-f]{64})$/i;

/** Where the sums of a folder's downloads are. */
export function sumsFile(folder: string): string {
  return `${resolve(folder)}.sha256.json`;
}

/** Whether a word can be meant as a sum. */
export function isSum(word: string): boolean {
  return SUM.test(word);
}

/** Throws unless the file is the one that is known, or the first one. */
export function requireKnownSum(found: FoundFile, options: SumOptions): void {
  const { name, url, file, sha256 } = found;
  const wanted = givenSum(name, options.sha256);
  if (wanted !== undefined && wanted !== sha256) {
    rmSync(file, { force: true });
    throw new DownloadError(
      `what came from ${url} has the sum (sha256) ${sha256}, expected ${wanted}, as --sha256 says. It was ` +
        "removed. Is the address right, and who is to be trusted?",
    );
  }
  const place = sumsFile(options.folder);
  const before = readSums(place)[name];
  const mayDiffer = before === undefined || wanted !== undefined || options.acceptChanged;
  if (before !== sha256 && !mayDiffer) {
    rmSync(file, { force: true });
    throw new DownloadError(
      `what came from ${url} has the sum (sha256) ${sha256}, but ${name} had ${before} when it was first ` +
        `downloaded (${place}). It was removed. If its publishers have changed it, and you trust the new ` +
        "one, run the command again with --accept-changed.",
    );
  }
}

/** Writes down what is known from now on: once the data was found to be good. */
export function rememberSums(
  found: readonly Pick<FoundFile, "name" | "sha256">[],
  { folder }: SumOptions,
): void {
  const place = sumsFile(folder);
  const sums = Object.fromEntries(found.map(({ name, sha256 }) => [name, sha256]));
  mkdirSync(dirname(place), { recursive: true });
  writeJson(place, { ...readSums(place), ...sums });
}

function givenSum(name: string, sums: readonly string[] = []): string | undefined {
  const parsed = sums.map((sum) => SUM.exec(sum)).filter((match) => match !== null);
  const own = parsed.find(([, file]) => file === name) ?? parsed.find(([, file]) => !file);
  return own && own[2]!.toLowerCase();
}

function readSums(place: string): Readonly<Record<string, string>> {
  if (!existsSync(place)) return {};
  let sums: unknown;
  try {
    sums = JSON.parse(readFileSync(place, "utf8"));
  } catch (error) {
    throw new DownloadError(
      `${place} cannot be read (${(error as Error).message}); it has the sums of what was downloaded before.`,
    );
  }
  const isTable =
    typeof sums === "object" &&
    sums !== null &&
    Object.values(sums).every((sum) => typeof sum === "string");
  if (!isTable) throw new DownloadError(`${place} is no table of sums (file name: sha256).`);
  return sums as Record<string, string>;
}
