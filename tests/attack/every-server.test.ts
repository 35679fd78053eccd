/**
 * @file The same attacks on every server that we have, as commands in processes of their own: `serve`, `env serve` in both
 * protocols, `dashboard` with and without play. A new server gets a row in SERVERS, a new attack one in ATTACKS.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawAnswer, sendRaw } from "../network/sockets.ts";
import { newModelFolder } from "../rollout/support.ts";
import { type RunningServer, startServer } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "openmanus-servers-"));
const KEY = "a-key-of-some-length";

interface Served {
  readonly words: () => readonly string[];
  /** What anybody may look at, and a request that changes something. */
  readonly path: string;
  readonly post: string;
  readonly body: string;
  /** Whether it asks for the key that it was given. */
  readonly isLocked: boolean;
  /** Where it has web sockets. */
  readonly socket?: string;
}

const SERVERS: Readonly<Record<string, Served>> = {
  serve: {
    words: () => ["serve", join(folder, "tiny"), "--api-key", "env:KEY"],
    path: "/v1/models",
    post: "/v1/chat/completions",
    body: '{"messages": [{"role": "user", "content": "go"}], "max_tokens": 2}',
    isLocked: true,
  },
  "env serve": {
    words: () => ["env", "serve", "maze", "--api-key", "env:KEY"],
    ...{ path: "/list_envs", post: "/create", body: "{}", isLocked: true },
  },
  "env serve, OpenEnv": {
    words: () => ["env", "serve", "maze", "--protocol", "openenv", "--api-key", "env:KEY"],
    ...{ path: "/health", post: "/reset", body: "{}", isLocked: true, socket: "/ws" },
  },
  dashboard: {
    words: () => ["dashboard", join(folder, "runs")],
    ...{ path: "/api/runs", post: "/api/runs/a/play", body: "{}", isLocked: false },
  },
};

