/**
 * @file A server that fails: what is asked again, how long is waited, what the error says.
 */
import { describe, expect, it } from "vitest";
import {
  createServerGenerator,
  ServerError,
  type ServerOptions,
} from "../../../src/generation/index.ts";
import { waitBefore } from "../../../src/generation/server/retry.ts";
import { answerOf, fakeServer, type Handler, sendJson } from "./fake-server.ts";

const tokens = { ids: [40, 41, 2], logprobs: [-0.5, -1.25, -2] };
const request = { prompt: [5, 6, 7], sampling: { maximumTokens: 4 }, seed: 11 };

async function ask(handler: Handler, options: Partial<ServerOptions> = {}) {
  const server = await fakeServer(handler);
  const generator = createServerGenerator({
    baseUrl: server.baseUrl,
    model: "policy",
    apiKey: "secret",
    retries: 2,
    firstWait: 1,
    timeout: 5000,
    ...options,
  });
  const result = await generator.generate(request).then(
    (completion) => ({ completion, error: undefined }),
    (error: unknown) => ({ completion: undefined, error: error as Error }),
  );
  return { ...result, attempts: server.received.length };
}

const good: Handler = (response) => sendJson(response, answerOf(tokens));

describe("what may pass is asked again", () => {
  it.each<[string, Handler]>([
    ["429", (response) => sendJson(response, { error: { message: "busy" } }, 429)],
    ["500", (response) => sendJson(response, { detail: "oops" }, 500)],
    ["503 without a body", (response) => response.writeHead(503).end()],
    ["a dropped connection", (response) => response.destroy()],
    ["a body cut short", (response) => response.writeHead(200).end('{"choices": [{"te')],
    ["no body at all", (response) => response.writeHead(200).end()],
    ["a proxy's page", (response) => response.writeHead(200).end("<html>one moment</html>")],
  ])("%s", async (_, bad) => {
    const { completion, attempts } = await ask((response, received, n) =>
      n < 2 ? bad(response, received, n) : good(response, received, n),
    );
    expect(completion?.ids).toEqual(tokens.ids);
    expect(attempts).toBe(3);
  });

  it("but not for ever", async () => {
    const { error, attempts } = await ask((response) => sendJson(response, {}, 500));
    expect(error).toBeInstanceOf(ServerError);
    expect((error as ServerError).status).toBe(500);
    expect(error?.message).toMatch(/answered 500.*after 3 attempts/);
    expect(attempts).toBe(3);
  });

  it("when nothing listens", async () => {
    const server = await fakeServer(() => {});
    await server.stop();
    const generator = createServerGenerator({
      ...{ baseUrl: server.baseUrl, model: "policy", retries: 1, firstWait: 1 },
    });
    await expect(generator.generate(request)).rejects.toThrow(
      /connection failed while connecting: ECONNREFUSED.*is the server running.*after 2 attempts/,
    );
  });

  it("when nothing comes", async () => {
    const { error } = await ask(() => {}, { timeout: 30, retries: 1 });
    expect(error?.message).toMatch(/nothing came within 0.03 s .*after 2 attempts/);
  });

  it("when a stream falls silent", async () => {
    const { error } = await ask(
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": alive\n\n");
      },
      { timeout: 300, retries: 0, streaming: "always" },
    );
    expect(error?.message).toMatch(/nothing came within 0.3 s/);
  });
});

