/**
 * @file OpenEnv in both directions over real sockets: our worlds served and played, odd clients, hostile servers.
 */
import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { openWorld, serveOpenEnv, type World } from "../../../src/environments/index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function served(name: string, options: Parameters<typeof serveOpenEnv>[1] = {}, world = {}) {
  const opened = await openWorld(name, world);
  const server = await serveOpenEnv(opened, options);
  cleanups.push(
    () => opened.close?.(),
    () => server.close(),
  );
  return { ...{ url: server.url, world: opened }, environments: () => server.environments };
}

async function client(options: Record<string, unknown>): Promise<World> {
  const world = await openWorld("openenv", { timeout: 10, ...options });
  cleanups.push(() => world.close?.());
  return world;
}

/** A connection that says what it is told, for what our client never says. */
async function connection(url: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers });
  cleanups.push(() => socket.terminate());
  const opened = new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  await opened;
  return {
    socket,
    closed: new Promise<number>((resolve) => socket.once("close", resolve)),
    ask: (said: unknown) =>
      new Promise<{ type: string; data: Record<string, unknown> }>((resolve) => {
        socket.once("message", (data) => resolve(JSON.parse(String(data))));
        socket.send(typeof said === "string" ? said : JSON.stringify(said));
      }),
  };
}

