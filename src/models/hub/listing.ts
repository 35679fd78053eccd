/**
 * @file What the Hub says a model is: the commit of a revision, and the files of that commit with their sizes and
 * sums. Everything in it may be anybody's, so whatever becomes a path or a number is checked here.
 */
import { shown } from "../../network/index.ts";
import { isJsonObject } from "../checkpoint/json.ts";
import { askForJson, type Hub } from "./client.ts";
import { HubError } from "./errors.ts";
import type { ListedFile } from "./files.ts";
import { isCommit, MAIN, shownName } from "./name.ts";
import { shownEndpoint } from "./settings.ts";

/** Bytes of one answer. A repository of ten thousand files takes some two million. */
const LARGEST_LISTING = 32 * 2 ** 20;
/** Of a thousand files each. */
const MOST_PAGES = 20;

const SHA256 = /^[0-9a-f]{64}$/;
const GIT = /^[0-9a-f]{40}$/;

export async function commitOf(hub: Hub, name: string, revision = MAIN): Promise<string> {
  const subject = shownName({ name, revision: revision === MAIN ? undefined : revision });
  const { json } = await askForJson(hub, {
    path: `api/models/${name}/revision/${encodeURIComponent(revision)}`,
    subject,
    largest: LARGEST_LISTING,
  });
  const commit = isJsonObject(json) ? json.sha : undefined;
  if (typeof commit === "string" && isCommit(commit)) return commit;
  throw strange(hub, subject, "sha", commit, "a commit of 40 hexadecimal digits");
}

/** The files that lie in the repository itself, by name; folders in it hold nothing that we need. */
export async function filesOf(
  hub: Hub,
  name: string,
  commit: string,
): Promise<Map<string, ListedFile>> {
  const subject = shownName({ name, revision: commit });
  const files = new Map<string, ListedFile>();
  let path: string | undefined = `api/models/${name}/tree/${commit}`;
  for (let page = 0; path !== undefined; page++) {
    if (page >= MOST_PAGES)
      throw new HubError(
        "wrong",
        `${subject}: the list of its files has more than ${MOST_PAGES} pages; no model has so many.`,
      );
    const { json, headers } = await askForJson(hub, { path, subject, largest: LARGEST_LISTING });
    if (!Array.isArray(json)) throw strange(hub, subject, "the list of files", json, "a list");
    for (const entry of json) {
      const file = listedFile(hub, subject, entry);
      if (file) files.set(file.path, file);
    }
    path = nextPage(hub, headers);
  }
  return files;
}

/** Undefined for folders, and for whatever has a path: nothing of it is ever fetched. */
function listedFile(hub: Hub, subject: string, entry: unknown): ListedFile | undefined {
  if (!isJsonObject(entry) || entry.type !== "file") return undefined;
  const { path, size, oid, lfs } = entry;
  if (typeof path !== "string" || !/^\w[\w.-]{0,250}$/.test(path)) return undefined;
  const isLarge = isJsonObject(lfs);
  const [bytes, value] = isLarge ? [lfs.size, lfs.oid ?? lfs.sha256] : [size, oid];
  if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0)
    throw strange(hub, subject, `the size of ${path}`, bytes, "a number of bytes");
  if (typeof value !== "string" || !(isLarge ? SHA256 : GIT).test(value))
    throw strange(hub, subject, `the sum of ${path}`, value, isLarge ? "a SHA-256" : "git's");
  return { path, size: bytes, hash: { kind: isLarge ? "sha256" : "git", value } };
}

/** Only at the Hub itself, whoever wrote the header. */
function nextPage(hub: Hub, headers: Headers): string | undefined {
  const target = /<([^<>]+)>\s*;\s*rel="?next"?/.exec(headers.get("link") ?? "")?.[1];
  const base = `${shownEndpoint(hub.endpoint)}/`;
  if (target === undefined || !URL.canParse(target, base)) return undefined;
  const url = new URL(target, base);
  return url.origin === hub.endpoint.origin ? url.href : undefined;
}

function strange(hub: Hub, subject: string, what: string, got: unknown, expected: string) {
  return new HubError(
    "wrong",
    `${subject}: ${shownEndpoint(hub.endpoint)} says that ${what} is ${shown(got, 80)}, expected ${expected}. ` +
      "Is HF_ENDPOINT the address of a hub?",
  );
}
