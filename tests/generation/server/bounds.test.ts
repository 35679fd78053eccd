/**
 * @file What a server may send for what it was asked: so many bytes, so many tokens, so much time, ids and
 * log-probabilities that can be, and a text that is that of its ids.
 */
import type { ServerResponse } from "node:http";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createChatClient,
  createServerGenerator,
  ServerError,
  type ServerOptions,
} from "../../../src/generation/index.ts";
import { requireAgreement } from "../../../src/generation/server/agreement.ts";
import { testTokenizer } from "../support.ts";
import {
  answerOf,
  beginStream,
  choice,
  fakeServer,
  type Handler,
  sendJson,
} from "./fake-server.ts";

const tokenizer = testTokenizer();
const sampling = { maximumTokens: 8 };
const request = { prompt: [5, 6, 7], sampling, seed: 11 };

async function ask(handler: Handler, options: Partial<ServerOptions> = {}) {
  const server = await fakeServer(handler);
  const generator = createServerGenerator({
    ...{ baseUrl: server.baseUrl, model: "policy", retries: 2, firstWait: 1, tokenizer },
    ...{ timeout: 20_000, ...options },
  });
  const error = await generator.generate(request).then(
    () => undefined,
    (reason: unknown) => reason as ServerError,
  );
  return { error, attempts: server.received.length, server };
}

