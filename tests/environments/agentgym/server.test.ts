/**
 * @file Our server, as a trainer in another language sees it: routes, error styles, limits.
 */
import { connect } from "node:net";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import higherOrLower from "../../../examples/own/world.ts";
import { KIND_NAMES } from "../../../src/environments/agentgym/kinds/index.ts";
import {
  type AgentGymServer,
  EnvironmentError,
  openWorld,
  type ServeOptions,
  serveWorld,
} from "../../../src/environments/index.ts";
import { afterTest } from "./fake-server.ts";

async function serving(name: string, options: ServeOptions = {}, worldOptions: object = {}) {
  const world = await openWorld(name, worldOptions as Record<string, unknown>);
  const server = await serveWorld(world, options);
  afterTest(() => server.close());
  return server;
}

async function post(server: AgentGymServer, route: string, body?: unknown) {
  const response = await fetch(`${server.url}/${route}`, {
    method: "POST",
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

async function get(server: AgentGymServer, route: string) {
  const response = await fetch(`${server.url}/${route}`);
  return { status: response.status, json: (await response.json()) as unknown };
}

describe("the routes", () => {
  it("are alfworld's", async () => {
    const server = await serving("household", {}, { games: 3 });
    expect(await post(server, "create")).toEqual({ status: 200, json: { id: 0 } });
    const reset = await post(server, "reset", { id: 0, game: 1, world_type: "Text" });
    expect(reset.json).toMatchObject({ id: 0, task_type: expect.stringMatching(/./) });
    // Without the banner, and without empty lines.
    expect(reset.json.observation).toMatch(/^You are in the middle of a room.*\nYour task is to/);
    const step = await post(server, "step", { id: 0, action: "inventory" });
    expect(step.json).toEqual({
      observation: "You are not carrying anything.",
      reward: 0,
      available_actions: expect.arrayContaining(["inventory", "look"]),
      done: false,
    });
    expect((await get(server, "observation?id=0")).json).toBe("You are not carrying anything.");
    expect((await get(server, "available_actions?id=0")).json).toContain("look");
    expect((await get(server, "detail?id=0")).json).toMatchObject({ done: false, reward: 0 });
  });

  it("are webshop's", async () => {
    const server = await serving("webshop");
    expect((await post(server, "create")).json).toBe(0);
    const { json } = await post(server, "reset", { env_idx: 0, session_id: 2 });
    expect(json).toEqual([expect.stringMatching(/./), null]);
    expect((await get(server, "available_actions?env_idx=0")).json).toMatchObject({
      has_search_bar: true,
    });
    expect((await get(server, "instruction_text?env_idx=0")).json).toMatch(/./);
    const step = await post(server, "step", { env_idx: 0, action: "search[shoes]" });
    expect(step.json).toMatchObject({ reward: 0, done: false, info: null });
    expect((await get(server, "observation?env_idx=0")).json).toBe(step.json.state);
    expect((await get(server, "list_envs")).json).toEqual([0]);
    // Without a session it is the next one in turn.
    const first = await post(server, "reset", { env_idx: 0 });
    const second = await post(server, "reset", { env_idx: 0, session_id: null });
    expect(first.json).not.toEqual(second.json);
  });

  it("are textcraft's: created with a first task, closed with /close", async () => {
    const server = await serving("textcraft");
    expect((await post(server, "create")).json).toMatchObject({
      ...{ id: 0, done: false, reward: 0 },
      observation: expect.stringMatching(/^Crafting commands:/),
    });
    const around = await post(server, "reset", { id: 0, data_idx: server.tasks + 4 });
    const again = await post(server, "reset", { id: 0, data_idx: 4 });
    expect(around.json.observation).toBe(again.json.observation);
    expect((await post(server, "close", { id: 0 })).json).toBe(true);
    expect((await post(server, "close", { id: 0 })).json).toBe(false);
    const own = { minecraft_dir: "x", commands: null, goal: "iron ingot" };
    expect((await post(server, "create", own)).json.error).toMatch(/leave "goal" out/);
  });

  it("are the tools': created for a task, which a reset may leave out", async () => {
    const world = await openWorld(higherOrLower);
    const server = await serveWorld(world, { kind: "movie" });
    afterTest(() => server.close());
    expect((await post(server, "create")).status).toBe(422);
    expect((await post(server, "create", { id: 5 })).json).toBe(0);
    expect((await post(server, "reset", { env_idx: 0 })).json).toMatch(/^I think of a number/);
    const [secret] = (await world.solution!((await world.tasks("train")).task(5)))!;
    expect((await post(server, "step", { env_idx: 0, action: secret })).json).toEqual({
      ...{ observation: "Yes!", reward: 1, done: true },
    });
  });

  it("are wordle's: its words can be asked for before the first reset", async () => {
    const server = await serving("wordle", {}, { size: 30 });
    expect((await post(server, "create")).json).toEqual({ id: 0 });
    const words = (await get(server, "filtered_vocab?id=0")).json as string[];
    expect(words).toHaveLength(30);
    await post(server, "reset", { id: 0, seed: 123_456_789 });
    const guess = Array.from(words[7]!).join(" ");
    const { json } = await post(server, "step", { id: 0, action: guess });
    expect(json.observation).toMatch(/^[gyb]( [gyb]){4}\n$/);
  });

  it("begin with the kind's prefix, and say who answers at /", async () => {
    const server = await serving("wordle");
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/wordle$/);
    const root = await fetch(new URL("/", server.url));
    expect(await root.json()).toBe("openmanus-rl serves wordle as wordle");
  });
});

describe("errors", () => {
  it("of the games are {error} with status 200", async () => {
    const server = await serving("maze");
    expect(await post(server, "reset", { id: 3, game: 0 })).toEqual({
      status: 200,
      json: { error: expect.stringMatching(/there is no environment 3/) },
    });
    await post(server, "create");
    expect((await post(server, "step", { id: 0, action: "x" })).json.error).toMatch(/reset it/);
    expect((await post(server, "reset", { id: 0, game: 50 })).json.error).toMatch(/0 to 49/);
    expect((await post(server, "reset", { id: 0, game: -1 })).json.error).toMatch(/no task -1/);
    await post(server, "reset", { id: 0, game: 18 });
    await post(server, "step", { id: 0, action: "move down" });
    expect((await post(server, "step", { id: 0, action: "move up" })).json.error).toMatch(
      /has finished/,
    );
  });

  it("of the services have status 500", async () => {
    const server = await serving("webshop");
    expect(await post(server, "step", { env_idx: 9, action: "x" })).toEqual({
      status: 500,
      json: { detail: expect.stringMatching(/there is no environment 9/) },
    });
  });

  it("of requests that nobody could understand have FastAPI's statuses", async () => {
    const server = await serving("maze");
    await post(server, "create");
    const headers = { "content-type": "application/json" };
    const raw = (body: string) => fetch(`${server.url}/reset`, { method: "POST", headers, body });
    expect((await raw("{")).status).toBe(422);
    expect((await raw("[]")).status).toBe(422);
    expect((await raw('{"id": 0}')).status).toBe(422);
    expect((await post(server, "reset", { id: "zero", game: 0 })).json).toEqual({
      detail: [{ loc: ["id"], msg: "a whole number is required", type: "value_error" }],
    });
    expect((await post(server, "step", { id: 0, action: 5 })).status).toBe(422);
    expect((await post(server, "dance")).status).toBe(404);
    expect((await get(server, "step")).status).toBe(405);
    expect((await get(server, "observation")).status).toBe(422);
    expect((await raw(" ".repeat(2 * 1024 * 1024))).status).toBe(413);
  });

  it("of whatever is sent leave the server well", async () => {
    const server = await serving("maze");
    await post(server, "create");
    const routes = ["create", "reset", "step", "observation", "detail", "solution", "__proto__"];
    const body = fc.record({ id: fc.jsonValue(), game: fc.jsonValue(), action: fc.jsonValue() });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.oneof(fc.jsonValue(), body),
        async (route, json) => {
          const { status } = await post(server, route, json);
          expect([200, 404, 405, 422]).toContain(status);
        },
      ),
      { numRuns: 60 },
    );
    expect((await get(server, "list_envs")).json).toContain(0);
  });
});

