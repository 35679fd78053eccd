/**
 * @file `env serve` under attack: pages of the web, floods, drips and nonsense over real sockets. Nothing of
 * it acts in the world, uses it up, takes it down or makes it large.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openWorld } from "../../src/environments/index.ts";
import { drip, flood, rawRequest, sendRaw } from "../network/sockets.ts";
import { endWithTest, type RunningServer, start, startServer } from "./command.ts";

const JSON_TYPE = { "content-type": "application/json" };
const ENVIRONMENTS = 200;

let server: RunningServer;

beforeAll(async () => {
  server = await startServer([
    ...["env", "serve", "maze", "--split", "train"],
    ...["--environments", String(ENVIRONMENTS), "--spare", "2"],
  ]);
});
afterAll(() => void server.child.kill("SIGKILL"));

const post = (route: string, body: unknown, headers: Record<string, string> = JSON_TYPE) =>
  fetch(`${server.url}/${route}`, {
    ...{ method: "POST", headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

async function environments(): Promise<number> {
  return ((await (await fetch(`${server.url}/list_envs`)).json()) as number[]).length;
}

/** A game, from its beginning to its known end. */
async function playsWell(): Promise<void> {
  const world = await openWorld("agentgym", { url: server.url, kind: "maze", tasks: 25 });
  try {
    const task = (await world.tasks("train")).task(7);
    const solution = (await world.solution!(task))!;
    const environment = world.environment();
    await environment.reset(task);
    const results = [];
    for (const action of solution) results.push(await environment.step(action));
    expect(results.at(-1)).toMatchObject({ done: true, won: true });
    expect(results.slice(0, -1).every(({ done }) => !done)).toBe(true);
  } finally {
    await world.close?.();
  }
}

