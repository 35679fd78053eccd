/**
 * @file A server of ours: who may ask it, what a request may cost, and that nothing takes it down.
 */
import { connect } from "node:net";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Handler,
  NetworkError,
  type OpenServer,
  openServer,
  type ServerOptions,
} from "../../src/network/index.ts";
import { drip, flood, rawRequest, sendRaw } from "./sockets.ts";

const echo: Handler = async (request) =>
  Response.json({
    method: request.method,
    path: new URL(request.url).pathname,
    body: request.body ? await request.text() : null,
  });

async function serving(options: Partial<ServerOptions> = {}): Promise<OpenServer> {
  const server = await openServer({ handler: echo, ...options });
  onTestFinished(() => server.close());
  return server;
}

const JSON_TYPE = { "content-type": "application/json" };

describe("the gate", () => {
  type Case = [what: string, status: number, line: string, headers?: object, body?: string];
  const OWN: Case[] = [
    ["a plain request", 200, "GET /a"],
    ["localhost", 200, "GET /", { host: "localhost:PORT" }],
    ["LOCALHOST", 200, "GET /", { host: "LOCALHOST:PORT" }],
    ["version 6 of it", 200, "GET /", { host: "[::1]:PORT" }],
    ["version 6 of it, written out", 200, "GET /", { host: "[0:0:0:0:0:0:0:1]:PORT" }],
    ["its own page", 200, "GET /", { origin: "http://127.0.0.1:PORT" }],
    ["its own page, as browsers say", 200, "GET /", { "sec-fetch-site": "same-origin" }],
    ["a person who typed the address", 200, "GET /", { "sec-fetch-site": "none" }],
    ["JSON", 200, "POST /", JSON_TYPE, "{}"],
    [
      "JSON with a charset",
      200,
      "POST /",
      { "content-type": "Application/JSON; charset=utf-8" },
      "{}",
    ],
    ["no body at all", 200, "POST /", { "content-length": "0" }],
    ["no body and no word about it", 200, "POST /"],
    ["a deletion", 200, "DELETE /x"],
    ["bad percents", 200, "GET /%zz%"],
    ["two slashes", 200, "GET //evil.example/x"],
    ["dots", 200, "GET /../../etc/passwd"],
  ];
  const FOREIGN: Case[] = [
    ["another name", 403, "GET /", { host: "evil.example" }],
    ["another name with its port", 403, "GET /", { host: "evil.example:PORT" }],
    ["a name that begins like its own", 403, "GET /", { host: "127.0.0.1.evil.example:PORT" }],
    ["a name around its own", 403, "GET /", { host: "127.0.0.1:PORT@evil.example" }],
    ["another port", 403, "GET /", { host: "127.0.0.1:1" }],
    ["no port", 403, "GET /", { host: "127.0.0.1" }],
    ["another address", 403, "GET /", { host: "10.0.0.1:PORT" }],
    ["a number for an address", 403, "GET /", { host: "2130706433:PORT" }],
    ["an empty name", 403, "GET /", { host: "" }],
    ["a page elsewhere", 403, "GET /", { origin: "https://evil.example" }],
    ["a page on another port", 403, "GET /", { origin: "http://127.0.0.1:1" }],
    ["the same host by another name", 403, "GET /", { origin: "http://localhost:PORT" }],
    ["its own page, over TLS", 403, "GET /", { origin: "https://127.0.0.1:PORT" }],
    ["a page without an origin", 403, "GET /", { origin: "null" }],
    ["another site", 403, "GET /", { "sec-fetch-site": "cross-site" }],
    ["a neighbour of its site", 403, "GET /", { "sec-fetch-site": "same-site" }],
    ["a page's JSON", 403, "POST /", { ...JSON_TYPE, origin: "https://evil.example" }, "{}"],
    [
      "a page that asks before it sends",
      403,
      "OPTIONS /",
      { origin: "https://evil.example", "access-control-request-method": "POST" },
    ],
    ["plain text", 415, "POST /", { "content-type": "text/plain" }, "{}"],
    ["a form", 415, "POST /", { "content-type": "application/x-www-form-urlencoded" }, "a=1"],
    [
      "a form in parts",
      415,
      "POST /",
      { "content-type": "multipart/form-data; boundary=x" },
      "--x",
    ],
    ["no type", 415, "POST /", {}, "{}"],
    ["JSON among others", 415, "POST /", { "content-type": "text/plain;application/json" }, "{}"],
    ["almost JSON", 415, "POST /", { "content-type": "application/jsonp" }, "{}"],
    ["a PUT of plain text", 415, "PUT /", { "content-type": "text/plain" }, "{}"],
    ["a DELETE with a form", 415, "DELETE /", { "content-type": "text/plain" }, "x"],
    ["packed JSON", 415, "POST /", { ...JSON_TYPE, "content-encoding": "gzip" }, "{}"],
    ["another method", 501, "PROPFIND /"],
    ["TRACE", 501, "TRACE /"],
    ["a target with a host", 400, "GET http://evil.example/"],
    ["a target that is a star", 400, "OPTIONS *"],
  ];
  it.each([...OWN, ...FOREIGN])("%s: %d", async (_, status, line, headers = {}, body = "") => {
    const { port } = await serving();
    const withPort = Object.entries(headers as Record<string, string>).map(([name, value]) => [
      name,
      value.replaceAll("PORT", String(port)),
    ]);
    const found = await sendRaw(port, rawRequest(port, line, Object.fromEntries(withPort), body));
    expect(found.status).toBe(status);
    // Not a word that a browser would take for a permission.
    expect(found.text.toLowerCase()).not.toContain("access-control");
    if (status >= 400) expect(found.text).toMatch(/\{"detail":"[^"]+\."\}$/s);
  });

  it.each([
    ["no Host", "GET / HTTP/1.1\r\nconnection: close\r\n\r\n", 403],
    ["HTTP/1.0 without one", "GET / HTTP/1.0\r\n\r\n", 403],
    [
      "two Hosts",
      "GET / HTTP/1.1\r\nhost: OWN\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
      400,
    ],
    [
      "two origins",
      "GET / HTTP/1.1\r\nhost: OWN\r\norigin: http://OWN\r\norigin: https://evil.example\r\nconnection: close\r\n\r\n",
      400,
    ],
    [
      "two types",
      "POST / HTTP/1.1\r\nhost: OWN\r\ncontent-type: application/json\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
      400,
    ],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nhost: OWN\r\ncontent-type: application/json\r\ncontent-length: 2\r\ncontent-length: 30\r\n\r\n{}",
      400,
    ],
    [
      "a length and chunks",
      "POST / HTTP/1.1\r\nhost: OWN\r\ncontent-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["a header on two lines", "GET / HTTP/1.1\r\nhost: OWN\r\nx: a\r\n b\r\n\r\n", 400],
    ["a method in lower case", "get / HTTP/1.1\r\nhost: OWN\r\n\r\n", 400],
    ["a line feed alone", "GET / HTTP/1.1\nhost: OWN\n\n", 400],
    ["no HTTP", "\0\0\0\0hello", 400],
    ["a request for TLS", "\u0016\u0003\u0001\u0002\0\u0001\0", 400],
    ["headers without end", `GET / HTTP/1.1\r\nhost: OWN\r\nx: ${"y".repeat(30_000)}\r\n\r\n`, 431],
  ])("%s", async (_, text, status) => {
    const { port } = await serving();
    const found = await sendRaw(port, text.replaceAll("OWN", `127.0.0.1:${port}`));
    expect(found.status).toBe(status);
    expect(found.ended).toBe(true);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });

  it("lets in further names and pages that are named, and answers their questions", async () => {
    const { port } = await serving({
      allowedHosts: ["proxy.example", "localhost:8080"],
      allowedOrigins: ["https://board.example"],
    });
    const status = async (headers: Record<string, string>, line = "GET /") =>
      (await sendRaw(port, rawRequest(port, line, headers))).status;
    expect(await status({ host: "proxy.example" })).toBe(200);
    expect(await status({ host: "proxy.example:443" })).toBe(200);
    expect(await status({ host: "localhost:8080" })).toBe(200);
    expect(await status({ host: "localhost:8081" })).toBe(403);
    const page = { origin: "https://board.example", "sec-fetch-site": "cross-site" };
    const answer = await sendRaw(port, rawRequest(port, "GET /", page));
    expect(answer.text).toContain("access-control-allow-origin: https://board.example");
    const question = { ...page, "access-control-request-method": "POST" };
    expect((await sendRaw(port, rawRequest(port, "OPTIONS /", question))).text).toMatch(
      /^HTTP\/1.1 204.*access-control-allow-headers: authorization, content-type/s,
    );
    expect(await status({ origin: "https://board.example.evil" })).toBe(403);
  });

  it("asks for a key, and takes no other", async () => {
    const { port } = await serving({ apiKey: "right-key" });
    const status = async (authorization?: string) =>
      (await sendRaw(port, rawRequest(port, "GET /", authorization ? { authorization } : {})))
        .status;
    expect(await status()).toBe(401);
    expect(await status("Bearer wrong-key")).toBe(401);
    expect(await status("Bearer right-ke")).toBe(401);
    expect(await status("Basic right-key")).toBe(401);
    expect(await status("Bearer right-key")).toBe(200);
    expect(await status("bearer  right-key")).toBe(200);
    const { text } = await sendRaw(port, rawRequest(port, "GET /"));
    expect(text).toMatch(/www-authenticate: Bearer/);
    expect(text).not.toContain("right-key");
  });
});

describe("where it listens", () => {
  it("is this machine alone, unless told otherwise; beyond it, it says so", async () => {
    const said: string[] = [];
    const say = (sentence: string) => void said.push(sentence);
    const here = await serving({ say });
    expect(here.url).toBe(`http://127.0.0.1:${here.port}`);
    await serving({ say, host: "localhost" });
    await serving({ say, host: "0.0.0.0", apiKey: "k" });
    expect(said).toEqual([]);
    const { port } = await serving({ say, host: "0.0.0.0" });
    expect(said).toEqual([
      expect.stringMatching(/other machines can reach 0\.0\.0\.0:\d+, and no key/),
    ]);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `${hostname()}:${port}`])
      expect((await sendRaw(port, rawRequest(port, "GET /", { host }))).status).toBe(200);
    const host = `evil.example:${port}`;
    expect((await sendRaw(port, rawRequest(port, "GET /", { host }))).status).toBe(403);
  });

  it.each<[string, Partial<ServerOptions>, RegExp]>([
    ["a port that is none", { port: 70_000 }, /from 0 to 65535, not 70000/],
    ["an address that is elsewhere", { host: "192.0.2.1" }, /this machine has no such address/],
    ["a name that is none", { allowedHosts: ["http://x"] }, /"http:\/\/x" is no name of a host/],
    ["every origin", { allowedOrigins: ["*"] }, /"\*" is no origin/],
    ["an address for an origin", { allowedOrigins: ["https://x.example/"] }, /is no origin/],
    ["no time at all", { answerSeconds: 0 }, /answerSeconds must be a number above 0/],
    ["more time than there is", { bodySeconds: 1e9 }, /bodySeconds must be .* up to 2147483/],
    ["no room", { largestBody: Number.NaN }, /largestBody must be a number above 0/],
    ["an empty key", { apiKey: "" }, /the key in apiKey must be/],
    ["a key of two lines", { apiKey: "a\nb" }, /the key in apiKey must be/],
  ])("%s is refused", async (_, options, message) => {
    const error = await serving(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NetworkError);
    expect((error as Error).message).toMatch(message);
  });

  it("a port that is taken is refused", async () => {
    const { port } = await serving();
    await expect(serving({ port })).rejects.toThrow(/the port is taken; choose another/);
  });
});