describe("our worlds, served and played by our client", () => {
  it("are what they are at home: texts, actions, rewards, success", async () => {
    const { url, world } = await served("household", { split: "train" });
    const remote = await client({ url, tasks: 3 });
    const [there, here] = [remote.environment(), world.environment()];
    for (let index = 0; index < 3; index++) {
      const task = (await world.tasks("train")).task(index);
      const [first, own] = [
        await there.reset((await remote.tasks("train")).task(index)),
        await here.reset(task),
      ];
      expect(first).toMatchObject({ text: own.text, admissible: own.admissible });
      let isWon = false;
      for (const action of (await world.solution!(task))!) {
        const [far, near] = [await there.step(action), await here.step(action)];
        expect(far).toMatchObject({
          ...{ reward: near.reward, done: near.done, won: near.won, score: near.score },
          ...{ admissible: true, observation: { text: near.observation.text } },
        });
        isWon = far.won;
      }
      expect(isWon).toBe(true);
      expect(await there.step("look")).toMatchObject({ reward: 0, done: true });
    }
  });

  it("have sessions of their own, which end with their connections", async () => {
    const { url, environments } = await served("maze");
    const remote = await client({ url });
    const [one, other] = [remote.environment(), remote.environment()];
    const task = (await remote.tasks("train")).task(0);
    await Promise.all([one.reset(task), other.reset(task)]);
    await one.step("move right");
    expect((await one.step("move right")).observation.text).toMatch(/position 1, 3/);
    expect((await other.step("move right")).observation.text).toMatch(/position 1, 2/);
    expect(environments()).toBe(2);
    await one.close?.();
    await other.close?.();
    await expect.poll(environments).toBe(0);
    await expect(async () => one.reset(task)).rejects.toThrow(/closed/);
  });

  it("tell about themselves, and play one episode over plain requests", async () => {
    const { url } = await served("maze", { description: "mazes" });
    const get = async (path: string) => (await fetch(url + path)).json();
    expect(await get("/health")).toEqual({ status: "healthy" });
    expect(await get("/metadata")).toEqual({ name: "maze", description: "mazes" });
    expect(await get("/schema")).toMatchObject({ action: { required: ["text"] } });
    const post = async (path: string, body: unknown) => {
      const headers = { "content-type": "application/json" };
      const reply = await fetch(url + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return [reply.status, await reply.json()] as const;
    };
    expect((await post("/step", { action: { text: "move up" } }))[0]).toBe(422);
    expect(await post("/reset", { seed: 0 })).toMatchObject([200, { done: false, reward: null }]);
    expect(await post("/step", { action: { text: "move right" } })).toMatchObject([
      ...[200, { reward: 0, observation: { won: false } }],
    ]);
    expect(await get("/state")).toMatchObject({ step_count: 1 });
    expect((await post("/reset", [1]))[0]).toBe(422);
    expect((await post("/step", { action: { text: 7 } }))[0]).toBe(422);
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    expect((await fetch(`${url}/reset`)).status).toBe(405);
  });

  it("are acted in by calls of a tool, too", async () => {
    const { url } = await served("maze");
    const { ask } = await connection(url);
    expect((await ask({ type: "step", data: { type: "list_tools" } })).data).toMatchObject({
      observation: { tools: [{ name: "act" }] },
    });
    await ask({ type: "reset", data: { seed: 0 } });
    const call = { type: "call_tool", tool_name: "act", arguments: { text: "move right" } };
    expect((await ask({ type: "step", data: call })).data).toMatchObject({
      observation: { tool_name: "act", result: { text: expect.stringMatching(/1, 2/) } },
    });
    const rpc = { jsonrpc: "2.0", id: 7, method: "tools/call" };
    const params = { name: "act", arguments: { text: "move right" } };
    expect(await ask({ type: "mcp", data: { ...rpc, params } })).toMatchObject({
      ...{ type: "mcp", data: { id: 7, result: { isError: false } } },
    });
    expect((await ask({ type: "mcp", data: { ...rpc, method: "x" } })).data).toHaveProperty(
      "error",
    );
  });
});

describe("clients that mean no good, or do not know better", () => {
  it("are answered with OpenEnv's errors, and the session goes on", async () => {
    const { url } = await served("maze");
    const { ask } = await connection(url);
    const codes: [unknown, string][] = [
      ["{", "INVALID_JSON"],
      ["null", "UNKNOWN_TYPE"],
      [{ type: "dance" }, "UNKNOWN_TYPE"],
      [{ type: "step" }, "VALIDATION_ERROR"],
      [{ type: "step", data: {} }, "VALIDATION_ERROR"],
      [{ type: "step", data: { text: "x" } }, "EXECUTION_ERROR"],
      [{ type: "reset", data: { seed: -1 } }, "VALIDATION_ERROR"],
      [{ type: "reset", data: { seed: "__proto__" } }, "VALIDATION_ERROR"],
    ];
    for (const [said, code] of codes)
      expect(await ask(said)).toMatchObject({ type: "error", data: { code } });
    expect((await ask({ type: "reset", data: { seed: 1e12 } })).type).toBe("observation");
  });

  it("get no more than there is, and nothing from a foreign page, by another name or without the key", async () => {
    const { url } = await served("maze", { maximumEnvironments: 1, apiKey: "secret-of-ours" });
    const key = { authorization: "Bearer secret-of-ours" };
    await expect(connection(url)).rejects.toThrow(/401/);
    await expect(connection(url, { ...key, origin: "http://evil.example" })).rejects.toThrow(/403/);
    await expect(connection(url, { ...key, host: "evil.example" })).rejects.toThrow(/403/);
    await connection(url, key);
    await expect(connection(url, key)).rejects.toThrow(/503/);
    const wrong = new WebSocket(`${url.replace("http", "ws")}/other`, { headers: key });
    await expect(new Promise((_, reject) => wrong.once("error", reject))).rejects.toThrow(/404/);
  });

  it("are cut off when they flood, or send bytes or giants", async () => {
    const { url } = await served("maze");
    const flood = await connection(url);
    for (let i = 0; i < 200; i++) flood.socket.send('{"type":"state"}');
    expect(await flood.closed).toBe(1008);
    const bytes = await connection(url);
    bytes.socket.send(Buffer.from([1, 2]));
    expect(await bytes.closed).toBe(1003);
    const giant = await connection(url);
    giant.socket.on("error", () => {});
    giant.socket.send("x".repeat(2 ** 20 + 1));
    expect(await giant.closed).toBe(1009);
    expect((await (await connection(url)).ask({ type: "state" })).type).toBe("state");
  });
});

const SCHEMA = { action: { properties: { message: { type: "string" } }, required: ["message"] } };

/** A server that answers everything with this. */
async function answering(
  answer: (said: string, socket: WebSocket) => void,
  schema: unknown = SCHEMA,
) {
  const server: Server = createServer((_, reply) => {
    reply.setHeader("content-type", "application/json");
    reply.end(typeof schema === "string" ? schema : JSON.stringify(schema));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) =>
    socket.on("message", (said) => answer(String(said), socket)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe("servers that mean no good, or are of another kind", () => {
  it("play with any field, any reward and any observation", async () => {
    const heard: string[] = [];
    const url = await answering((said, socket) => {
      heard.push(said);
      const { type } = JSON.parse(said) as { type: string };
      const observation =
        type === "reset" ? { board: [1, 2], legal_actions: ["a"] } : { message: "ok" };
      const data = { observation, reward: type === "reset" ? null : true, done: type !== "reset" };
      socket.send(JSON.stringify({ type: "observation", data }));
    });
    const world = await client({ url });
    const environment = world.environment();
    const first = await environment.reset((await world.tasks("train")).task(4));
    expect(first).toMatchObject({
      admissible: ["a"],
      text: expect.stringContaining('"board":[1,2]'),
    });
    expect(await environment.step("b")).toMatchObject({
      ...{ reward: 1, done: true, won: true, score: 1, admissible: false },
      observation: { text: "ok" },
    });
    expect(heard.map((said) => JSON.parse(said).data)).toEqual([{ seed: 4 }, { message: "b" }]);
  });

  it("offer tools, whose calls are actions", async () => {
    const heard: Record<string, unknown>[] = [];
    const tools = [
      { name: "echo", description: "says it again", input_schema: { type: "object" } },
    ];
    const url = await answering(
      (said, socket) => {
        const { data = {} } = JSON.parse(said) as { data?: Record<string, unknown> };
        heard.push(data);
        const observation = data.type === "list_tools" ? { tools } : { result: "ok" };
        socket.send(JSON.stringify({ type: "observation", data: { observation, done: false } }));
      },
      { action: { properties: { tool_name: { type: "string" }, arguments: {} } } },
    );
    const world = await client({ url, text: "result" });
    expect(world.tools).toMatchObject([{ name: "echo" }]);
    const environment = world.environment();
    await environment.reset((await world.tasks("train")).task(0));
    const called = await environment.step('{"name": "echo", "arguments": {"x": 1}}');
    expect(called.observation.text).toBe('"ok"'.slice(1, -1));
    expect(heard.at(-1)).toEqual({ type: "call_tool", tool_name: "echo", arguments: { x: 1 } });
    expect(await environment.step("hello")).toMatchObject({ admissible: false, done: false });
  });

  const evils: [string, (socket: WebSocket) => void, RegExp][] = [
    ["no JSON", (socket) => socket.send("<html>"), /no JSON/],
    [
      "an error",
      (socket) => socket.send('{"type":"error","data":{"message":"no \\u001b[31m"}}'),
      /refused: no +\[31m/,
    ],
    [
      "another shape",
      (socket) => socket.send('{"type":"observation","data":{"observation":7}}'),
      /answered with/,
    ],
    ["a list", (socket) => socket.send("[1]"), /answered with \[1\]/],
    ["bytes", (socket) => socket.send(Buffer.from([1])), /sent bytes/],
    ["an end", (socket) => socket.terminate(), /closed the connection/],
    ["a giant", (socket) => socket.send("x".repeat(17 * 2 ** 20)), /not answered/],
    ["silence", () => {}, /no answer within 2 s/],
  ];
  it.each(evils)("answer with %s", async (name, answer, message) => {
    const url = await answering((_said, socket) => answer(socket));
    const world = await client({ url, timeout: name === "silence" ? 2 : 30 });
    const task = (await world.tasks("train")).task(0);
    await expect(async () => world.environment().reset(task)).rejects.toThrow(message);
  });

  it("are no servers of OpenEnv", async () => {
    await expect(client({ url: "http://127.0.0.1:1" })).rejects.toThrow(
      /openenv: http:\/\/127.0.0.1:1/,
    );
    await expect(client({ url: "ftp://x" })).rejects.toThrow(/no server's address/);
    await expect(client({ url: await answering(() => {}, "<html>") })).rejects.toThrow(/no JSON/);
    const many = { action: { properties: { a: { type: "string" }, b: { type: "string" } } } };
    await expect(client({ url: await answering(() => {}, many) })).rejects.toThrow(/field=NAME/);
  });
});