describe("limits", () => {
  it("on how many environments there are: 503, until one is closed", async () => {
    const server = await serving("textcraft", { maximumEnvironments: 2 });
    await post(server, "create");
    await post(server, "create");
    const refused = await post(server, "create");
    expect(refused).toMatchObject({ status: 503 });
    expect(refused.json.detail).toMatch(/already 2 environments.*--environments/);
    await post(server, "close", { id: 0 });
    expect((await post(server, "create")).json).toMatchObject({ id: 2 });
  });

  it("on how long nobody uses one: it is closed, and the request says why", async () => {
    const server = await serving("maze", { idle: 0.1 });
    await post(server, "create");
    await post(server, "create");
    const busy = setInterval(() => void post(server, "reset", { id: 1, game: 0 }), 20);
    await expect.poll(() => server.environments, { timeout: 5000 }).toBe(1);
    clearInterval(busy);
    expect((await post(server, "step", { id: 0, action: "x" })).json.error).toMatch(
      /not used for 0\.1 s/,
    );
    await expect.poll(() => server.environments, { timeout: 5000 }).toBe(0);
  });

  it("a port that is taken is an error with advice", async () => {
    const { port } = await serving("maze");
    const error = await serving("maze", { port }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect((error as Error).message).toMatch(/the port is taken; choose another/);
  });

  it("a kind, or a split, that there is not too", async () => {
    await expect(serving("maze", { kind: "mazes" })).rejects.toThrow(/no kind .*"mazes".*webshop/);
    await expect(serving("maze", { split: "mazes" })).rejects.toThrow(/no split "mazes"/);
  });

  it("requests of one environment are carried out one after the other", async () => {
    const server = await serving("maze");
    await post(server, "create");
    await post(server, "reset", { id: 0, game: 0 });
    const moves = Array.from({ length: 4 }, () =>
      post(server, "step", { id: 0, action: "move right" }),
    );
    const columns = (await Promise.all(moves)).map(({ json }) =>
      Number(/current position is at position 1, (\d)/.exec(String(json.observation))?.[1]),
    );
    expect(columns.sort()).toEqual([2, 3, 4, 5]);
  });

  it("closing breaks connections that are open", async () => {
    const server = await serving("maze");
    const socket = connect(server.port, "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("POST /maze/create HTTP/1.1\r\n");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    await server.close();
    await closed;
  });
});

it.each(KIND_NAMES)("%s's server answers its own questions", async (kind) => {
  const server = await serveWorld(await openWorld(higherOrLower), { kind });
  afterTest(() => server.close());
  const created = await post(server, "create", { id: 1 });
  expect(created.status).toBe(200);
  const { status, json } = await get(server, "list_envs");
  expect({ status, json }).toEqual({ status: 200, json: [0] });
});
