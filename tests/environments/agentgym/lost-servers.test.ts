/**
 * @file Servers that are away, busy, refuse or forget; closing, and misuse.
 */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { openWorld, serveWorld } from "../../../src/environments/index.ts";
import { at, begun, counter, failure, spoiling } from "./counting.ts";
import { afterTest, fakeServer, sendJson } from "./fake-server.ts";

describe("a server that is not there", () => {
  it("is named, with what to do", async () => {
    const server = await fakeServer(() => null);
    await server.stop();
    const error = await failure(async () => begun(await at(server.url)));
    expect(error.message).toMatch(/cannot be reached: ECONNREFUSED .*is the server running\?/);
    expect(error.message).toMatch(/asked 3 times/);
  });

  it("is left for one that is", async () => {
    const gone = await fakeServer(() => null);
    await gone.stop();
    const server = await fakeServer(counter());
    const world = await at(`${gone.url},${server.url}`);
    for (let i = 0; i < 3; i++)
      expect((await (await begun(world)).step("count")).observation.text).toBe("count 1");
  });

  it("goes, comes back and has forgotten everything: the episode is repeated", async () => {
    const server = await fakeServer(counter());
    const environment = await begun(await at(server.url, { retries: 6, wait: 0.05 }));
    await environment.step("count");
    await server.stop();
    const next = environment.step("count");
    await new Promise((resolve) => setTimeout(resolve, 120));
    await fakeServer(counter(), Number(new URL(server.url).port));
    expect((await next).observation.text).toBe("count 2");
  });

  it("dies while others live: the episode goes on at one of them", async () => {
    const servers = [await fakeServer(counter()), await fakeServer(counter())];
    const world = await at(servers.map(({ url }) => url).join());
    const environment = await begun(world);
    await environment.step("count");
    await servers[0]!.stop();
    expect((await environment.step("count")).observation.text).toBe("count 2");
    expect(servers[1]!.asked.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["/create", "/reset", "/step"]),
    );
  });
});

describe("a server that is busy", () => {
  it("is asked again, and nothing is done twice", async () => {
    const busy = (response: ServerResponse) => sendJson(response, { detail: "busy" }, 503);
    const server = await fakeServer(spoiling("/step", busy, (nth) => nth === 2));
    const environment = await begun(await at(server.url));
    await environment.step("count");
    expect((await environment.step("count")).observation.text).toBe("count 2");
    expect(server.asked.filter(({ path }) => path === "/create").length).toBe(1);
  });
});

describe("a server that gives an environment twice", () => {
  /** As AgentGym's sqlgym server: so many, and then the first of them again. */
  const pooled = (places: number) => {
    const right = counter();
    let created = 0;
    return fakeServer((asked) => {
      if (asked.path !== "/create") return right(asked);
      return { id: created++ % places, observation: "", done: false, reward: 0 };
    });
  };

  it("is not asked to play two episodes in one", async () => {
    const server = await pooled(3);
    const world = await at(server.url);
    const players = await Promise.all([1, 2, 3].map(() => begun(world)));
    for (const player of players) await player.step("count");
    const error = await failure(() => begun(world));
    expect(error.message).toMatch(
      /has no environment left: the new one is number \d, which is in use, as are 3 in all.*asked 3 times/,
    );
    for (const player of players)
      expect((await player.step("count")).observation.text).toBe("count 2");
    await players[0]!.close?.();
    expect((await (await begun(world)).step("count")).observation.text).toBe("count 1");
  });

  it("is left for another that has one", async () => {
    const servers = [await pooled(1), await pooled(2)];
    const world = await at(servers.map(({ url }) => url).join());
    const players = await Promise.all([1, 2, 3].map(() => begun(world)));
    for (const player of players)
      expect((await player.step("count")).observation.text).toBe("count 1");
  });
});