function flood(response: ServerResponse, piece: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

describe("an answer without end", () => {
  it.each<[string, Handler, RegExp]>([
    [
      "of spaces",
      (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        flood(response, " ".repeat(65_536));
      },
      /\/v1\/completions: the answer has more than 1.1 MB/,
    ],
    [
      "of events",
      (response) => {
        beginStream(response);
        const event = { choices: [choice({ ids: [1], logprobs: [-1] })] };
        flood(response, `data: ${JSON.stringify(event)}\n\n`);
      },
      /has 9 tokens; expected 1 to 8/,
    ],
    [
      "of events that say nothing",
      (response) => {
        beginStream(response);
        flood(
          response,
          `data: ${JSON.stringify({ choices: [choice({ ids: [], logprobs: [] })] })}\n\n`,
        );
      },
      /the answer has more than 1.1 MB/,
    ],
    [
      "of one event",
      (response) => {
        beginStream(response);
        flood(response, "data: xxxxxxxxxxxxxxxxx\n");
      },
      /has more than/,
    ],
    [
      "of comments",
      (response) => {
        beginStream(response);
        flood(response, ": still there\n\n");
      },
      /the answer has more than 1.1 MB/,
    ],
    [
      "of an error",
      (response) => {
        response.writeHead(400, { "content-type": "text/plain" });
        flood(response, "no ".repeat(10_000));
      },
      /answered 400: no no no/,
    ],
  ])("%s is cut off, and not asked for again", async (_, handler, message) => {
    const before = process.memoryUsage().rss;
    const { error, attempts, server } = await ask(handler, { streaming: "always" });
    expect(error).toBeInstanceOf(ServerError);
    expect(error?.message).toMatch(message);
    expect(error?.message).toContain(server.baseUrl);
    expect(error?.message.length).toBeLessThan(1000);
    expect(attempts).toBe(1);
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    await server.received[0]!.closed;
  });

  it("of a chat is cut off, too", async () => {
    const { baseUrl } = await fakeServer((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      flood(response, " ".repeat(65_536));
    });
    const chat = createChatClient({ baseUrl, model: "m", retries: 0 });
    const messages = [{ role: "user", content: "hello" }];
    await expect(chat({ messages, maximumTokens: 8 })).rejects.toThrow(/more than 1.1 MB/);
  });
});

describe("a stream that drips", () => {
  const dripping: Handler = (response) => {
    beginStream(response);
    const clock = setInterval(() => response.write(": alive\n\n"), 20);
    response.once("close", () => clearInterval(clock));
  };

  it("ends when its whole time is over, and is not asked for again", async () => {
    const { error, attempts } = await ask(dripping, { streaming: "always", streamTimeout: 500 });
    expect(error?.message).toMatch(/the answer was not complete within 0.5 s/);
    expect(attempts).toBe(1);
  });

  it("by default has ten times the time of a pause", async () => {
    const { error } = await ask(dripping, { streaming: "always", timeout: 100 });
    expect(error?.message).toMatch(/not complete within 1 s/);
  });

  it("that nobody asked for has the time of a whole answer", async () => {
    const { error } = await ask(dripping, { timeout: 300, retries: 0 });
    expect(error?.message).toMatch(/not complete within 0.3 s/);
  });

  it("must have times that can be", () => {
    const options = { baseUrl: "http://127.0.0.1:1/v1", model: "m", streamTimeout: 0 };
    expect(() => createServerGenerator(options)).toThrow(/streamTimeout must be milliseconds/);
  });
});

describe("tokens that cannot be", () => {
  const ids = tokenizer.encode("go north");
  const logprobs = ids.map(() => -1);
  const changed = (change: object) => {
    const whole = answerOf({ ids, logprobs });
    return { ...whole, choices: [{ ...whole.choices[0], ...change }] };
  };
  const withLogprob = (value: number) =>
    answerOf({ ids, logprobs: logprobs.map((one, i) => (i === 0 ? value : one)) });
  const beyond = [tokenizer.vocabularySize, ...ids.slice(1)];

  it.each<[string, unknown, RegExp]>([
    [
      "an id beyond the vocabulary",
      answerOf({ ids: beyond, logprobs }),
      /token id \d+; the vocabulary here has \d+ \(is it the same tokenizer\?\)/,
    ],
    ["a negative id", answerOf({ ids: [-1, ...ids.slice(1)], logprobs }), /list of token ids/],
    ["half an id", answerOf({ ids: [0.5, ...ids.slice(1)], logprobs }), /list of token ids/],
    [
      "an id that no number holds",
      changed({
        token_ids: null,
        logprobs: { tokens: ["token_id:99999999999999999999"], token_logprobs: [-1] },
      }),
      /list of token ids/,
    ],
    ["more than certainty", withLogprob(0.5), /has 0.5; a log-probability is 0 or less/],
    ["less than nothing", withLogprob(-1e300), /not below -10000/],
    [
      "names that are lists",
      changed({ token_ids: null, logprobs: { tokens: [[[1]]], token_logprobs: [-1] } }),
      /no token ids/,
    ],
    [
      "another text",
      changed({ text: "go south" }),
      /its text is "go south", but its token ids mean "go north"/,
    ],
    ["less text", changed({ text: "g" }), /is it the same tokenizer\?/],
    ["more text", changed({ text: "go north, then east" }), /is it the same tokenizer\?/],
  ])("%s", async (_, answer, message) => {
    const { error, attempts } = await ask((response) => sendJson(response, answer));
    expect(error).toBeInstanceOf(ServerError);
    expect(error?.message).toMatch(message);
    expect(error?.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/completions: /);
    expect(attempts).toBe(1);
  });

  it("are not trained on where the model is smaller than its tokenizer says", async () => {
    const handler: Handler = (response) => sendJson(response, answerOf({ ids, logprobs }));
    const { error } = await ask(handler, { vocabularySize: Math.max(...ids) });
    expect(error?.message).toMatch(/the vocabulary here has/);
    expect((await ask(handler, { vocabularySize: 1e6 })).error).toBeUndefined();
  });

  it("a little above certainty is certainty: servers round", async () => {
    const server = await fakeServer((response) => sendJson(response, withLogprob(5e-5)));
    const { baseUrl } = server;
    const generator = createServerGenerator({ baseUrl, model: "policy", tokenizer });
    expect((await generator.generate(request)).logprobs[0]).toBe(0);
  });

  it("texts that are too long for their tokens are not tokenised again", async () => {
    const says = (text: string): Handler => {
      return (response) => sendJson(response, { choices: [{ text, finish_reason: "stop" }] });
    };
    const { error } = await ask(says("x".repeat(50_000)), { viaText: true });
    expect(error?.message).toMatch(/a text of 50000 characters, more than 8 tokens/);
    const many = await ask(says("q ".repeat(500)), { viaText: true });
    expect(many.error?.message).toMatch(/has \d+ tokens; expected 1 to 8/);
  });

  it("JSON that is nested without end is told, not tripped over", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    for (const [body, message] of [
      [deep, /it must be an object, got \[\[\[/],
      [`{"choices": ${deep}}`, /choices\[0\] must be an object|must have one entry/],
      [`{"error": ${deep}}`, /the server reports: \[\[\[/],
      [`{"choices": [{"finish_reason": ${deep}, "text": ""}]}`, /finish_reason \[\[\[/],
      [
        `{"choices": [{"text": "", "logprobs": {"tokens": ${deep}, "token_logprobs": ${deep}}}]}`,
        /must be a list of numbers/,
      ],
    ] as const) {
      const { error } = await ask((response) => {
        response.writeHead(200, { "content-type": "application/json" }).end(body);
      });
      expect(error).toBeInstanceOf(ServerError);
      expect(error?.message).toMatch(message);
    }
  });
});

describe("text and ids agree", () => {
  const agrees = (text: string, ids: readonly number[], stops: string[] = []) => {
    try {
      requireAgreement(text, ids, tokenizer, stops);
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(ServerError);
      return false;
    }
  };

  it("for whatever text a tokenizer reads", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        const ids = tokenizer.encodePlain(text);
        expect(agrees(tokenizer.decode(ids), ids)).toBe(true);
        // Cut off in the middle of a character, which servers hold back or show as a question mark.
        const part = ids.slice(0, -1);
        if (part.length > 0)
          expect(agrees(tokenizer.decode(part).replace(/\ufffd+$/, ""), part)).toBe(true);
      }),
    );
  });

  it("with special tokens shown or not, a stop string left out, spaces cleaned up, or no text", () => {
    const [special] = [...tokenizer.specialIds];
    const ids = [...tokenizer.encode("go north"), special!];
    expect(agrees("go north", ids)).toBe(true);
    expect(agrees(tokenizer.decode(ids), ids)).toBe(true);
    expect(agrees("", ids)).toBe(true);
    expect(agrees(" go north ", ids)).toBe(true);
    const stopped = tokenizer.encode("go north\nObservation:");
    expect(agrees("go north", stopped, ["\nObservation:"])).toBe(true);
    expect(agrees("go north", stopped)).toBe(false);
    expect(agrees("go south", ids)).toBe(false);
  });
});
