/**
 * @file Downloads one file: goes on where a broken download stopped, and the file appears under its
 * name only when it is complete.
 */
import { createHash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";

export class DownloadError extends Error {
  override name = "DownloadError";
}

export interface DownloadOptions {
  readonly url: string;
  /** Where the file should be. What is not complete is beside it, as `.part`. */
  readonly file: string;
  /** Called as bytes come. The total is undefined where the server does not say. */
  onProgress?(received: number, total: number | undefined): void;
  /** How often a broken connection is taken up again. */
  readonly attempts?: number;
  /** How long the server may be silent, in milliseconds. */
  readonly silence?: number;
  /** Refuses more bytes than this. */
  readonly largest?: number;
}

export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
}

/** What is known of a part, to be sure that the rest belongs to the same file. */
interface PartState {
  readonly url: string;
  /** The server's ETag or date. */
  readonly validator: string | undefined;
}

/** Errors that trying again cannot cure. */
class FinalError extends DownloadError {}

export async function download(options: DownloadOptions): Promise<Downloaded> {
  const { url, file, attempts = 4 } = options;
  mkdirSync(dirname(file), { recursive: true });
  for (let attempt = 1; ; attempt++) {
    try {
      await fetchPart(options);
      break;
    } catch (error) {
      if (error instanceof FinalError) throw error;
      const reason = reasonOf(error);
      if (attempt >= attempts)
        throw new DownloadError(
          `${url} could not be downloaded: ${reason}. Is the network there? Run the command again; it goes on where it stopped.`,
          { cause: error },
        );
      await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
    }
  }
  const part = `${file}.part`;
  const result = { bytes: statSync(part).size, sha256: await sha256Of(part) };
  renameSync(part, file);
  rmSync(`${part}.json`, { force: true });
  return result;
}

async function fetchPart({
  url,
  file,
  onProgress,
  silence = 60_000,
  largest = Infinity,
}: DownloadOptions): Promise<void> {
  const part = `${file}.part`;
  const state = readState(`${part}.json`);
  const begun = state?.url === url && state.validator && existsSync(part) ? statSync(part).size : 0;
  const stop = new AbortController();
  const silent = (): void => stop.abort(new Error(`the server was silent for ${silence / 1000} s`));
  let timer = setTimeout(silent, silence);
  try {
    const headers: Record<string, string> =
      begun > 0 ? { range: `bytes=${begun}-`, "if-range": state!.validator! } : {};
    // Compression on the way would make sizes and ranges mean something else.
    headers["accept-encoding"] = "identity";
    const response = await fetch(url, { headers, signal: stop.signal });
    if (response.status >= 400 && response.status !== 416) {
      const message = `${url} answered ${response.status} ${response.statusText}`;
      if (response.status < 500 && response.status !== 429)
        throw new FinalError(`${message}. Is the address right? Give another one with --url.`);
      throw new DownloadError(message);
    }
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
    const goesOn = response.status === 206 && Number(range?.[1]) === begun && begun > 0;
    if (response.status === 416 || (response.status === 206 && !goesOn)) {
      // Our part is not what the server has: begin again.
      rmSync(part, { force: true });
      throw new DownloadError("the part that was there did not fit");
    }
    const length = response.headers.get("content-length");
    const rest = length === null ? undefined : Number(length);
    const start = goesOn ? begun : 0;
    const total = rest === undefined ? undefined : start + rest;
    if ((total ?? 0) > largest)
      throw new FinalError(`${url} has ${total} bytes; at most ${largest} are expected.`);
    const { headers: answered } = response;
    const validator = answered.get("etag") ?? answered.get("last-modified") ?? undefined;
    // A weak tag does not promise equal bytes.
    const strong = validator?.startsWith("W/") ? undefined : validator;
    writeFileSync(`${part}.json`, JSON.stringify({ url, validator: strong } satisfies PartState));
    const handle = await open(part, goesOn ? "a" : "w");
    let received = start;
    try {
      for await (const bytes of response.body ?? []) {
        clearTimeout(timer);
        timer = setTimeout(silent, silence);
        await handle.writeFile(bytes as Uint8Array);
        received += (bytes as Uint8Array).length;
        if (received > largest) throw new FinalError(`${url} sends more than ${largest} bytes.`);
        onProgress?.(received, total);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (total !== undefined && received !== total)
      throw new DownloadError(`the connection ended after ${received} of ${total} bytes`);
  } finally {
    clearTimeout(timer);
  }
}

function readState(path: string): PartState | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as PartState;
  } catch {
    return undefined;
  }
}

/** Node's fetch says only "fetch failed"; the reason is its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array);
  return hash.digest("hex");
}