describe("a server that refuses", () => {
  it("a task: its own words, and no second try with a new environment", async () => {
    const right = counter();
    const server = await fakeServer((asked) =>
      asked.path === "/reset" ? { error: "The game 3 is not valid." } : right(asked),
    );
    const error = await failure(async () => begun(await at(server.url)));
    expect(error.message).toMatch(/error: "The game 3 is not valid\."/);
    expect(server.asked.filter(({ path }) => path === "/reset").length).toBe(1);
  });

  it.each([
    [404, { detail: "Not Found" }, /status 404: Not Found \(is it a server of this kind/],
    [422, { detail: [{ loc: ["id"] }] }, /422: .*"loc".*does not know these fields/],
    [302, {}, /redirects to http:\/\/elsewhere\//],
  ])("with status %d: at once, with advice", async (status, body, reason) => {
    const server = await fakeServer((_, response) => {
      response.setHeader("location", "http://elsewhere/");
      sendJson(response, body, status);
    });
    const error = await failure(async () => begun(await at(server.url)));
    expect(error.message).toMatch(reason);
    expect(server.asked.length).toBe(1);
  });

  it("an environment that it has forgotten: a new one is taken", async () => {
    const forgotten = () => ({ error: "The id 0 is not valid." });
    const server = await fakeServer(spoiling("/step", forgotten, (nth) => nth === 2));
    const environment = await begun(await at(server.url));
    await environment.step("count");
    expect((await environment.step("count")).observation.text).toBe("count 2");
  });
});

describe("a world that is not deterministic", () => {
  it("is noticed when an episode is repeated", async () => {
    const right = counter();
    let steps = 0;
    const server = await fakeServer((asked, response) => {
      if (asked.path !== "/step") return right(asked);
      steps++;
      if (steps === 2) return void response.destroy();
      return { observation: `step ${steps}`, reward: 0, done: false };
    });
    const environment = await begun(await at(server.url));
    await environment.step("count");
    const error = await failure(() => environment.step("count"));
    expect(error.message).toMatch(/step 1 came out differently: "step 3" instead of "step 1"/);
  });
});

describe("a reset that fails", () => {
  it("leaves no episode behind, also not the one before", async () => {
    const right = counter();
    const server = await fakeServer((asked) =>
      (asked.body as { data_idx?: number }).data_idx === 4 ? { error: "no such" } : right(asked),
    );
    const world = await at(server.url);
    const environment = await begun(world);
    await environment.step("count");
    const next = (await world.tasks("train")).task(4);
    expect((await failure(() => environment.reset(next))).message).toMatch(/no such/);
    expect((await failure(() => environment.step("count"))).message).toMatch(/call reset/);
    await environment.reset((await world.tasks("train")).task(5));
    expect((await environment.step("count")).observation.text).toBe("count 1");
  });
});

describe("closing", () => {
  it("ends what is under way at once", async () => {
    const server = await fakeServer(
      spoiling(
        "/step",
        () => undefined,
        () => true,
      ),
    );
    const world = await at(server.url, { timeout: 60 });
    const environment = await begun(world);
    const start = performance.now();
    const pending = failure(() => environment.step("count"));
    await new Promise((resolve) => setTimeout(resolve, 30));
    await environment.close?.();
    expect((await pending).message).toMatch(/it is closed/);
    expect(performance.now() - start).toBeLessThan(5000);
    expect((await failure(() => environment.step("count"))).message).toMatch(/it is closed/);
    // The server hears of it, although it never answered.
    await expect.poll(() => server.asked.at(-1)).toMatchObject({ path: "/close", body: { id: 0 } });
  });

  it("a world ends all of its environments, also while they wait to ask again", async () => {
    const gone = await fakeServer(() => null);
    await gone.stop();
    const world = await at(gone.url, { retries: 100, wait: 60 });
    const pending = Promise.all([1, 2, 3].map(() => failure(() => begun(world))));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await world.close?.();
    for (const error of await pending) expect(error.message).toMatch(/it is closed/);
  });

  it("gives environments that cannot be closed to the next", async () => {
    const local = await openWorld("maze");
    const server = await serveWorld(local);
    afterTest(() => server.close());
    const world = await at(server.url, { kind: "maze" });
    for (let i = 0; i < 5; i++) await (await begun(world)).close?.();
    expect(server.environments).toBe(1);
    await world.close?.();
    expect(server.environments).toBe(0);
  });
});

describe("misuse", () => {
  it("is an error that says what to do", async () => {
    const server = await fakeServer(counter());
    const world = await at(server.url);
    const environment = world.environment();
    expect((await failure(() => environment.step("x"))).message).toMatch(/call reset/);
    const task = { environment: "agentgym", split: "train", id: "x", data: { index: -1 } };
    expect((await failure(() => environment.reset(task))).message).toMatch(/is not one of this/);
    await environment.reset((await world.tasks("train")).task(0));
    const first = environment.step("count");
    expect((await failure(() => environment.step("count"))).message).toMatch(/still under way/);
    await first;
  });
});
