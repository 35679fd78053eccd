/**
 * @file The world of tools: episodes, the expert, judges, hostile actions.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { verifyWorld } from "../../../src/cli/support/worlds/verify.ts";
import {
  EnvironmentError,
  findWorld,
  openWorld,
  type Task,
  type World,
} from "../../../src/environments/index.ts";
import { createJudge } from "../../../src/environments/tools/scoring/judge.ts";
import { isMissing, sharedFile } from "../../support/shared.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld("tools", { questions: 300 });
});
afterAll(() => world.close!());

const task = (question: string, answer: string): Task => ({
  ...{ environment: "tools", split: "x", id: "x", data: { question, answer } },
});
const call = (name: string, given: object): string => JSON.stringify({ name, arguments: given });

describe("the world", () => {
  it("is known by its names and offers its tools", async () => {
    expect((await findWorld("tool_use")).name).toBe("tools");
    expect(world.tools!.map(({ name }) => name)).toEqual([
      ...["calculator", "search", "javascript", "answer"],
    ]);
    for (const { parameters, description } of world.tools!) {
      expect(parameters).toMatchObject({ type: "object", properties: expect.anything() });
      expect(description).not.toBe("");
    }
    const fetching = await openWorld("tools", { tools: "fetch,calculator" });
    expect(fetching.tools!.map(({ name }) => name)).toEqual(["calculator", "fetch", "answer"]);
  });

  it("is solved by its solutions, and by the expert from what it sees", async () => {
    expect(await verifyWorld(world, world.splits)).toEqual({ games: 500, won: 500, failures: [] });
    const environment = world.environment();
    for (const split of world.splits) {
      const tasks = await world.tasks(split);
      for (let index = 0; index < 200; index++) {
        const expert = world.expert!(index);
        let observation = await environment.reset(tasks.task(index));
        let won = false;
        for (let step = 0; step < 12 && !won; step++) {
          const result = await environment.step(expert.act(observation));
          observation = result.observation;
          won = result.won;
          if (result.done) break;
        }
        expect(won, tasks.task(index).id).toBe(true);
      }
    }
  });

  it.skipIf(isMissing("data/openmanus/gaia/val.parquet"))("asks GAIA's questions", async () => {
    const gaia = await openWorld("gaia", { data: sharedFile("data/openmanus/gaia/val.parquet") });
    expect(gaia.splits).toEqual(["validation"]);
    expect(gaia.tools!.map(({ name }) => name)).toEqual(["calculator", "javascript", "answer"]);
    expect(await verifyWorld(gaia, gaia.splits)).toMatchObject({ games: 127, won: 127 });
    expect(gaia.expert).toBeUndefined();
    await gaia.close!();
  });

  it.each([
    [{ data: "/nowhere.json" }, /there is no file/],
    [{ corpus: "/nowhere" }, /there is nothing at/],
    [{ judgeUrl: "http://127.0.0.1:1/v1" }, /needs judgeModel/],
    [{ judgeUrl: "nonsense", judgeModel: "m" }, /judgeUrl must be like/],
    [{ tools: "browser" }, /cannot hold "browser"/],
  ])("refuses %j", async (options, message) => {
    await expect(openWorld("tools", options)).rejects.toThrow(message);
  });
});

describe("an episode", () => {
  it("calls tools, is told of failures, and ends with the answer", async () => {
    const environment = world.environment();
    await expect(environment.step("x")).rejects.toThrow(/reset/);
    const first = await environment.reset(task("What is 2 + 2?", "4"));
    expect(first.instruction).toBe("What is 2 + 2?");
    expect(first.text).toMatch(/^Question: What is 2 \+ 2\?\n\nTools:\ncalculator /);
    const said = async (action: string) => (await environment.step(action)).observation.text;
    expect(await said(call("calculator", { expression: "2+2" }))).toBe("4");
    expect(await said(call("javascript", { code: "2+2" }))).toBe("4");
    expect(await said('tool: calculator\nparameters: {"expression": "1/0"}')).toBe(
      "calculator failed: division by zero",
    );
    expect(await said(call("calculater", {}))).toMatch(
      /no tool "calculater"; did you mean calculator/,
    );
    expect(await said(call("fetch", { url: "http://x" }))).toMatch(/no tool "fetch"/);
    expect(await said("think")).toMatch(/That is not a call/);
    const copy = environment.clone!();
    const end = await environment.step("<answer> 4. </answer>");
    expect(end).toMatchObject({ done: true, won: true, reward: 10, score: 1 });
    expect(await environment.step("x")).toEqual({ ...end, reward: 0 });
    expect(await copy.step(call("answer", { answer: "5" }))).toMatchObject({
      ...{ done: true, won: false, lost: true, reward: 0 },
    });
  });

  it("has anchors that tell apart what is known", async () => {
    const environment = world.environment();
    const anchors = [(await environment.reset(task("q", "a"))).anchor];
    for (const expression of ["1", "1", "2"])
      anchors.push((await environment.step(call("calculator", { expression }))).observation.anchor);
    expect(new Set(anchors).size).toBe(4);
  });

  it("survives actions of any bytes and any length", async () => {
    const environment = world.environment();
    const name = fc.constantFrom("calculator", "search", "nope", "__proto__", "constructor", "");
    const action = fc.oneof(
      fc.string({ unit: "binary", maxLength: 100 }),
      fc
        .tuple(name, fc.dictionary(fc.string(), fc.jsonValue()))
        .map(([name, given]) => call(name, given)),
      fc
        .tuple(name, fc.string())
        .map(([name, text]) => call(name, { expression: text, query: text })),
    );
    await fc.assert(
      fc.asyncProperty(action, async (action) => {
        await environment.reset(task("q", "a"));
        const { observation } = await environment.step(action);
        expect(observation.text.length).toBeLessThan(9000);
      }),
    );
    await environment.reset(task("q", "a"));
    for (const unit of ["x", "{", " ", "<answer>", "\0", "\ud800"])
      expect((await environment.step(unit.repeat(1e6))).observation.text).toMatch(/too long/);
  });

  it("is refused for tasks that are not ours", () => {
    for (const data of [undefined, null, 5, {}, { question: 1, answer: "x" }])
      expect(() => world.environment().reset({ ...task("q", "a"), data: data as never })).toThrow(
        EnvironmentError,
      );
  });
});

describe("the judge", () => {
  let server: Server;
  let url: string;
  let asked: { headers: IncomingMessage["headers"]; body: string }[];
  let handler: (response: ServerResponse, count: number) => void;
  const say = (content: unknown) => (response: ServerResponse) =>
    void response.end(JSON.stringify({ choices: [{ message: { content } }] }));

  beforeEach(async () => {
    asked = [];
    server = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      asked.push({ headers: request.headers, body });
      handler(response, asked.length);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const judge = (options = {}) =>
    createJudge({ ...{ url, model: "m", timeout: 20_000, retries: 1 }, ...options })({
      ...{ question: "q", expected: "e", given: "g" },
    });

  it("is asked only when the answer is not exact, with its key", async () => {
    process.env.TEST_JUDGE_KEY = "secret";
    handler = say("yes, it is the same");
    const options = {
      judgeUrl: url,
      judgeModel: "m",
      judgeKey: "TEST_JUDGE_KEY",
      tools: "calculator",
    };
    const judged = await openWorld("tools", options);
    const environment = judged.environment();
    await environment.reset(task("Capital of France?", "Paris"));
    expect((await environment.step("FINAL_ANSWER: paris")).won).toBe(true);
    expect(asked).toHaveLength(0);
    await environment.reset(task("Capital of France?", "Paris"));
    const end = await environment.step("FINAL_ANSWER: the city of Paris");
    expect(end).toMatchObject({
      won: true,
      observation: { info: { judge: "yes, it is the same" } },
    });
    expect(asked[0]!.headers.authorization).toBe("Bearer secret");
    expect(JSON.parse(asked[0]!.body)).toMatchObject({ model: "m", temperature: 0 });
    handler = say("<think>yes?</think>No. They differ.");
    await environment.reset(task("Capital of France?", "Paris"));
    expect((await environment.step("FINAL_ANSWER: Rome")).won).toBe(false);
  });

  it("is asked again when it fails, and in the end that is an error", async () => {
    handler = (response, count) =>
      count === 1 ? void response.writeHead(503).end() : say("no")(response);
    expect((await judge()).right).toBe(false);
    expect(asked).toHaveLength(2);
    handler = (response) => void response.writeHead(401).end("bad key");
    await expect(judge()).rejects.toThrow(/did not decide: it answered 401: bad key/);
    expect(asked).toHaveLength(3);
  });

  it.each([
    ["silence", () => {}, /did not decide/],
    ["nonsense", (response: ServerResponse) => void response.end("<html>"), /did not decide/],
    ["another form", (response: ServerResponse) => void response.end("{}"), /no "choices/],
    [
      "a list",
      (response: ServerResponse) => void response.end('{"choices": [null]}'),
      /did not decide/,
    ],
    ["maybe", say("maybe"), /neither yes nor no: "maybe"/],
    ["no text", say({ a: 1 }), /no "choices/],
    [
      "a redirect",
      (r: ServerResponse) => void r.writeHead(302, { location: "/" }).end(),
      /did not decide/,
    ],
    [
      "a flood",
      (response: ServerResponse) => {
        const more = (): void => {
          while (!response.destroyed && response.write("x".repeat(1 << 20)));
          if (!response.destroyed) response.once("drain", more);
        };
        more();
      },
      /too long/,
    ],
  ])("that answers with %s is a clear error", async (what, handle, message) => {
    handler = handle;
    const timeout = what === "silence" ? 300 : 20_000;
    await expect(judge({ retries: 0, timeout })).rejects.toThrow(message);
    await expect(judge({ retries: 0, timeout })).rejects.toThrow(EnvironmentError);
  });
});