describe("a page of the web", () => {
  const EVIL = "https://evil.example";
  const act = '{"id": 0, "action": "move up"}';

  it.each<[string, number, string, Record<string, string>, string]>([
    ["asks by a name of its own", 403, "POST /maze/create", { host: "evil.example" }, ""],
    [
      "asks by a name that means 127.0.0.1",
      403,
      "GET /maze/list_envs",
      { host: "rebound.example:PORT" },
      "",
    ],
    [
      "posts plain text",
      403,
      "POST /maze/create",
      { origin: EVIL, "content-type": "text/plain" },
      act,
    ],
    [
      "posts plain text without saying from where",
      415,
      "POST /maze/create",
      { "content-type": "text/plain" },
      act,
    ],
    [
      "posts a form",
      415,
      "POST /maze/create",
      { "content-type": "application/x-www-form-urlencoded" },
      "id=0",
    ],
    [
      "posts a form in parts",
      415,
      "POST /maze/create",
      { "content-type": "multipart/form-data; boundary=x" },
      "--x--",
    ],
    ["posts without a type", 415, "POST /maze/create", {}, act],
    ["posts nothing", 403, "POST /maze/create", { origin: EVIL, "content-length": "0" }, ""],
    [
      "posts nothing from a page without an origin",
      403,
      "POST /maze/create",
      { origin: "null" },
      "",
    ],
    [
      "posts nothing, as an image would",
      403,
      "POST /maze/create",
      { "sec-fetch-site": "cross-site" },
      "",
    ],
    ["posts JSON", 403, "POST /maze/create", { ...JSON_TYPE, origin: EVIL }, act],
    [
      "posts from another port",
      403,
      "POST /maze/create",
      { ...JSON_TYPE, origin: "http://localhost:3000" },
      act,
    ],
    [
      "asks whether it may",
      403,
      "OPTIONS /maze/create",
      {
        origin: EVIL,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
      "",
    ],
    ["reads", 403, "GET /maze/list_envs", { origin: EVIL }, ""],
    ["reads as an image", 403, "GET /maze/list_envs", { "sec-fetch-site": "same-site" }, ""],
  ])("that %s is refused, and nothing is created", async (_, status, line, headers, body) => {
    const before = await environments();
    const given = Object.entries(headers).map(([name, value]) => [
      name,
      value.replace("PORT", String(server.port)),
    ]);
    const request = rawRequest(server.port, line, Object.fromEntries(given), body);
    const answer = await sendRaw(server.port, request);
    expect(answer.status).toBe(status);
    expect(answer.text.toLowerCase()).not.toContain("access-control");
    expect(await environments()).toBe(before);
  });
});

describe("a world with a tool that writes files", () => {
  it("writes for the client that it is for, and for no page", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openmanus-attack-"));
    const file = join(folder, "written.txt");
    const tool = fileURLToPath(new URL("./writing-tool.ts", import.meta.url));
    const mcp = `mcp="${process.execPath}" --import tsx "${tool}"`;
    const tools = await startServer(["env", "serve", "tools", mcp]);
    endWithTest(tools);
    try {
      const action = JSON.stringify({ name: "write", arguments: { path: file, text: "x" } });
      const step = { method: "POST", body: JSON.stringify({ id: 0, action }) };
      const json = { method: "POST", body: "{}", headers: JSON_TYPE };
      expect((await fetch(`${tools.url}/create`, json)).status).toBe(200);
      // As a browser sends what any page may send anywhere: no question is asked before.
      for (const type of [
        "text/plain",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
      ])
        for (const origin of [undefined, "https://evil.example"])
          for (const body of ["{}", step.body])
            await fetch(`${tools.url}/step`, {
              ...{ method: "POST", body },
              headers: { "content-type": type, ...(origin !== undefined && { origin }) },
            });
      const rebound = rawRequest(
        ...([
          tools.port,
          "POST /step",
          { ...JSON_TYPE, host: "rebound.example" },
          step.body,
        ] as const),
      );
      expect((await sendRaw(tools.port, rebound)).status).toBe(403);
      expect(existsSync(file)).toBe(false);
      const answer = await fetch(`${tools.url}/step`, { ...step, headers: JSON_TYPE });
      expect(await answer.text()).toContain("written");
      expect(existsSync(file)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("a client that", () => {
  it("sends bodies without measure or end is cut off", async () => {
    const large = await post("create", " ".repeat(5_000_000));
    expect(large.status).toBe(413);
    const announced = { ...JSON_TYPE, "content-length": "999999999999" };
    expect(
      (await sendRaw(server.port, rawRequest(server.port, "POST /maze/create", announced))).status,
    ).toBe(413);
    const ends = Array.from({ length: 10 }, async () => {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const chunked = { ...JSON_TYPE, "transfer-encoding": "chunked" };
      socket.write(rawRequest(server.port, "POST /maze/create", chunked));
      flood(socket, `10000\r\n${" ".repeat(0x10000)}\r\n`);
      await closed;
    });
    await Promise.all(ends);
    await playsWell();
  });

  it("sends a little at a time keeps nobody out, and not its connection either", async () => {
    const open = (begin: string, piece: string) => {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(begin);
      drip(socket, 300, piece);
      return new Promise<void>((resolve) => socket.once("close", () => resolve()));
    };
    const headers = Array.from({ length: 30 }, () =>
      open("POST /maze/create HTTP/1.1\r\n", "a: b\r\n"),
    );
    const length = { ...JSON_TYPE, "content-length": "100000" };
    for (let i = 0; i < 30; i++)
      void open(rawRequest(server.port, "POST /maze/create", length), " ");
    await playsWell();
    // Headers must be there within ten seconds; the bodies' half a minute is not waited for.
    await Promise.all(headers);
    await playsWell();
  });

  const KILL = [
    ...["", "\0", "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"],
    ...["get / HTTP/1.1\r\nhost: OWN\r\n\r\n", "CONNECT evil:1 HTTP/1.1\r\nhost: OWN\r\n\r\n"],
    ...["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000"],
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\ncontent-length: -1\r\n\r\n",
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\ncontent-length: 1e9\r\n\r\n",
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    "GET /maze/list_envs HTTP/1.1\r\nhost: OWN\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    "GET http://evil.example/maze/list_envs HTTP/1.1\r\nhost: OWN\r\n\r\n",
    `GET /${"/".repeat(15_000)}x HTTP/1.1\r\nhost: OWN\r\n\r\n`,
    `GET /${"a".repeat(100_000)} HTTP/1.1\r\nhost: OWN\r\n\r\n`,
    `GET / HTTP/1.1\r\nhost: OWN\r\n${"x: y\r\n".repeat(5000)}\r\n`,
    "GET /maze/%00%ff%zz?%=%&id=%f HTTP/1.1\r\nhost: OWN\r\n\r\n",
    "GET /maze/observation?id=0&id=1&__proto__=1&constructor=2 HTTP/1.1\r\nhost: OWN\r\n\r\n",
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\nexpect: 100-continue\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\n",
    "POST /maze/create HTTP/1.1\r\nhost: OWN\r\nexpect: a-miracle\r\n\r\n",
  ];
  it("speaks no HTTP, or odd HTTP, changes nothing", async () => {
    const before = await environments();
    const own = `127.0.0.1:${server.port}`;
    await Promise.all(KILL.map((text) => sendRaw(server.port, text.replaceAll("OWN", own), 1000)));
    expect(await environments()).toBe(before);
    await playsWell();
  });

  it("asks for what there is not gets an answer that says so", async () => {
    const routes = [
      "create",
      "reset",
      "step",
      "close",
      "observation",
      "__proto__",
      "",
      "..",
      "%2e",
    ];
    const methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"];
    const field = fc.oneof(fc.jsonValue(), fc.integer({ min: -5, max: 300 }));
    const body = fc.oneof(
      ...[fc.record({ id: field, game: field, action: field }), fc.jsonValue()],
    );
    await fc.assert(
      fc.asyncProperty(
        ...([fc.constantFrom(...routes), fc.constantFrom(...methods), body] as const),
        async (route, method, json) => {
          const sends = method !== "GET" && method !== "HEAD";
          const { status } = await fetch(`${server.url}/${route}?id=${JSON.stringify(json)}`, {
            ...{ method, headers: JSON_TYPE },
            ...(sends && { body: JSON.stringify(json) }),
          });
          expect([200, 404, 405, 422, 503]).toContain(status);
        },
      ),
      { numRuns: 400 },
    );
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    for (const nonsense of ["{", deep, `{"id": ${deep}}`, "\u0000", '{"id": 1e999}', "null"])
      expect((await post("step", nonsense)).status).toBe(422);
    expect((await post("step", { id: 10 ** 15, action: "x" })).status).toBe(200);
    await playsWell();
  });

  it("asks thousands of times is answered, and the server stays small", async () => {
    for (let i = 0; i < 30; i++)
      await Promise.all(
        Array.from({ length: 100 }, async () => (await fetch(`${server.url}/list_envs`)).text()),
      );
    const memory = server.memory();
    if (memory) expect(memory.most).toBeLessThan(400);
  });

  it("creates 1,500 environments keeps others out only for a moment", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 15; i++)
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const answer = await post("create", "{}");
          statuses.push(answer.status);
          await answer.text();
        }),
      );
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
    expect(await environments()).toBeLessThanOrEqual(ENVIRONMENTS);
    await sleep(2500);
    await playsWell();
    const memory = server.memory();
    if (memory) expect(memory.most).toBeLessThan(400);
  });
});

it("after all of it the server says nothing, plays on, and ends when it is asked to", async () => {
  expect(server.child.exitCode).toBe(null);
  expect(server.errors()).toBe("");
  await playsWell();
  const ended = new Promise((resolve) => server.child.once("exit", (code) => resolve(code)));
  server.child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

describe("beyond this machine", () => {
  it("a server without a key warns the person who starts it; with one it asks for it", async () => {
    const open = await startServer(["env", "serve", "maze", "--host", "0.0.0.0"]);
    endWithTest(open);
    await expect
      .poll(open.errors, { timeout: 5000 })
      .toMatch(
        /other machines can reach 0\.0\.0\.0:\d+, and no key is asked for.*--api-key env:NAME/,
      );
    const words = ["env", "serve", "maze", "--host", "0.0.0.0", "--api-key", "env:ATTACK_TEST_KEY"];
    const locked = await startServer(words, { ATTACK_TEST_KEY: "sesame-open" });
    endWithTest(locked);
    expect(locked.errors()).toBe("");
    const url = `http://127.0.0.1:${locked.port}/maze/list_envs`;
    expect((await fetch(url)).status).toBe(401);
    const headers = { authorization: "Bearer sesame-open" };
    expect((await fetch(url, { headers })).status).toBe(200);
  });

  it.each<[string[], RegExp]>([
    [["--api-key", "env:ATTACK_TEST_NO_KEY"], /ATTACK_TEST_NO_KEY.*is not set or empty/],
    [["--api-key", "file:/nowhere/key"], /\/nowhere\/key.*cannot be read/],
    [["--api-key", "sk-123"], /looks like a key in plain text; write env:NAME/],
    [["--allow-host", "http://x"], /"http:\/\/x" is no name of a host/],
    [["--step-seconds", "0"], /--step-seconds must be/],
  ])("%j is refused with a sentence", async (words, message) => {
    const refused = start(["env", "serve", "maze", ...words]);
    endWithTest(refused);
    const code = await new Promise((resolve) => refused.child.once("exit", resolve));
    expect(code).toBeGreaterThan(0);
    expect(refused.errors()).toMatch(message);
    expect(refused.errors()).not.toMatch(/ at .*\.ts/);
  });
});