describe("what will not pass is not", () => {
  it.each<[number, RegExp]>([
    [400, /answered 400: maximum context length is 8 .*prompt too long/],
    [401, /answered 401.*check apiKey/],
    [404, /answered 404.*check baseUrl/],
    [422, /answered 422/],
  ])("status %i", async (status, message) => {
    const body = { error: { message: "maximum context length is 8" } };
    const { error, attempts } = await ask((response) => sendJson(response, body, status));
    expect(error?.message).toMatch(message);
    expect(error?.message).not.toContain("secret");
    expect(attempts).toBe(1);
  });

  it("a redirection: prompt and key go only where the caller said", async () => {
    const { error, attempts } = await ask((response) =>
      response.writeHead(307, { location: "/elsewhere" }).end(),
    );
    expect(error?.message).toMatch(/redirects to \/elsewhere/);
    expect(attempts).toBe(1);
  });

  const whole = answerOf(tokens);
  const [first] = whole.choices;
  const changed = (change: object) => ({ ...whole, choices: [{ ...first, ...change }] });
  it.each<[string, unknown, RegExp]>([
    ["a list", [], /it must be an object, got \[\]/],
    ["no choices", { object: "error" }, /choices must be a list, got nothing/],
    ["two choices", { choices: [first, first] }, /must have one entry/],
    ["no logprobs", changed({ logprobs: null }), /no logprobs: training needs them/],
    [
      "words for ids",
      changed({ token_ids: null, logprobs: { tokens: ["a"], token_logprobs: [-1] } }),
      /no token ids.*viaText/,
    ],
    ["ids that are none", changed({ token_ids: [1, "x", 3] }), /list of token ids, got/],
    ["too few ids", changed({ token_ids: [40, 41] }), /differ/],
    [
      "too few log-probabilities",
      changed({ logprobs: { tokens: ["token_id:40"], token_logprobs: [] }, token_ids: [40] }),
      /1 token ids and 0 log-probabilities/,
    ],
    [
      "null for a log-probability",
      changed({ logprobs: { token_logprobs: [null] } }),
      /list of numbers, got \[null\]/,
    ],
    ["no token", answerOf({ ids: [], logprobs: [] }), /has 0 tokens; expected 1 to 4/],
    [
      "too many tokens",
      answerOf({ ids: [1, 2, 3, 4, 5], logprobs: [-1, -1, -1, -1, -1] }),
      /has 5 tokens; expected 1 to 4/,
    ],
    [
      "a wrong count",
      { ...whole, usage: { completion_tokens: 9 } },
      /has 3 token ids, but says that it made 9/,
    ],
    ["another end", changed({ finish_reason: "content_filter" }), /"content_filter"/],
  ])("an answer with %s", async (_, answer, message) => {
    const { error, attempts } = await ask((response) => sendJson(response, answer));
    expect(error?.message).toMatch(message);
    expect(attempts).toBe(1);
  });
});

describe("the wait before the next attempt", () => {
  const options = { retries: 9, firstWait: 100, longestWait: 1000 };

  it("doubles, with a random half that comes from the seed", () => {
    const waits = Array.from({ length: 7 }, (_, attempt) => waitBefore(attempt, 3n, options));
    for (const [attempt, wait] of waits.entries()) {
      const most = Math.min(1000, 100 * 2 ** attempt);
      expect(wait).toBeGreaterThanOrEqual(most / 2);
      expect(wait).toBeLessThanOrEqual(most);
    }
    expect(waits).toEqual(waits.map((_, attempt) => waitBefore(attempt, 3n, options)));
    expect(waitBefore(0, 4n, options)).not.toBe(waits[0]);
  });

  it("is at least what the server asks for", async () => {
    const times: number[] = [];
    const { completion } = await ask((response, received, n) => {
      times.push(performance.now());
      if (n > 0) return good(response, received, n);
      response.writeHead(429, { "retry-after": "0.2" }).end();
    });
    expect(completion?.ids).toEqual(tokens.ids);
    expect(times[1]! - times[0]!).toBeGreaterThan(195);
  });

  it("is not longer than the caller allows", async () => {
    const { error, attempts } = await ask((response) =>
      response.writeHead(429, { "retry-after": "3600" }).end(),
    );
    expect(error?.message).toMatch(/asks to wait 3600 s, longestWait is 60 s/);
    expect(attempts).toBe(1);
  });

  it("may be given as a date", async () => {
    const past = new Date(Date.now() - 60_000).toUTCString();
    const { attempts } = await ask((response, received, n) =>
      n === 0
        ? response.writeHead(503, { "retry-after": past }).end()
        : good(response, received, n),
    );
    expect(attempts).toBe(2);
  });
});

describe("settings", () => {
  it.each<[Partial<ServerOptions>, RegExp]>([
    [{ baseUrl: "127.0.0.1:8000" }, /baseUrl must be like http/],
    [{ baseUrl: "" }, /baseUrl must be like http/],
    [{ concurrency: 0 }, /concurrency must be a whole number, 1 or more, got 0/],
    [{ retries: -1 }, /retries must be/],
    [{ timeout: Number.NaN }, /timeout must be/],
    [{ longestWait: 0 }, /longestWait must be/],
  ])("%o are refused", (options, message) => {
    expect(() =>
      createServerGenerator({ baseUrl: "http://127.0.0.1:1/v1", model: "m", ...options }),
    ).toThrow(message);
  });
});
