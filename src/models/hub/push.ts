/**
 * @file A model to the Hub, as one commit: all of it is there afterwards, or nothing of it is. Small files travel
 * in the commit, large ones before it (lfs.ts); which is which, the Hub says.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, openAsBlob, statSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "../checkpoint/json.ts";
import { INDEX_FILE, SINGLE_FILE } from "../safetensors/checkpoint.ts";
import { ask, askForJson, type Hub, type HubLimits, USUAL_LIMITS } from "./client.ts";
import { HubError } from "./errors.ts";
import type { FetchOptions } from "./fetch.ts";
import { SMALL_FILES, shardsIn } from "./files.ts";
import { type LargeFile, uploadLarge } from "./lfs.ts";
import { commitOf } from "./listing.ts";
import { hubNameIn, isCommit, MAIN } from "./name.ts";
import { hubSettings, isOffline, shownEndpoint } from "./settings.ts";

export interface PushOptions extends FetchOptions {
  /** Whether only its owners see it, where it is new. Default false. */
  readonly isPrivate?: boolean;
  /** The branch; one that is not there is made. Default: main. */
  readonly revision?: string | undefined;
  /** More files, by name: a model card (README.md). They win over those of the folder. */
  readonly texts?: Readonly<Record<string, string>>;
  /** What the commit says it is. */
  readonly summary?: string;
}

export interface PushedModel {
  /** `org/name@COMMIT`. */
  readonly model: string;
  /** Its page. */
  readonly url: string;
  /** Bytes of its files, and of those that the Hub did not have yet. */
  readonly bytes: number;
  readonly sent: number;
}

/** Bytes of an answer; none of them has much to say. */
const LARGEST_ANSWER = 2 ** 22;

/** Pushes the model of a folder to `org/name`, which is made where it is not there. Throws HubError. */
export async function pushModel(
  folder: string,
  name: string,
  options: PushOptions = {},
): Promise<PushedModel> {
  const { variables = process.env, signal, limits, isPrivate = false, revision = MAIN } = options;
  const parsed = hubNameIn(`${name}@${revision}`);
  if (!parsed || parsed.name !== name || isCommit(revision))
    throw new HubError(
      "wrong",
      `"${name}" with the branch "${revision}" is no place on the Hub for a model: expected org/name (yours, or of an ` +
        "organisation that you write for) and the name of a branch.",
    );
  if (isOffline(variables))
    throw new HubError("refused", "nothing is pushed while HF_HUB_OFFLINE is set. Unset it.");
  const hub: Hub = { ...hubSettings(variables), limits: patience(limits), signal };
  if (hub.token === undefined)
    throw new HubError(
      "refused",
      `pushing needs a token that may write: make one at ${shownEndpoint(hub.endpoint)}/settings/tokens, and put it ` +
        "into the variable HF_TOKEN.",
    );
  const files = await filesToPush(folder, options.texts ?? {});
  await createRepository(hub, name, isPrivate);
  if (revision !== MAIN) await createBranch(hub, name, revision);
  const large = await largeOnes(hub, name, revision, files);
  const sent = await uploadLarge(hub, name, revision, large, options);
  const commit = await commitAll(hub, name, revision, files, large, options.summary);
  const bytes = files.reduce((sum, { blob }) => sum + blob.size, 0);
  const small = bytes - large.reduce((sum, { blob }) => sum + blob.size, 0);
  const url = `${shownEndpoint(hub.endpoint)}/${name}`;
  return { model: `${name}@${commit}`, url, bytes, sent: sent + small };
}

function patience(limits: Partial<HubLimits> | undefined): HubLimits {
  return { ...USUAL_LIMITS, ...limits };
}

interface PushedFile {
  readonly path: string;
  readonly blob: Blob;
  /** Where it is, unless it is a text of ours. */
  readonly place: string | undefined;
}

/** A model's files, and nothing else that may lie in the folder. */
async function filesToPush(
  folder: string,
  texts: Readonly<Record<string, string>>,
): Promise<PushedFile[]> {
  const has = (path: string): boolean =>
    statSync(join(folder, path), { throwIfNoEntry: false })?.isFile() ?? false;
  const weights = has(SINGLE_FILE)
    ? [SINGLE_FILE]
    : existsSync(join(folder, INDEX_FILE))
      ? [INDEX_FILE, ...shardsIn(join(folder, INDEX_FILE))]
      : [];
  if (!has("config.json") || weights.length === 0 || !weights.every(has))
    throw new HubError(
      "wrong",
      `there is no whole model in "${folder}" (config.json, ${SINGLE_FILE} or its shards); nothing was pushed.`,
    );
  const names = [...SMALL_FILES.filter(has), ...weights].filter(
    (path) => texts[path] === undefined,
  );
  const found = names.map(async (path): Promise<PushedFile> => {
    const place = join(folder, path);
    return { path, place, blob: await openAsBlob(place) };
  });
  const written = Object.entries(texts).map(
    ([path, text]): PushedFile => ({ path, place: undefined, blob: new Blob([text]) }),
  );
  return [...written, ...(await Promise.all(found))];
}

