/**
 * @file The half of the fake hub that takes models: creation, pre-upload, LFS (one piece or several), commits.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type FakeHub, sendError, sendJson, sha256 } from "./fake-hub.ts";

export interface Uploads {
  /** Large files that came, by their SHA-256. */
  readonly objects: Map<string, Buffer>;
  readonly parts: Map<string, Buffer>;
  /** Set: large files are asked for in parts of so many bytes. */
  partSize: number | undefined;
}

interface CommitLine {
  readonly key: string;
  readonly value: Readonly<Record<string, string>>;
}

export async function answerUpload(
  hub: FakeHub,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  if (path.startsWith("/put/")) return put(hub, request, response, path.slice(5), body);
  if (path.startsWith("/complete/")) return complete(hub, response, path.slice(10), body);
  if (hub.token === undefined || request.headers.authorization !== `Bearer ${hub.token}`)
    return sendError(response, 401, "", "Invalid username or password.");
  const json = (): Record<string, unknown> =>
    JSON.parse(body.toString()) as Record<string, unknown>;
  if (path === "/api/repos/create") return create(hub, response, json());
  const [, name = "", what, revision = ""] =
    /^\/api\/models\/([^/]+\/[^/]+)\/(preupload|commit|branch)\/(.+)$/.exec(path) ?? [];
  const [, large] = /^\/([^/]+\/[^/]+)\.git\/info\/lfs\/objects\/batch$/.exec(path) ?? [];
  const repository = hub.repositories.get(large ?? name);
  if (!repository) return sendError(response, 404, "RepoNotFound", "Repository not found");
  if (large) return batch(hub, response, json());
  if (what === "branch") {
    if (repository.revisions.has(revision)) return sendError(response, 409, "", "exists");
    repository.revisions.set(revision, repository.revisions.get("main") ?? "");
    return sendJson(response, {}, 201);
  }
  if (what === "preupload") {
    const { files } = json() as { files: { path: string }[] };
    return sendJson(response, {
      files: files.map(({ path: file }) => ({
        ...{ path: file, shouldIgnore: false },
        uploadMode: /\.safetensors$/.test(file) ? "lfs" : "regular",
      })),
    });
  }
  if (what === "commit") return commit(hub, response, name, revision, body);
  sendError(response, 404, "", "no such place");
}

function create(hub: FakeHub, response: ServerResponse, json: Record<string, unknown>): unknown {
  const name = `${String(json.organization)}/${String(json.name)}`;
  const url = `${hub.url}/${name}`;
  if (hub.repositories.has(name))
    return sendJson(response, { error: "You already created this model repo", url }, 409);
  hub.add(name, { ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n" });
  hub.repositories.get(name)!.isPrivate = json.private === true;
  sendJson(response, { url, name, id: name });
}

function batch(hub: FakeHub, response: ServerResponse, json: Record<string, unknown>): unknown {
  const objects = json.objects as { oid: string; size: number }[];
  const { partSize } = hub.uploads;
  return sendJson(response, {
    transfer: partSize === undefined ? "basic" : "multipart",
    objects: objects.map(({ oid, size }) => {
      if (hub.uploads.objects.has(oid)) return { oid, size };
      const count = Math.ceil(size / (partSize ?? size));
      const numbers = Array.from({ length: count }, (_, i) => String(i + 1).padStart(5, "0"));
      const upload =
        partSize === undefined
          ? { href: `${hub.store}/put/${oid}` }
          : {
              href: `${hub.store}/complete/${oid}`,
              header: {
                chunk_size: String(partSize),
                ...Object.fromEntries(numbers.map((n) => [n, `${hub.store}/put/${oid}-${n}`])),
              },
            };
      return { oid, size, actions: { upload } };
    }),
  });
}

/** A store takes nothing without its length, and knows no token. */
function put(
  hub: FakeHub,
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  body: Buffer,
): unknown {
  if (request.headers.authorization !== undefined) return void response.writeHead(400).end();
  if (Number(request.headers["content-length"]) !== body.length)
    return void response.writeHead(411).end();
  if (name.includes("-")) hub.uploads.parts.set(name, body);
  else if (sha256(body) !== name) return void response.writeHead(400).end();
  else hub.uploads.objects.set(name, body);
  response.writeHead(200, { etag: `"${sha256(body).slice(0, 32)}"` }).end();
}

function complete(hub: FakeHub, response: ServerResponse, oid: string, body: Buffer): unknown {
  const { parts } = JSON.parse(body.toString()) as {
    parts: { partNumber: number; etag: string }[];
  };
  const whole = parts.map(({ partNumber, etag }) => {
    const part = hub.uploads.parts.get(`${oid}-${String(partNumber).padStart(5, "0")}`);
    return part && etag.includes(sha256(part).slice(0, 32)) ? part : Buffer.alloc(0);
  });
  const bytes = Buffer.concat(whole);
  if (sha256(bytes) !== oid) return void response.writeHead(400).end();
  hub.uploads.objects.set(oid, bytes);
  response.writeHead(200).end("{}");
}

function commit(
  hub: FakeHub,
  response: ServerResponse,
  name: string,
  revision: string,
  body: Buffer,
): unknown {
  const lines = body.toString().split("\n").filter(Boolean);
  const files: Record<string, Buffer> = {};
  for (const { key, value } of lines.map((line) => JSON.parse(line) as CommitLine)) {
    if (key === "file") files[value.path!] = Buffer.from(value.content!, "base64");
    if (key !== "lfsFile") continue;
    const object = hub.uploads.objects.get(value.oid!);
    if (!object) {
      sendError(response, 400, "", `${value.oid} was not uploaded`);
      return;
    }
    files[value.path!] = object;
  }
  const oid = hub.add(name, files, revision);
  sendJson(response, {
    ...{ success: true, commitOid: oid, commitUrl: `${hub.url}/${name}/commit/${oid}` },
    hookOutput: "",
  });
}
