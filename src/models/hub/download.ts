/**
 * @file One file of a model into the cache's blobs: goes on where a broken download stopped, and gets its name
 * only when size and sum are those that the Hub listed.
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream, lstatSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../../folders/index.ts";
import type { Answer } from "../../network/index.ts";
import { type RepositoryCache, sizeOf } from "./cache.ts";
import { ask, type Hub, pause } from "./client.ts";
import { HubError, hiding } from "./errors.ts";
import type { ListedFile } from "./files.ts";
import { shownEndpoint } from "./settings.ts";

export interface Source {
  readonly name: string;
  readonly commit: string;
  readonly file: ListedFile;
}

/** However large it is and steadily it comes. Milliseconds. */
const LONGEST = 24 * 3600 * 1000;
/** Who has brought so much since the last break is no hopeless case. */
const WORTH_ANOTHER = 2 ** 20;

/** `onProgress`: the bytes that are there. The folder of the blobs is there, and this process's own. */
export async function downloadBlob(
  hub: Hub,
  source: Source,
  cache: RepositoryCache,
  onProgress: (bytes: number) => void,
): Promise<void> {
  const { size, hash } = source.file;
  const part = cache.unfinished(hash.value);
  let attempt = 1;
  for (let before = sizeOf(part) ?? 0; ; ) {
    const wasBegun = before > 0;
    try {
      const sum = await fetchPart(hub, source, part, onProgress);
      if (sum === hash.value) break;
      // Of one that was begun another time, what was there may have been wrong: once more, from the beginning.
      rmSync(part, { force: true });
      if (!wasBegun) throw wrongSum(hub, source, sum);
      before = 0;
    } catch (error) {
      hub.signal?.throwIfAborted();
      const now = sizeOf(part) ?? 0;
      if (now >= before + WORTH_ANOTHER) attempt = 1;
      const mayHelp = error instanceof HubError && error.kind === "unreachable";
      if (!mayHelp || attempt >= hub.limits.attempts) throw hiding(error, hub.token);
      before = now;
      await pause(hub, attempt++, error.wait);
    }
  }
  const blob = cache.blob(hash.value);
  renameSync(part, blob);
  syncFolder(dirname(blob));
  onProgress(size);
}

/** Brings the part to its whole size, and gives its sum. */
async function fetchPart(
  hub: Hub,
  source: Source,
  part: string,
  onProgress: (bytes: number) => void,
): Promise<string> {
  const { name, commit, file } = source;
  // Whoever may write to the cache must not choose which file of ours is written to.
  const isLink = lstatSync(part, { throwIfNoEntry: false })?.isSymbolicLink();
  if (isLink || (sizeOf(part) ?? 0) > file.size) rmSync(part, { force: true });
  const found = sizeOf(part);
  const begun = found ?? 0;
  const begunSum = newSum(file);
  if (begun > 0)
    for await (const bytes of createReadStream(part)) begunSum.update(bytes as Uint8Array);
  if (found === file.size) return begunSum.digest("hex");
  return ask(
    hub,
    {
      path: `${name}/resolve/${commit}/${encodeURIComponent(file.path)}`,
      subject: subjectOf(source),
      headers: begun > 0 ? { range: `bytes=${begun}-` } : {},
      // What is too much is counted below, with what was there before.
      limits: { time: LONGEST, silence: hub.limits.silence, size: Infinity },
      accepts: [RANGE_IS_WRONG],
      onRedirect: (headers) => requireListed(source, headers),
    },
    async (answer, isHub) => {
      if (isHub) requireListed(source, answer.headers);
      const start = startOf(source, answer, begun, part);
      const sum = start === begun ? begunSum : newSum(file);
      const handle = await open(part, start > 0 ? "a" : "w");
      try {
        await keep(hub, source, answer, { handle, sum, start, onProgress });
        await handle.sync();
      } finally {
        await handle.close();
      }
      return sum.digest("hex");
    },
  );
}

const RANGE_IS_WRONG = 416;