/** One that is there already stays as it is. A token may be one that can write to it, but make none. */
async function createRepository(hub: Hub, name: string, isPrivate: boolean): Promise<void> {
  const [organization, own] = name.split("/");
  try {
    await post(hub, name, "api/repos/create", { name: own, organization, private: isPrivate });
  } catch (error) {
    if (!(error instanceof HubError) || error.kind !== "refused") throw error;
    await commitOf(hub, name).catch(() => {
      throw error;
    });
  }
}

async function createBranch(hub: Hub, name: string, branch: string): Promise<void> {
  await post(hub, name, `api/models/${name}/branch/${encodeURIComponent(branch)}`, {});
}

const IS_THERE = 409;

async function post(hub: Hub, subject: string, path: string, json: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const { json: answer } = await askForJson(hub, {
    ...{ path, subject, headers, method: "POST", body: JSON.stringify(json) },
    ...{ largest: LARGEST_ANSWER, accepts: [IS_THERE] },
  });
  return answer;
}

/** Bytes of a file by which the Hub sees what it is. */
const SAMPLE = 512;

/** Which files are to be sent before the commit, with their sums. */
async function largeOnes(
  hub: Hub,
  name: string,
  revision: string,
  files: readonly PushedFile[],
): Promise<LargeFile[]> {
  const asked = files.map(async ({ path, blob }) => ({
    path,
    size: blob.size,
    sample: Buffer.from(await blob.slice(0, SAMPLE).arrayBuffer()).toString("base64"),
  }));
  const place = `api/models/${name}/preupload/${encodeURIComponent(revision)}`;
  const answer = await post(hub, name, place, { files: await Promise.all(asked) });
  const told = isJsonObject(answer) && Array.isArray(answer.files) ? answer.files : [];
  const modes = new Map(
    told.filter(isJsonObject).map(({ path, uploadMode }) => [path, uploadMode]),
  );
  const large: LargeFile[] = [];
  for (const { path, blob, place: file } of files) {
    const mode = modes.get(path);
    if (mode !== "lfs" && mode !== "regular")
      throw new HubError(
        "wrong",
        `${name}: the Hub does not say how it wants ${path}. Nothing was pushed; is HF_ENDPOINT the address of a hub?`,
      );
    if (mode === "lfs") large.push({ path, blob, sha256: await sumOf(blob, file) });
  }
  return large;
}

async function sumOf(blob: Blob, file: string | undefined): Promise<string> {
  const sum = createHash("sha256");
  if (file === undefined) sum.update(Buffer.from(await blob.arrayBuffer()));
  else for await (const bytes of createReadStream(file)) sum.update(bytes as Uint8Array);
  return sum.digest("hex");
}

/** Asked for once: whether one that was not answered has been made, nobody knows. */
async function commitAll(
  hub: Hub,
  name: string,
  revision: string,
  files: readonly PushedFile[],
  large: readonly LargeFile[],
  summary = "A model, pushed by openmanus-rl",
): Promise<string> {
  const sums = new Map(large.map(({ path, sha256 }) => [path, sha256]));
  const lines: object[] = [{ key: "header", value: { summary, description: "" } }];
  for (const { path, blob } of files) {
    const oid = sums.get(path);
    if (oid !== undefined) {
      lines.push({ key: "lfsFile", value: { path, algo: "sha256", oid, size: blob.size } });
      continue;
    }
    const content = Buffer.from(await blob.arrayBuffer()).toString("base64");
    lines.push({ key: "file", value: { path, content, encoding: "base64" } });
  }
  const request = {
    path: `api/models/${name}/commit/${encodeURIComponent(revision)}`,
    ...{ subject: name, method: "POST", headers: { "content-type": "application/x-ndjson" } },
    body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    limits: { time: 10 * hub.limits.time, size: LARGEST_ANSWER },
  };
  const text = await ask(hub, request, (answer) => answer.text());
  const commit = commitIn(text);
  if (commit !== undefined) return commit;
  throw new HubError(
    "wrong",
    `${name}: the Hub took the files and did not say which commit they are. See its page, ` +
      `${shownEndpoint(hub.endpoint)}/${name}.`,
  );
}

function commitIn(text: string): string | undefined {
  try {
    const { commitOid } = JSON.parse(text) as { commitOid?: unknown };
    return typeof commitOid === "string" && isCommit(commitOid) ? commitOid : undefined;
  } catch {
    return undefined;
  }
}
