/**
 * @file Servers that break off, hang, lie or talk nonsense: an error with the reason or a clean
 * repetition, and never a hang.
 */
import type { ServerResponse } from "node:http";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KINDS } from "../../../src/environments/agentgym/kinds/index.ts";
import { at, begun, failure, spoiling } from "./counting.ts";
import { fakeServer, sendJson } from "./fake-server.ts";

/** Ways to spoil an answer; each returns what is sent, or deals with the response itself. */
/** `timeout`: seconds; where the fault is to be noticed by it, not so short that a busy machine is at fault. */
type Fault = [spoil: (response: ServerResponse) => unknown, reason: RegExp, timeout?: number];

const FAULTS: Readonly<Record<string, Fault>> = {
  "breaks off before its answer": [
    (response) => void response.destroy(),
    /the connection broke before it answered/,
  ],
  "breaks off in the middle": [
    (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": 1000 });
      response.write('{"observation": "co');
      setTimeout(() => response.destroy(), 20);
    },
    /the connection broke in the middle of its answer/,
  ],
  "answers 500": [
    (response) => sendJson(response, { detail: "Traceback …" }, 500),
    /status 500: Traceback …/,
  ],
  "answers with a page": [
    (response) => void response.writeHead(200).end("<html>Bad Gateway</html>"),
    /must answer with JSON, and answered .*Bad Gateway/,
  ],
  "answers nothing": [
    (response) => void response.writeHead(200).end(),
    /must answer with JSON, and answered nothing/,
  ],
  "answers half of it": [
    (response) => void response.writeHead(200).end('{"observation": "x", "rew'),
    /must answer with JSON/,
  ],
  "leaves a field out": [() => ({ reward: 0, done: false }), /expected a text in "observation"/],
  "has a number for a text": [
    () => ({ observation: 5, reward: 0, done: false }),
    /expected a text in "observation", got 5/,
  ],
  "answers with a list": [() => ["x"], /expected an object, got \["x"\]/],
  "answers null": [() => null, /expected an object, got null/],
  "never answers": [() => undefined, /did not answer within 1 s: it stopped before it answered/, 1],
  drips: [
    (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const drip = setInterval(() => response.write(" "), 20);
      response.once("close", () => clearInterval(drip));
    },
    /did not answer within 1 s: it stopped in the middle of its answer/,
    1,
  ],
  "never stops": [
    (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const flood = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1 << 20, 32)));
      };
      response.on("drain", flood);
      flood();
    },
    /more than 16 MB/,
  ],
};

/** In fields that only the answer to a step has. */
const FAULTS_OF_STEPS: Readonly<Record<string, Fault>> = {
  "has a text for a number": [
    () => ({ observation: "x", reward: "1", done: false }),
    /expected a number in "reward", got "1"/,
  ],
  "has a number beyond all numbers": [
    (response) =>
      void response.writeHead(200).end('{"observation": "x", "reward": 1e999, "done": false}'),
    /expected a number in "reward"/,
  ],
  "has a text for yes or no": [
    () => ({ observation: "x", reward: 0, done: "no" }),
    /expected true or false in "done"/,
  ],
};

describe.each(Object.entries({ ...FAULTS, ...FAULTS_OF_STEPS }))(
  "a server that %s",
  (_, [spoil, reason, timeout = 30]) => {
    it("always, when stepping: an error with the reason", async () => {
      const server = await fakeServer(spoiling("/step", spoil, () => true));
      const environment = await begun(await at(server.url, { timeout, retries: 1 }));
      const error = await failure(() => environment.step("count"));
      expect(error.message).toMatch(reason);
      expect(error.message).toContain(`${server.url}/step`);
      expect(error.message).toMatch(/asked 2 times/);
    });

    it("once: the episode is repeated, and nothing is done twice", async () => {
      const server = await fakeServer(spoiling("/step", spoil, (nth) => nth === 3));
      const environment = await begun(await at(server.url, { timeout }));
      for (const count of [1, 2, 3, 4])
        expect((await environment.step("count")).observation.text).toBe(`count ${count}`);
      // Two steps, the lost one, then a new environment in which two are repeated, and the rest.
      expect(server.asked.filter(({ path }) => path === "/create").length).toBe(2);
      expect(server.asked.filter(({ path }) => path === "/step").length).toBe(3 + 2 + 2);
    });

    it("once, and the user wants no repetition: an error", async () => {
      const server = await fakeServer(spoiling("/step", spoil, (nth) => nth === 2));
      const environment = await begun(await at(server.url, { timeout, replay: false }));
      await environment.step("count");
      expect((await failure(() => environment.step("count"))).message).toMatch(reason);
      expect((await failure(() => environment.step("count"))).message).toMatch(/call reset/);
    });
  },
);

describe.each(Object.entries(FAULTS))(
  "a reset at a server that %s",
  (_, [spoil, reason, timeout = 30]) => {
    it("is an error with the reason", async () => {
      const server = await fakeServer(spoiling("/reset", spoil, () => true));
      const world = await at(server.url, { timeout, retries: 0 });
      const error = await failure(() => begun(world));
      expect(error.message).toMatch(reason);
      expect(error.message).toContain(`${server.url}/reset`);
    });
  },
);

describe("any JSON at all", () => {
  it.each(KINDS)("is read by $name, or refused with what was expected", (kind) => {
    const reads = [
      kind.readCreated,
      kind.readReset,
      kind.readStep,
      kind.actions?.read ?? (() => []),
    ];
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...reads), (json, read) => {
        try {
          read(json);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          expect((error as Error).message).toMatch(/^expected /);
        }
      }),
    );
  });
});