/** Git's sum of a file is that of its length and its bytes. */
function newSum({ size, hash }: ListedFile): Hash {
  return hash.kind === "sha256"
    ? createHash("sha256")
    : createHash("sha1").update(`blob ${size}\0`);
}

/** Where the Hub itself says by which sum it knows the file, it must be the one of the list. */
function requireListed(source: Source, headers: Headers): void {
  const { value } = source.file.hash;
  const tag = (headers.get("x-linked-etag") ?? headers.get("etag") ?? "").replace(/^W\/|"/g, "");
  // Mirrors may have tags of their own, which say nothing.
  const isSum = /^[0-9a-f]+$/.test(tag) && tag.length === value.length;
  if (!isSum || tag === value) return;
  throw new HubError(
    "wrong",
    `${subjectOf(source)}: the Hub has another file (${tag}) than it listed (${value}). Nothing of it was kept; ` +
      "run the command again.",
  );
}

/** From which byte on the answer goes: where the part ends, or the beginning. */
function startOf(source: Source, { status, headers }: Answer, begun: number, part: string): number {
  const { size } = source.file;
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get("content-range") ?? "");
  const goesOn = status === 206 && begun > 0 && Number(range?.[1]) === begun;
  if (status === RANGE_IS_WRONG || (status === 206 && !goesOn)) {
    rmSync(part, { force: true });
    throw new HubError("unreachable", `${subjectOf(source)}: the part that was there did not fit.`);
  }
  // Of what is packed on the way, though we asked for it as it is, the length says nothing.
  const isPacked = !["", "identity"].includes(headers.get("content-encoding") ?? "");
  const length = isPacked ? null : headers.get("content-length");
  const total = goesOn ? Number(range![2]) : length === null ? size : Number(length);
  if (total === size) return goesOn ? begun : 0;
  throw wrongSize(source, `${total} bytes are announced`);
}

interface Keeping {
  readonly handle: FileHandle;
  readonly sum: Hash;
  readonly start: number;
  readonly onProgress: (bytes: number) => void;
}

async function keep(
  { limits }: Hub,
  source: Source,
  answer: Answer,
  { handle, sum, start, onProgress }: Keeping,
): Promise<void> {
  const { size } = source.file;
  let received = start;
  let [since, before] = [performance.now(), start];
  for await (const bytes of answer.pieces()) {
    received += bytes.length;
    if (received > size) throw wrongSize(source, "more is sent");
    await handle.writeFile(bytes);
    sum.update(bytes);
    onProgress(received);
    if (performance.now() - since < limits.slowest.time) continue;
    if (received - before < limits.slowest.bytes)
      throw new HubError(
        "unreachable",
        `${subjectOf(source)}: only ${received - before} bytes came in ${limits.slowest.time / 1000} s. Run the ` +
          "command again; it goes on where it stopped.",
      );
    [since, before] = [performance.now(), received];
  }
  if (received < size)
    throw new HubError(
      "unreachable",
      `${subjectOf(source)}: the connection ended after ${received} of ${size} bytes. Run the command again; it ` +
        "goes on where it stopped.",
    );
}

function subjectOf({ name, commit, file }: Source): string {
  return `${name}@${commit.slice(0, 8)}, ${file.path}`;
}

function wrongSize(source: Source, what: string): HubError {
  return new HubError(
    "wrong",
    `${subjectOf(source)}: the Hub lists ${source.file.size} bytes, but ${what}. It was not kept. Is a proxy in ` +
      "between, or HF_ENDPOINT no hub?",
  );
}

function wrongSum(hub: Hub, source: Source, sum: string): HubError {
  const { kind, value } = source.file.hash;
  return new HubError(
    "wrong",
    `${subjectOf(source)}: what came has the sum (${kind}) ${sum}, but the Hub lists ${value}. It was removed. ` +
      `Somebody between here and ${shownEndpoint(hub.endpoint)} changes files, or they were damaged on the way: run ` +
      "the command again, on another network if it stays so.",
  );
}
