/**
 * @file Servers that mean us no good, met by the real commands: `rollout --server` and the world agentgym.
 * Each attempt ends within seconds, with a sentence that names the server and what was wrong, and without
 * the memory that the server would have liked to fill.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { loadTokenizer } from "../../src/models/index.ts";
import { answerOf, choice } from "../generation/server/fake-server.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";
import { run } from "./command.ts";

type Attack = (response: ServerResponse, request: IncomingMessage) => unknown;

async function listening(attack: Attack): Promise<string> {
  const server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => {
    response.on("error", () => {});
    request.resume();
    request.once("end", () => attack(response, request));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function flood(response: ServerResponse, piece: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

function drip(response: ServerResponse, piece: string): void {
  const clock = setInterval(() => response.write(piece), 50);
  response.once("close", () => clearInterval(clock));
}

const json = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "application/json" });
const events = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const DEEP = "[".repeat(100_000) + "]".repeat(100_000);

/** One sentence: of whom, of what, and nothing that belongs to the machine or commands the terminal. */
function expectTold(text: string, url: string, reason: RegExp): void {
  expect(text).toContain(url);
  expect(text).toMatch(reason);
  expect(text).not.toMatch(/\p{Cc}(?<!\n)|Maximum call stack| at .*\.ts/u);
  expect(text.length).toBeLessThan(3000);
}

/** The command in this process. */
async function ran(...words: string[]): Promise<{ code: number; out: string; errors: string }> {
  const out: string[] = [];
  const errors: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((text: string) => void out.push(text));
  const error = vi
    .spyOn(console, "error")
    .mockImplementation((text: string) => void errors.push(text));
  try {
    return { code: await main(words), out: out.join("\n"), errors: errors.join("\n") };
  } finally {
    log.mockRestore();
    error.mockRestore();
  }
}

type Attacks = Readonly<Record<string, [attack: Attack, reason: RegExp]>>;

/** What any server can do to any client, to cost it memory and time: met by a process of its own. */
const COSTLY: Attacks = {
  "sends a body without end": [
    (response) => flood(json(response), " ".repeat(65_536)),
    /the answer has more than [\d.]+ MB/,
  ],
  "sends a text without end": [
    (response) => {
      json(response).write('{"observation": "');
      flood(response, "x".repeat(65_536));
    },
    /the answer has more than [\d.]+ MB/,
  ],
  "drips for ever": [(response) => drip(json(response), " "), /within 2 s/],
  "never answers": [() => {}, /within 2 s/],
  "reports an error without end": [
    (response) => {
      response.writeHead(400);
      flood(response, "wrong ".repeat(10_000));
    },
    /40\d.*wrong wrong/,
  ],
};

