/**
 * @file The environments that our server keeps for others: nobody can use them up for long, and none is
 * held by what hangs; and keys.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import higherOrLower from "../../../examples/own/world.ts";
import {
  type AgentGymServer,
  defineEnvironment,
  openWorld,
  type ServeOptions,
  serveWorld,
} from "../../../src/environments/index.ts";
import { failure } from "./counting.ts";
import { afterTest } from "./fake-server.ts";

let opened: number[];
let closed: number[];

/** Hangs for ever where it is told to. */
const stubborn = defineEnvironment({
  name: "stubborn",
  summary: "says yes, and sometimes nothing",
  maximumSteps: 5,
  splits: { train: 3 },
  start: () => 0,
  intro: () => ({ text: "Say something." }),
  act: (count, action) =>
    action === "hang"
      ? new Promise<never>(() => {})
      : { text: `You said ${action}.`, state: count + 1, won: action === "win" },
});

/** The world, counting which of its environments there are. */
async function counted(definition: Parameters<typeof openWorld>[0]) {
  const world = await openWorld(definition);
  return {
    ...world,
    environment() {
      const environment = world.environment();
      const number = opened.push(opened.length) - 1;
      const close = async () => {
        closed.push(number);
        await environment.close?.();
      };
      return {
        reset: environment.reset.bind(environment),
        step: environment.step.bind(environment),
        close,
      };
    },
  };
}

async function serving(
  options: ServeOptions,
  definition: Parameters<typeof openWorld>[0] = stubborn,
) {
  const server = await serveWorld(await counted(definition), { kind: "textcraft", ...options });
  afterTest(() => server.close());
  return server;
}

async function post(server: AgentGymServer, route: string, body: object = {}) {
  const response = await fetch(`${server.url}/${route}`, {
    ...{ method: "POST", body: JSON.stringify(body) },
    headers: { "content-type": "application/json" },
  });
  const { status, headers } = response;
  const json = (await response.json()) as Record<string, unknown>;
  return { status, json, retryAfter: headers.get("retry-after") };
}

beforeEach(() => {
  opened = [];
  closed = [];
});

describe("when all places are taken", () => {
  it("the one that nobody has used for longest makes room, if that is long enough", async () => {
    const server = await serving({ maximumEnvironments: 3, spare: 0.5 });
    for (let i = 0; i < 3; i++) await post(server, "create");
    const refused = await post(server, "create");
    expect(refused).toMatchObject({ status: 503, retryAfter: "1" });
    expect(refused.json.detail).toMatch(/already 3 environments.*all are in use/);
    await sleep(700);
    await post(server, "step", { id: 0, action: "hello" });
    expect((await post(server, "create")).json).toMatchObject({ id: 3 });
    expect(closed).toEqual([1]);
    expect((await post(server, "step", { id: 1, action: "x" })).json.error).toMatch(
      /there is no environment 1: .*closed.*Create one/,
    );
    expect((await post(server, "step", { id: 0, action: "x" })).json.observation).toBe(
      "You said x.",
    );
    expect(server.environments).toBe(3);
  });

  it("those that were created and never used go first, after a shorter while", async () => {
    const server = await serving({ maximumEnvironments: 2, spare: 3600 });
    await post(server, "create");
    await post(server, "create");
    await post(server, "step", { id: 0, action: "x" });
    expect((await post(server, "create")).status).toBe(503);
    // A date that jumps closes nothing; time that passes does.
    const date = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => date + 40_000_000);
    expect((await post(server, "create")).json).toMatchObject({
      detail: expect.stringMatching(/all are in use/),
    });
    const now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now + 40_000);
    expect((await post(server, "create")).json).toMatchObject({ id: 2 });
    expect(closed).toEqual([1]);
    // The other one is in use, and the new one is new.
    expect((await post(server, "create")).status).toBe(503);
  });
  afterEach(() => vi.restoreAllMocks());

  it("a thousand creations leave the server usable", async () => {
    const server = await serving({ maximumEnvironments: 50, spare: 1 });
    const statuses: number[] = [];
    for (let i = 0; i < 20; i++)
      statuses.push(
        ...(await Promise.all(Array.from({ length: 50 }, () => post(server, "create")))).map(
          ({ status }) => status,
        ),
      );
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(50);
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
    expect(server.environments).toBeLessThanOrEqual(50);
    await sleep(1200);
    const { json } = await post(server, "create");
    expect((await post(server, "step", { id: json.id, action: "win" })).json).toMatchObject({
      done: true,
    });
  });
});

describe("a step that hangs", () => {
  it("ends, with its environment, and those that wait behind it are told", async () => {
    const server = await serving({ stepSeconds: 0.3 });
    await post(server, "create");
    await post(server, "create");
    const hanging = post(server, "step", { id: 0, action: "hang" });
    const waiting = post(server, "step", { id: 0, action: "x" });
    expect((await hanging).json.error).toMatch(
      /environment 0 did not answer within 0.3 s, and was closed.*create another/,
    );
    expect((await waiting).json.error).toMatch(/there is no environment 0/);
    expect(closed).toEqual([0]);
    expect((await post(server, "step", { id: 1, action: "x" })).json.observation).toBe(
      "You said x.",
    );
  });

  it("does not keep the server from closing", async () => {
    const server = await serving({ stepSeconds: 300 });
    await post(server, "create");
    const hanging = post(server, "step", { id: 0, action: "hang" }).catch(
      (error: unknown) => error,
    );
    await sleep(100);
    const start = performance.now();
    await server.close();
    expect(performance.now() - start).toBeLessThan(15_000);
    expect(await hanging).toBeInstanceOf(Error);
  });

  it("a beginning that fails leaves no environment behind", async () => {
    const broken = defineEnvironment({
      ...{ name: "broken", summary: "never begins", maximumSteps: 1, splits: { train: 1 } },
      start: () => {
        throw new Error("out of order");
      },
      intro: () => ({ text: "" }),
      act: () => ({ text: "" }),
    });
    const server = await serving({}, broken);
    expect((await post(server, "create")).json.error).toMatch(/out of order/);
    expect(server.environments).toBe(0);
  });
});

describe("a server with a key", () => {
  it("is used by a world that names the variable that holds it, and by no other", async () => {
    const server = await serveWorld(await openWorld(higherOrLower), { apiKey: "sesame-open" });
    afterTest(() => server.close());
    const open = async (options: object) => {
      const world = await openWorld("agentgym", {
        ...{ url: server.url, kind: "textcraft", retries: 0, ...options },
      });
      afterTest(async () => world.close?.());
      return world.environment().reset((await world.tasks("train")).task(0));
    };
    expect((await failure(() => open({}))).message).toMatch(/status 401.*key=env:NAME/);
    vi.stubEnv("OPENMANUS_TEST_KEY", "sesame-open");
    vi.stubEnv("OPENMANUS_TEST_OTHER_KEY", "something-else");
    expect((await open({ key: "env:OPENMANUS_TEST_KEY" })).text).toMatch(/I think of a number/);
    const wrong = await failure(() => open({ key: "env:OPENMANUS_TEST_OTHER_KEY" }));
    expect(wrong.message).toMatch(/status 401/);
    expect(wrong.message).not.toMatch(/something-else|sesame/);
    expect((await failure(() => open({ key: "env:OPENMANUS_TEST_NO_KEY" }))).message).toMatch(
      /OPENMANUS_TEST_NO_KEY, which is to hold the key, is not set/,
    );
    vi.unstubAllEnvs();
  });
});
