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
import { type Answer, ExchangeError, exchange, oneLine } from "../../network/index.ts";

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
  /** Seconds for one attempt, however steadily it drips. Default: a day. */
  readonly seconds?: number;
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

/** Milliseconds. */
const SILENCE = 60_000;
/** Seconds. */
const LONGEST = 24 * 3600;
const MOST_REDIRECTS = 5;

/** Errors that trying again cannot cure. */
class FinalError extends DownloadError {}

export async function download(options: DownloadOptions): Promise<Downloaded> {
  const { url, file, attempts = 4 } = options;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new FinalError(`"${url}" is no address of a file; it must be like https://….`);
  mkdirSync(dirname(file), { recursive: true });
  for (let attempt = 1; ; attempt++) {
    try {
      await fetchPart(options);
      break;
    } catch (error) {
      if (error instanceof FinalError) throw error;
      const reason = reasonOf(error, options.silence ?? SILENCE);
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

async function fetchPart(options: DownloadOptions): Promise<void> {
  const { url, file, silence = SILENCE, seconds = LONGEST, largest = Infinity } = options;
  const part = `${file}.part`;
  const state = readState(`${part}.json`);
  const begun = state?.url === url && state.validator && existsSync(part) ? statSync(part).size : 0;
  const headers: Record<string, string> =
    begun > 0 ? { range: `bytes=${begun}-`, "if-range": state!.validator! } : {};
  // Compression on the way would make sizes and ranges mean something else.
  headers["accept-encoding"] = "identity";
  const deadline = performance.now() + seconds * 1000;
  let address = new URL(url);
  for (let hops = 0; ; hops++) {
    const time = Math.ceil(Math.max(1, deadline - performance.now()));
    // What is too much is counted below, with what was there before.
    const limits = { time, silence, size: Infinity };
    const target = await exchange({ url: address, headers, limits }, async (answer) =>
      answer.redirect === null ? keep(answer, begun, largest, options) : answer.redirect,
    );
    if (target === undefined) return;
    if (hops >= MOST_REDIRECTS)
      throw new FinalError(`${url} redirects more than ${MOST_REDIRECTS} times.`);
    address = redirected(url, address, target);
  }
}

/** Places that give files away redirect to where they keep them; never to a place that all can listen to. */
function redirected(url: string, from: URL, to: string): URL {
  const target = URL.canParse(to, from.href) ? new URL(to, from) : undefined;
  const allowed = from.protocol === "https:" ? ["https:"] : ["https:", "http:"];
  if (target && allowed.includes(target.protocol)) return target;
  throw new FinalError(`${url} redirects to ${oneLine(to)}, which is not followed.`);
}

/** Writes what comes into the part, behind what is there where the answer goes on from there. */
async function keep(
  { status, statusText, headers, pieces }: Answer,
  begun: number,
  largest: number,
  { url, file, onProgress }: DownloadOptions,
): Promise<undefined> {
  const part = `${file}.part`;
  if (status >= 300 && status !== 416) {
    const message = `${url} answered ${status} ${oneLine(statusText, 100)}`;
    if (status < 500 && status !== 429)
      throw new FinalError(`${message}. Is the address right? Give another one with --url.`);
    throw new DownloadError(message);
  }
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get("content-range") ?? "");
  const goesOn = status === 206 && Number(range?.[1]) === begun && begun > 0;
  if (status === 416 || (status === 206 && !goesOn)) {
    // Our part is not what the server has: begin again.
    rmSync(part, { force: true });
    throw new DownloadError("the part that was there did not fit");
  }
  const length = headers.get("content-length");
  const rest = length === null ? undefined : Number(length);
  const start = goesOn ? begun : 0;
  const total = rest === undefined ? undefined : start + rest;
  if ((total ?? 0) > largest)
    throw new FinalError(`${url} has ${total} bytes; at most ${largest} are expected.`);
  const validator = headers.get("etag") ?? headers.get("last-modified") ?? undefined;
  // A weak tag does not promise equal bytes.
  const strong = validator?.startsWith("W/") ? undefined : validator;
  writeFileSync(`${part}.json`, JSON.stringify({ url, validator: strong } satisfies PartState));
  const handle = await open(part, goesOn ? "a" : "w");
  let received = start;
  try {
    for await (const bytes of pieces()) {
      received += bytes.length;
      if (received > largest) throw new FinalError(`${url} sends more than ${largest} bytes.`);
      await handle.writeFile(bytes);
      onProgress?.(received, total);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (total !== undefined && received !== total)
    throw new DownloadError(`the connection ended after ${received} of ${total} bytes`);
}

function readState(path: string): PartState | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as PartState;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown, silence: number): string {
  if (error instanceof ExchangeError && error.kind === "silent")
    return `the server was silent for ${silence / 1000} s`;
  return oneLine(error instanceof Error ? error.message : String(error));
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array);
  return hash.digest("hex");
}
