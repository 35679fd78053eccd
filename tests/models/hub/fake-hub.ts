/**
 * @file A hub on loopback that speaks the Hub's protocol, as huggingface_hub uses it too: commits and trees, files
 * with ranges and tags, large files from another host (another port), creation, pre-upload, LFS and commits.
 * Whatever goes wrong on the way is a `fault` that a test puts before it.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { answerUpload, type Uploads } from "./fake-uploads.ts";

export interface FakeFile {
  readonly bytes: Buffer;
  /** Kept at the other host, by its SHA-256. */
  readonly isLarge: boolean;
}

export interface Seen {
  readonly host: "hub" | "store";
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** True: it has answered, in its own way. */
export type Fault = (request: IncomingMessage, response: ServerResponse, seen: Seen) => boolean;

export interface Repository {
  readonly revisions: Map<string, string>;
  /** By commit. */
  readonly trees: Map<string, Map<string, FakeFile>>;
  isPrivate: boolean;
}

export interface FakeHub {
  readonly url: string;
  /** Where large files are. */
  readonly store: string;
  readonly seen: Seen[];
  readonly repositories: Map<string, Repository>;
  readonly uploads: Uploads;
  fault: Fault;
  /** Who may see what is private, and write. */
  token: string | undefined;
  /** Adds a commit to a branch. */
  add(name: string, files: Readonly<Record<string, Buffer | string>>, branch?: string): string;
  close(): Promise<void>;
}

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
export const gitSum = (bytes: Buffer): string =>
  createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

/** As the Hub's own rules have it. */
const isLargeName = (path: string): boolean => /\.safetensors$/.test(path);

export async function fakeHub(): Promise<FakeHub> {
  const seen: Seen[] = [];
  const repositories = new Map<string, Repository>();
  const servers: Server[] = [];
  const listening = async (host: Seen["host"], answer: Answering): Promise<string> => {
    const server = createServer((request, response) => {
      response.on("error", () => {});
      const path = decodeURIComponent(new URL(request.url!, "http://x").pathname);
      const one = { host, method: request.method!, path, headers: request.headers };
      seen.push(one);
      if (!hub.fault(request, response, one)) void answer(request, response, path);
    });
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const uploads: Uploads = { objects: new Map(), parts: new Map(), partSize: undefined };
  const hub: FakeHub = {
    ...{ url: "", store: "", seen, repositories, uploads, token: undefined },
    fault: () => false,
    add(name, files, branch = "main") {
      const repository: Repository = repositories.get(name) ?? {
        ...{ revisions: new Map(), trees: new Map(), isPrivate: false },
      };
      repositories.set(name, repository);
      const before = repository.trees.get(repository.revisions.get(branch) ?? "");
      const tree = new Map(before);
      for (const [path, content] of Object.entries(files))
        tree.set(path, { bytes: Buffer.from(content), isLarge: isLargeName(path) });
      const facts = [...tree].map(([path, { bytes }]) => `${path} ${gitSum(bytes)}`);
      const commit = createHash("sha1").update(facts.sort().join("\n")).digest("hex");
      repository.trees.set(commit, tree);
      repository.revisions.set(branch, commit);
      return commit;
    },
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
  const store = await listening("store", (request, response, path) => {
    if (request.method !== "GET") return answerUpload(hub, request, response, path);
    const file = [...repositories.values()]
      .flatMap(({ trees }) => [...trees.values()].flatMap((tree) => [...tree.values()]))
      .find(({ bytes, isLarge }) => isLarge && path === `/${sha256(bytes)}`);
    if (file) sendFile(request, response, file.bytes, { etag: '"of the store"' });
    else response.writeHead(404).end();
  });
  const url = await listening("hub", (request, response, path) => {
    if (request.method === "GET" || request.method === "HEAD")
      answerRead(hub, request, response, path);
    else return answerUpload(hub, request, response, path);
  });
  return Object.assign(hub, { url, store });
}

type Answering = (request: IncomingMessage, response: ServerResponse, path: string) => unknown;

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

export function sendError(response: ServerResponse, status: number, code: string, text = ""): void {
  response.writeHead(status, { "x-error-code": code, ...(text && { "x-error-message": text }) });
  response.end(JSON.stringify({ error: text || code }));
}

function answerRead(
  hub: FakeHub,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): unknown {
  const [, name = "", kind, rest = ""] =
    /^(?:\/api\/models)?\/([^/]+\/[^/]+)\/(revision|tree|resolve)\/(.+)$/.exec(path) ?? [];
  const repository = hub.repositories.get(name);
  const mayRead =
    hub.token !== undefined && request.headers.authorization === `Bearer ${hub.token}`;
  if (!repository || (repository.isPrivate && !mayRead)) {
    sendError(response, mayRead ? 404 : 401, "RepoNotFound", "Repository not found");
    return;
  }
  const [revision = "", ...more] = kind === "revision" ? [rest] : rest.split("/");
  const commit = repository.revisions.get(revision) ?? revision;
  const tree = repository.trees.get(commit);
  if (!tree) sendError(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
  else if (kind === "revision")
    sendJson(response, {
      ...{ id: name, modelId: name, sha: commit, private: repository.isPrivate, gated: false },
      ...{ tags: [], downloads: 0, siblings: [...tree.keys()].map((rfilename) => ({ rfilename })) },
    });
  else if (kind === "tree") sendJson(response, [...tree].map(treeEntry));
  else sendResolved(hub, request, response, commit, tree.get(more.join("/")));
}

function treeEntry([path, { bytes, isLarge }]: [string, FakeFile]) {
  if (!isLarge) return { type: "file", oid: gitSum(bytes), size: bytes.length, path };
  const lfs = { oid: sha256(bytes), size: bytes.length, pointerSize: 130 };
  return {
    type: "file",
    oid: gitSum(Buffer.from(`pointer ${lfs.oid}`)),
    size: bytes.length,
    lfs,
    path,
  };
}

function sendResolved(
  hub: FakeHub,
  request: IncomingMessage,
  response: ServerResponse,
  commit: string,
  file: FakeFile | undefined,
): unknown {
  response.setHeader("x-repo-commit", commit);
  if (!file) return sendError(response, 404, "EntryNotFound", "Entry not found");
  const { bytes, isLarge } = file;
  if (!isLarge) return sendFile(request, response, bytes, { etag: `"${gitSum(bytes)}"` });
  const sum = sha256(bytes);
  response.writeHead(302, {
    ...{ location: `${hub.store}/${sum}?Signature=secret`, "x-linked-size": bytes.length },
    ...{ "x-linked-etag": `"${sum}"`, etag: `"${sum}"` },
  });
  response.end();
}

export function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  if (start >= bytes.length && start > 0) return void response.writeHead(416).end();
  const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
  response.writeHead(start > 0 ? 206 : 200, {
    ...headers,
    ...(start > 0 && { "content-range": range }),
    "content-length": bytes.length - start,
  });
  response.end(request.method === "HEAD" ? undefined : bytes.subarray(start));
}