/** What any server can say to any client: met by the command in this process, which is quicker. */
const WRONG: Attacks = {
  "breaks off": [(response) => void response.socket?.destroy(), /connection (failed|broke)/],
  "sends headers without end": [
    (response) => void json(response.setHeader("x-more", "y".repeat(100_000))).end("{}"),
    /headers have more than 16 KB/,
  ],
  "redirects elsewhere": [
    (response) => void response.writeHead(307, { location: "http://192.0.2.1/" }).end(),
    /redirects to http:\/\/192\.0\.2\.1\//,
  ],
  "reports an error that commands the terminal": [
    (response) =>
      void response.writeHead(400).end('{"detail": "\\u001b]0;owned\\u0007\\u001b[2J no"}'),
    /400: \]0;owned \[2J no/,
  ],
  "sends JSON that is nested without end": [
    (response) => void json(response).end(DEEP),
    /an object, got \[\[\[\[/,
  ],
  "sends no JSON": [(response) => void json(response).end("<html>"), /JSON/],
};

describe("rollout --server", () => {
  const model = newModelFolder(temporaryFolder());
  const tokenizer = loadTokenizer(model);
  const ids = tokenizer.encode("look");
  const logprobs = ids.map(() => -1);
  const answer = (change: object): Attack => {
    const whole = answerOf({ ids, logprobs, text: "look" });
    const body = JSON.stringify({ ...whole, choices: [{ ...whole.choices[0], ...change }] });
    return (response) => void json(response).end(body);
  };
  const tokens = (some: { ids?: number[]; logprobs?: number[]; text?: string }): Attack => {
    const body = JSON.stringify(answerOf({ ids, logprobs, text: "look", ...some }));
    return (response) => void json(response).end(body);
  };

  const words = (url: string, ...more: string[]) => [
    ...["rollout", "household", "games=1", "--server", `${url}/v1`, "--model", "m"],
    ...["--tasks", "1", "--turns", "1", "--reply-tokens", "8", "--retries", "0"],
    ...["--server-timeout", "2", "--server-retries", "0", ...more],
  ];

  /** What the command takes when all is well. */
  let usual = Infinity;
  beforeAll(async () => {
    const server = createServer((_, response) => tokens({})(response, _)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const well = await run(words(url, "--tokenizer", model)).finally(() => server.close());
    expect([well.code, well.errors]).toEqual([0, ""]);
    usual = well.memory;
  });

  const OF_TOKENS: Attacks = {
    "streams tokens without end": [
      (response) => {
        const event = { choices: [choice({ ids: [ids[0]!], logprobs: [-1] })] };
        flood(events(response), `data: ${JSON.stringify(event)}\n\n`);
      },
      /has 9 tokens; expected 1 to 8/,
    ],
    "streams one event without end": [
      (response) => {
        events(response).write("data: ");
        flood(response, "x".repeat(65_536));
      },
      /has more than/,
    ],
    "drips events for ever": [(response) => drip(events(response), ": alive\n\n"), /within 2 s/],
    "sends more tokens than it was asked for": [
      tokens({ ids: Array(5000).fill(ids[0]), logprobs: Array(5000).fill(-1), text: "" }),
      /has 5000 tokens; expected 1 to 8/,
    ],
    "sends an id beyond the vocabulary": [
      tokens({ ids: [...ids.slice(1), 1_000_000], text: "" }),
      /token id 1000000; the vocabulary here has \d+ \(is it the same tokenizer\?\)/,
    ],
    "sends a negative id": [tokens({ ids: [...ids.slice(1), -7] }), /must be a list of token ids/],
    "sends half an id": [tokens({ ids: [...ids.slice(1), 3.5] }), /must be a list of token ids/],
    "is more than certain": [
      tokens({ logprobs: ids.map(() => 3) }),
      /has 3; a log-probability is 0 or less/,
    ],
    "writes NaN for a log-probability": [
      (response) =>
        void json(response).end('{"choices": [{"logprobs": {"token_logprobs": [NaN]}}]}'),
      /must be JSON, got .*NaN/,
    ],
    "sends a text that its ids are not": [
      tokens({ text: "open the door" }),
      /its text is "open the door", but its token ids mean "look" here \(is it the same tokenizer\?\)/,
    ],
    "has a text for its choices": [
      (response) => void json(response).end('{"choices": "none"}'),
      /choices must be a list, got "none"/,
    ],
    "has a number for its text": [answer({ text: 5 }), /text must be a string, got 5/],
    "has an object for its ids": [answer({ token_ids: { a: 1 } }), /must be a list of token ids/],
    "nests its error without end": [
      (response) => void json(response).end(`{"error": ${DEEP}}`),
      /the server reports: \[\[\[/,
    ],
  };

  it.each(Object.entries(COSTLY))("a server that %s", async (_, [attack, reason]) => {
    const url = await listening(attack);
    const { code, out, errors, time, memory } = await run(words(url, "--tokenizer", model));
    expect([code, errors]).toEqual([1, ""]);
    expectTold(out, url, reason);
    expect(time).toBeLessThan(20_000);
    expect(memory).toBeLessThan(usual + 60);
  });

  it.each(Object.entries({ ...WRONG, ...OF_TOKENS }))(
    "a server that %s",
    async (_, [attack, reason]) => {
      const url = await listening(attack);
      const { code, out } = await ran(...words(url, "--tokenizer", model));
      expect(code).toBe(1);
      expectTold(out, url, reason);
    },
  );

  it("a chat whose text is far longer than what was asked for", async () => {
    const content = "x".repeat(500_000);
    const body = JSON.stringify({ choices: [{ message: { content } }] });
    const url = await listening((response) => void json(response).end(body));
    const { code, out } = await ran(...words(url));
    expect(code).toBe(1);
    expectTold(out, url, /a text of 500000 characters, more than 8 tokens/);
  });
});

describe("the world agentgym", () => {
  const words = (url: string) => [
    ...["env", "show", "agentgym", `url=${url}`, "kind=textcraft", "retries=0", "timeout=2"],
  ];

  const OF_WORLDS: Attacks = {
    "numbers environments with a text": [
      (response) => void json(response).end('{"id": "0"}'),
      /expected an environment's number, got "0"/,
    ],
    "lists actions without measure": [
      (response) => {
        const actions = Array.from({ length: 30_000 }, (_, i) => `a${i}`);
        json(response).end(JSON.stringify({ id: 0, observation: "", available_actions: actions }));
      },
      /expected a list of at most 20000 texts, got 30000/,
    ],
    "sends an observation without measure": [
      (response) =>
        void json(response).end(JSON.stringify({ id: 0, observation: "x".repeat(5_000_000) })),
      /expected a text of at most 1000000 characters, got 5000000/,
    ],
  };

  it.each(Object.entries(COSTLY))("at a server that %s", async (_, [attack, reason]) => {
    const url = await listening(attack);
    const { code, out, errors, time, memory } = await run(words(url));
    expect([code, out]).toEqual([1, ""]);
    expectTold(errors, url, reason);
    expect(time).toBeLessThan(20_000);
    // Node with our sources takes some 130 MB, and an answer may have 16.
    expect(memory).toBeLessThan(260);
  });

  it.each(Object.entries({ ...WRONG, ...OF_WORLDS }))(
    "at a server that %s",
    async (_, [attack, reason]) => {
      const url = await listening(attack);
      const { code, out, errors } = await ran(...words(url));
      expect([code, out]).toEqual([1, ""]);
      expectTold(errors, url, reason);
    },
  );
});