describe("streams", () => {
  it("go both ways as they come", async () => {
    const server = await serving({
      async handler(request) {
        const decoder = new TextDecoder();
        const reader = (request.body as ReadableStream<Uint8Array>).getReader();
        return new Response(
          new ReadableStream({
            async pull(controller) {
              const { done, value } = await reader.read();
              if (done) return controller.close();
              controller.enqueue(Buffer.from(decoder.decode(value).toUpperCase()));
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        );
      },
    });
    const socket = connect(server.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let received = "";
    socket.on("data", (piece: Buffer) => {
      received += piece.toString();
    });
    socket.write(
      `POST / HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    for (const word of ["first", "second"]) {
      socket.write(`${word.length.toString(16)}\r\n${word}\r\n`);
      await expect.poll(() => received, { timeout: 5000 }).toContain(word.toUpperCase());
    }
    socket.write("0\r\n\r\n");
    await expect.poll(() => received, { timeout: 5000 }).toMatch(/\r\n0\r\n\r\n$/);
  });

  it("send their headers before anything else, and end when the client goes away", async () => {
    let aborted = false;
    let cancelled = false;
    const server = await serving({
      handler(request) {
        request.signal.addEventListener("abort", () => {
          aborted = true;
        });
        const body = new ReadableStream({
          cancel() {
            cancelled = true;
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const leaving = new AbortController();
    const response = await fetch(server.url, { signal: leaving.signal });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(aborted).toBe(false);
    leaving.abort();
    await expect.poll(() => aborted && cancelled, { timeout: 5000 }).toBe(true);
  });

  it("that break off do not look whole", async () => {
    const server = await serving({
      handler: () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              controller.enqueue(Buffer.from("half"));
              controller.error(new Error("of the handler"));
            },
          }),
        ),
    });
    const response = await fetch(server.url);
    await expect(response.text()).rejects.toThrow();
  });

  it("that nobody takes are ended, without filling the memory", async () => {
    let sent = 0;
    let cancelled = false;
    const server = await serving({
      stallSeconds: 0.3,
      handler: () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              sent += 1 << 20;
              controller.enqueue(Buffer.alloc(1 << 20));
            },
            cancel() {
              cancelled = true;
            },
          }),
        ),
    });
    const socket = connect(server.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.pause();
    socket.write(rawRequest(server.port, "GET /"));
    await expect.poll(() => cancelled, { timeout: 10_000 }).toBe(true);
    expect(sent).toBeLessThan(50 * 2 ** 20);
  });

  it("of an answer to HEAD are not begun", async () => {
    const { port } = await serving();
    const { text } = await sendRaw(port, rawRequest(port, "HEAD /"));
    expect(text).toMatch(/^HTTP\/1.1 200.*\r\n\r\n$/s);
  });
});

describe("what a request may cost", () => {
  it("a body has a largest size, said or not, and the client sees why", async () => {
    const { port } = await serving({ largestBody: 1000 });
    const said = await sendRaw(
      port,
      rawRequest(port, "POST /", { ...JSON_TYPE, "content-length": "1001" }),
    );
    expect(said.status).toBe(413);
    expect(said.ended).toBe(true);
    const url = `http://127.0.0.1:${port}/`;
    const large = { method: "POST", headers: JSON_TYPE, body: " ".repeat(3_000_000) };
    const answer = await fetch(url, large);
    expect([answer.status, await answer.text()]).toEqual([
      413,
      '{"detail":"the body has more than 1000 bytes."}',
    ]);
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let received = "";
    socket.on("data", (piece: Buffer) => {
      received += piece.toString();
    });
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(rawRequest(port, "POST /", { ...JSON_TYPE, "transfer-encoding": "chunked" }));
    flood(socket, `10000\r\n${"x".repeat(0x10000)}\r\n`);
    await closed;
    expect(received).toMatch(/^HTTP\/1.1 413/);
  });

  it("a handler that does not care about the body's size does not change that", async () => {
    const { port } = await serving({
      largestBody: 1000,
      handler: async (request) => new Response(await request.text().catch(() => "never mind")),
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      ...{ method: "POST", headers: JSON_TYPE, duplex: "half" },
      body: new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.alloc(5000, 32));
          controller.close();
        },
      }),
    } as RequestInit);
    expect(answer.status).toBe(413);
  });

  it("all bodies together have a largest size", async () => {
    const server = await serving({
      ...{ largestBody: 1000, largestBodies: 1500 },
      async handler(request) {
        const text = await request.text();
        await sleep(300);
        return new Response(text);
      },
    });
    const post = () =>
      fetch(server.url, { method: "POST", headers: JSON_TYPE, body: " ".repeat(900) });
    const statuses = (await Promise.all([post(), post()])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 503]);
    // What was held is given back.
    expect((await post()).status).toBe(200);
  });

  it.each<[string, (port: number) => string, string]>([
    ["nothing", () => "", ""],
    ["headers that drip", () => "GET / HTTP/1.1\r\n", "a: b\r\n"],
    [
      "a body that drips",
      (port) => rawRequest(port, "POST /", { ...JSON_TYPE, "content-length": "1000" }),
      " ",
    ],
  ])("%s does not hold a connection", async (_, begin, piece) => {
    const { port } = await serving({ headerSeconds: 0.5, bodySeconds: 1 });
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    let received = "";
    socket.on("data", (data: Buffer) => {
      received += data.toString();
    });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(begin(port));
    if (piece !== "") drip(socket, 100, piece);
    const start = performance.now();
    await closed;
    expect(performance.now() - start).toBeLessThan(10_000);
    if (piece !== "") expect(received).toMatch(/^HTTP\/1.1 408.*took too long to arrive/s);
  });

  it("a handler that takes too long is told, and its client, too", async () => {
    let reason: unknown;
    const { port } = await serving({
      answerSeconds: 0.2,
      handler: (request) =>
        new Promise((_, reject) => {
          request.signal.addEventListener("abort", () => {
            reason = request.signal.reason;
            reject(reason);
          });
        }),
    });
    const { status, text } = await sendRaw(port, rawRequest(port, "GET /"));
    expect(status).toBe(504);
    expect(text).toContain("no answer began within 0.2 s");
    expect(reason).toBeInstanceOf(Error);
  });

  it("so many requests are carried out at once, and so many connections are open", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { url, port } = await serving({
      ...{ maximumRequests: 3, maximumConnections: 10 },
      handler: async () => {
        await held;
        return new Response("done");
      },
    });
    const first = [1, 2, 3].map(() => fetch(url));
    await sleep(300);
    const busy = await fetch(url);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([503, "1"]);
    // Those that say nothing count, too.
    const many = Array.from({ length: 20 }, () => sendRaw(port, "", 1000));
    const closed = (await Promise.all(many)).filter(({ ended }) => ended);
    expect(closed.length).toBeGreaterThan(8);
    release();
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await fetch(url)).status).toBe(200);
  });

  it("requests behind each other on one connection are answered in order, and not too many", async () => {
    const { port } = await serving();
    const one = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`;
    const few = await sendRaw(port, one("/a") + one("/b") + rawRequest(port, "GET /c"));
    expect([...few.text.matchAll(/"path":"(..)"/g)].map(([, path]) => path)).toEqual([
      ...["/a", "/b", "/c"],
    ]);
    const flooded = await sendRaw(port, one("/x").repeat(50_000), 20_000);
    expect(flooded.ended).toBe(true);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });
});

describe("what goes wrong", () => {
  it.each<[string, Handler]>([
    [
      "throws",
      () => {
        throw new Error("a secret of the machine");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("a secret of the machine"))],
    ["gives nothing", () => undefined as unknown as Response],
    ["gives an error", () => Response.error()],
    ["gives a text", () => "hello" as unknown as Response],
  ])("in a handler that %s is 500, without a word of it", async (_, handler) => {
    const { port } = await serving({ handler });
    const { status, text } = await sendRaw(port, rawRequest(port, "GET /"));
    expect(status).toBe(500);
    expect(text).not.toMatch(/secret|at .*\.ts/);
    expect(text).toMatch(/"the server failed to answer this request\."/);
  });

  it("may be said in another style", async () => {
    const { url } = await serving({
      apiKey: "k",
      refusalBody: (status, sentence) => ({ error: { code: status, message: sentence } }),
    });
    expect(await (await fetch(url)).json()).toEqual({
      error: { code: 401, message: expect.stringMatching(/needs its key/) },
    });
  });

  it("sockets that are half closed, reset or leave in the middle leave the server well", async () => {
    const { url, port } = await serving();
    for (let i = 0; i < 50; i++) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      await new Promise((resolve) => socket.once("connect", resolve));
      const texts = [
        ...["G", "GET / HTTP/1.1\r\n", rawRequest(port, "GET /")],
        rawRequest(port, "POST /", { ...JSON_TYPE, "content-length": "100" }, "{"),
      ];
      socket.write(texts[i % 4]!);
      if (i % 3 === 0) socket.end();
      else if (i % 3 === 1) socket.resetAndDestroy();
      else socket.destroy();
    }
    expect((await fetch(url)).status).toBe(200);
  });

  it("when it is closed, connections are broken and nothing hangs", async () => {
    const server = await openServer({ handler: () => new Promise<Response>(() => {}) });
    const asking = fetch(server.url).catch((error: unknown) => error);
    await sleep(100);
    await server.close();
    expect(await asking).toBeInstanceOf(Error);
  });
});
