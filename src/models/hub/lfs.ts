/**
 * @file Large files to where the Hub keeps them: it is told their sums, and says for each one that it does not have
 * to which address its bytes go, as a whole or in parts. Those addresses are of other hosts and hold their own
 * permission; the token is not sent there.
 */
import { shown } from "../../network/index.ts";
import { isJsonObject, type JsonObject } from "../checkpoint/json.ts";
import { ask, askForJson, type Hub, patiently } from "./client.ts";
import { HubError } from "./errors.ts";
import type { FetchOptions } from "./fetch.ts";

export interface LargeFile {
  readonly path: string;
  readonly blob: Blob;
  readonly sha256: string;
}

const LFS = {
  accept: "application/vnd.git-lfs+json",
  "content-type": "application/vnd.git-lfs+json",
};
const LARGEST_ANSWER = 2 ** 24;
/** Bytes a second that an upload must bring at least, on average. */
const SLOWEST = 50_000;
const MOST_PARTS = 10_000;

/** Gives the bytes that were sent: what the Hub has already is not sent again. */
export async function uploadLarge(
  hub: Hub,
  name: string,
  revision: string,
  files: readonly LargeFile[],
  { say, onProgress }: Pick<FetchOptions, "say" | "onProgress">,
): Promise<number> {
  if (files.length === 0) return 0;
  const { json } = await askForJson(hub, {
    ...{ path: `${name}.git/info/lfs/objects/batch`, subject: name, method: "POST", headers: LFS },
    body: JSON.stringify({
      ...{ operation: "upload", transfers: ["basic", "multipart"], hash_algo: "sha256" },
      ref: { name: revision },
      objects: files.map(({ sha256, blob }) => ({ oid: sha256, size: blob.size })),
    }),
    largest: LARGEST_ANSWER,
  });
  const told = isJsonObject(json) && Array.isArray(json.objects) ? json.objects : [];
  const wanted = files.flatMap((file) => {
    const object = told.find((one) => isJsonObject(one) && one.oid === file.sha256);
    const actions = actionsOf(name, file, object);
    return actions ? [{ file, actions }] : [];
  });
  const total = wanted.reduce((sum, { file }) => sum + file.blob.size, 0);
  if (total > 0)
    say?.(
      `sending ${wanted.length} of ${files.length} large files, ${(total / 1e6).toFixed(1)} MB`,
    );
  let sent = 0;
  for (const { file, actions } of wanted) {
    await upload(hub, name, file, actions, (bytes) => onProgress?.(sent + bytes, total));
    sent += file.blob.size;
  }
  return sent;
}

interface Actions {
  readonly href: string;
  readonly header: JsonObject;
  /** Who wants to be told when it is there. */
  readonly verify: string | undefined;
}

/** Undefined: the Hub has it. */
function actionsOf(name: string, { path }: LargeFile, object: unknown): Actions | undefined {
  const fail = (what: unknown): never => {
    throw new HubError("refused", `${name}: the Hub does not take ${path} (${shown(what)}).`);
  };
  if (!isJsonObject(object)) return fail(object);
  if (object.error !== undefined) return fail(object.error);
  if (object.actions === undefined) return undefined;
  const { upload, verify } = isJsonObject(object.actions) ? object.actions : {};
  if (upload === undefined) return undefined;
  if (!isJsonObject(upload) || typeof upload.href !== "string") return fail(object.actions);
  const told = isJsonObject(verify) && typeof verify.href === "string" ? verify.href : undefined;
  const header = isJsonObject(upload.header) ? upload.header : {};
  return { href: upload.href, header, verify: told };
}

async function upload(
  hub: Hub,
  name: string,
  file: LargeFile,
  { href, header, verify }: Actions,
  onProgress: (bytes: number) => void,
): Promise<void> {
  const { sha256: oid, blob } = file;
  const subject = `${name}, ${file.path}`;
  if (header.chunk_size === undefined) {
    await put(hub, subject, href, blob);
    onProgress(blob.size);
  } else {
    const parts = [];
    for (const { number, url, part, end } of partsOf(subject, file, header)) {
      const etag = await put(hub, subject, url, part);
      if (etag === null)
        throw new HubError(
          "wrong",
          `${subject}: where it goes, nobody says what came of part ${number}.`,
        );
      parts.push({ partNumber: number, etag });
      onProgress(end);
    }
    await post(hub, subject, href, { oid, parts });
  }
  if (verify !== undefined) await post(hub, subject, verify, { oid, size: blob.size });
}

/** The addresses of the parts are in the header, by their numbers from 1 on. */
function partsOf(subject: string, { blob }: LargeFile, header: JsonObject) {
  const size = Number(header.chunk_size);
  const count = Math.ceil(blob.size / size);
  const numbers = Object.keys(header).filter((key) => /^\d{1,6}$/.test(key));
  const isRight = Number.isSafeInteger(size) && size > 0 && count <= MOST_PARTS;
  if (!isRight || numbers.length !== count)
    throw new HubError(
      "wrong",
      `${subject}: the Hub wants ${blob.size} bytes as ${numbers.length} parts of ${shown(header.chunk_size, 40)} bytes.`,
    );
  const sorted = numbers.sort((a, b) => Number(a) - Number(b));
  return sorted.map((key, i) => {
    const end = Math.min(blob.size, (i + 1) * size);
    return { number: i + 1, url: String(header[key]), part: blob.slice(i * size, end), end };
  });
}

async function put(hub: Hub, subject: string, url: string, body: Blob): Promise<string | null> {
  const time = hub.limits.time + (body.size / SLOWEST) * 1000;
  const request = { path: address(hub, subject, url), subject, method: "PUT", body };
  return patiently(hub, () =>
    ask(hub, { ...request, limits: { time, size: LARGEST_ANSWER }, isStore: true }, (answer) =>
      answer.headers.get("etag"),
    ),
  );
}

async function post(hub: Hub, subject: string, url: string, json: object): Promise<void> {
  const request = { path: address(hub, subject, url), subject, method: "POST", headers: LFS };
  const limits = { time: 10 * hub.limits.time, size: LARGEST_ANSWER };
  await patiently(hub, () =>
    ask(hub, { ...request, body: JSON.stringify(json), limits }, (answer) => answer.text()),
  );
}

/** Weights may be private: where others could listen, they are not sent, unless the Hub itself is there. */
function address({ endpoint }: Hub, subject: string, url: string): string {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  const allowed = endpoint.protocol === "https:" ? ["https:"] : ["https:", "http:"];
  if (target && allowed.includes(target.protocol)) return target.href;
  throw new HubError(
    "wrong",
    `${subject}: the Hub wants it sent to ${shown(url, 100)}, expected https://….`,
  );
}