const servers = new Map<string, RunningServer>();
beforeAll(async () => {
  newModelFolder(folder);
  mkdirSync(join(folder, "runs", "a"), { recursive: true });
  writeFileSync(join(folder, "runs", "a", "metrics.jsonl"), '{"step":1,"x":1}\n');
  writeFileSync(join(folder, "secret.txt"), "the secret of this machine");
  for (const [name, { words }] of Object.entries(SERVERS))
    servers.set(name, await startServer([...words(), "--port", "0"], { KEY }));
}, 180_000);
afterAll(() => {
  for (const { child } of servers.values()) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer's first line and text, over a socket: fetch would not send such requests. */
async function ask(name: string, asked: Asked, wait = 5000): Promise<RawAnswer> {
  const { port, url } = servers.get(name)!;
  const { isLocked } = SERVERS[name]!;
  const prefix = new URL(url).pathname.replace(/\/$/, "");
  const { method = "GET", path = `${prefix}${SERVERS[name]!.path}`, body = "" } = asked;
  const headers: Record<string, string> = {
    host: `127.0.0.1:${port}`,
    connection: "close",
    ...(isLocked && { authorization: `Bearer ${KEY}` }),
    ...(body !== "" && {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
    }),
    ...asked.headers,
  };
  const lines = Object.entries(headers)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}: ${value}`);
  return sendRaw(port, `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`, wait);
}

const works = async (name: string) => expect((await ask(name, {})).status).toBe(200);

/** Each is refused by each server. `statuses`: with what. */
const ATTACKS: Readonly<
  Record<string, { asked: (served: Served) => Asked; statuses: readonly number[] }>
> = {
  "a foreign Host (DNS rebinding)": {
    asked: () => ({ headers: { host: "evil.example" } }),
    statuses: [403, 421],
  },
  "no Host": { asked: () => ({ headers: { host: "" } }), statuses: [400, 403, 421] },
  "a page of another origin": {
    asked: ({ post, body }) => ({
      method: "POST",
      path: post,
      body,
      headers: { origin: "https://evil.example" },
    }),
    statuses: [403],
  },
  "a page without an origin (sandboxed)": {
    asked: ({ post, body }) => ({ method: "POST", path: post, body, headers: { origin: "null" } }),
    statuses: [403],
  },
  "a form's text/plain": {
    asked: ({ post, body }) => ({
      method: "POST",
      path: post,
      body,
      headers: { "content-type": "text/plain" },
    }),
    statuses: [405, 415],
  },
  "a body that says to be huge": {
    asked: ({ post }) => ({
      method: "POST",
      path: post,
      body: "{",
      headers: { "content-length": "99999999999" },
    }),
    statuses: [405, 413],
  },
  "two lengths": {
    asked: ({ post }) => ({
      method: "POST",
      path: post,
      body: "{}",
      headers: { "Content-Length": "1" },
    }),
    statuses: [400],
  },
  "a length and chunks (smuggling)": {
    asked: ({ post }) => ({
      method: "POST",
      path: post,
      body: "{}",
      headers: { "transfer-encoding": "chunked" },
    }),
    statuses: [400],
  },
  "headers without end": {
    asked: () => ({ headers: { "x-long": "x".repeat(100_000) } }),
    statuses: [431],
  },
  "a path out of its folder": {
    asked: () => ({ path: "/../../../../../../etc/passwd" }),
    statuses: [404],
  },
  "the same, written otherwise": {
    asked: () => ({ path: "/..%2f..%2f..%2f..%2fetc%2fpasswd" }),
    statuses: [404],
  },
  "a path with a zero": { asked: () => ({ path: "/index.html%00.png" }), statuses: [400, 404] },
  "a percent that means nothing": { asked: () => ({ path: "/%ff%" }), statuses: [400, 404] },
  "a method that nobody knows": {
    asked: () => ({ method: "TRACE" }),
    statuses: [400, 404, 405, 501],
  },
};

describe.each(Object.keys(SERVERS))("%s", (name) => {
  const served = SERVERS[name]!;

  it("listens on this machine alone", async () => {
    const { url, port } = servers.get(name)!;
    expect(new URL(url).hostname).toBe("127.0.0.1");
    const hex = port.toString(16).toUpperCase().padStart(4, "0");
    const listening = readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .filter((line) => / 0A /.test(line) && line.includes(`:${hex} `));
    expect(listening).toHaveLength(1);
    expect(listening[0]).toContain(`0100007F:${hex}`);
  });

  it.each(Object.entries(ATTACKS))("%s", async (_, { asked, statuses }) => {
    const { status, text } = await ask(name, asked(served));
    expect(statuses, text.slice(0, 300)).toContain(status);
    expect(text).not.toMatch(
      /root:|the secret of this machine|\.ts:\d+|access-control-allow-origin/i,
    );
    await works(name);
  });

  it.runIf(served.isLocked)("no key, a wrong one, a longer one, another scheme", async () => {
    for (const given of [
      "",
      `Bearer ${KEY}x`,
      `Bearer ${KEY.slice(0, -1)}`,
      `Basic ${KEY}`,
      "Bearer",
    ])
      expect((await ask(name, { headers: { authorization: given } })).status, given).toBe(401);
  });

  it.runIf(served.socket !== undefined)(
    "a web socket of a foreign page, or without a key",
    async () => {
      const upgrade = {
        ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      };
      const open = (headers: Record<string, string>) =>
        ask(name, { path: served.socket!, headers: { ...upgrade, ...headers } });
      expect((await open({ origin: "https://evil.example" })).status).toBe(403);
      expect((await open({ host: "evil.example" })).status).toBe(403);
      expect((await open({ authorization: "" })).status).toBe(401);
    },
  );

  it("a body that comes too slowly is not waited for, and others are served", async () => {
    const asked = { method: "POST", path: served.post, body: "{" };
    const slow = ask(name, { ...asked, headers: { "content-length": "50" } }, 1500);
    await works(name);
    // Nothing, or a refusal; never an answer.
    const { status } = await slow;
    expect(Number.isNaN(status) || status >= 400).toBe(true);
    await works(name);
  });
});
