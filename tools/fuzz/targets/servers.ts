/**
 * @file Our servers: what clients send to them. The handler is asked without a socket, and `http` sends raw bytes to a real
 * one.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { HostedEnvironments } from "../../../src/environments/agentgym/server/hosted.ts";
import { handlerOf } from "../../../src/environments/agentgym/server/http.ts";
import { routesOf } from "../../../src/environments/agentgym/server/routes.ts";
import { limitsOf, numberedTasks } from "../../../src/environments/agentgym/server/serve.ts";
import { findKind } from "../../../src/environments/agentgym/kinds/index.ts";
import { openWorld } from "../../../src/environments/index.ts";
import { Session } from "../../../src/environments/openenv/server/session.ts";
import { Gateway } from "../../../src/gateway/index.ts";
import { gatewayApp } from "../../../src/gateway/http/app.ts";
import type {
  Completion,
  GenerationRequest,
  TextGenerator,
} from "../../../src/generation/index.ts";
import { byteChat, type Chat } from "../../../src/models/index.ts";
import { openServer } from "../../../src/network/index.ts";
import { bytes, type Target, values, Violation } from "../target.ts";

/** Says what a model could: a call of a function, then a word. */
function speaking(chat: Chat): TextGenerator {
  const said = [
    '<tool_call>{"name": "weather", "arguments": {"city": "Bern"}}</tool_call>',
    "Hello.",
  ];
  let next = 0;
  return {
    async generate({ sampling, onToken }: GenerationRequest): Promise<Completion> {
      const whole = [...chat.tokenizer.encodePlain(said[next++ % 2]!), chat.endOfTurnId];
      const ids = whole.slice(0, sampling.maximumTokens);
      for (const id of ids) onToken?.({ id, logprob: -0.5, sampledLogprob: -0.5 });
      const logprobs = ids.map(() => -0.5);
      return {
        ...{ ids, logprobs, sampledLogprobs: logprobs, cachedTokens: 0, weightsVersion: 0 },
        ...{
          finish: ids.length < whole.length ? "length" : "stop",
          stop: null,
          retokenized: false,
        },
      };
    },
    release() {},
    close: async () => {},
  };
}

const MESSAGES = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "How is the weather?" },
];
const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};
const TOOL = { type: "function", function: { name: "weather", parameters: WEATHER } };
const BODIES: readonly [path: string, body: unknown][] = [
  ["/v1/chat/completions", { model: "m", messages: MESSAGES, max_tokens: 8, temperature: 0.5 }],
  [
    "/v1/chat/completions",
    { messages: MESSAGES, tools: [TOOL], tool_choice: "auto", stream: true },
  ],
  [
    "/v1/chat/completions",
    {
      messages: [
        ...MESSAGES,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "1", type: "function", function: { name: "weather", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "1", content: [{ type: "text", text: "Rain." }] },
      ],
      response_format: { type: "json_schema", json_schema: { name: "w", schema: WEATHER } },
      ...{ n: 1, seed: 3, stop: ["x"], top_p: 0.9, logprobs: true, top_logprobs: 2, max_tokens: 5 },
    },
  ],
  ["/v1/completions", { prompt: "It is", max_tokens: 4, logprobs: 1, echo: false }],
  ["/v1/completions", { prompt: [1, 2, 3], max_tokens: 4, return_token_ids: true }],
  [
    "/v1/messages",
    {
      ...{ model: "m", max_tokens: 8, system: "Be brief.", stop_sequences: ["x"] },
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      tools: [{ name: "weather", input_schema: WEATHER }],
    },
  ],
  ["/v1/messages/count_tokens", { model: "m", messages: [{ role: "user", content: "Hi" }] }],
  [
    "/v1/responses",
    {
      ...{ model: "m", instructions: "Be brief.", max_output_tokens: 8, stream: false },
      input: [{ role: "user", content: [{ type: "input_text", text: "Hi" }] }],
      tools: [{ type: "function", name: "weather", parameters: WEATHER, strict: true }],
    },
  ],
  ["/v1/sessions/a/reward", { reward: 1 }],
];

/** What is mutated is { path, body }. What is sent is the same, as JSON. */
const requests = () => values(BODIES.map(([path, body]) => ({ path, body })));

async function sent(
  handler: (request: Request) => Response | Promise<Response>,
  given: Buffer,
): Promise<void> {
  const { path, body } = Object(JSON.parse(given.toString())) as { path?: unknown; body?: unknown };
  const url = `http://127.0.0.1/${(typeof path === "string" ? path : "v1/completions").replace(/^\/+/, "").slice(0, 500)}`;
  if (!URL.canParse(url)) return;
  const answer = await handler(
    new Request(url, {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-id": "a" },
      body: typeof body === "string" ? body : JSON.stringify(body ?? null),
    }),
  );
  const text = await answer.text();
  if (answer.status >= 500) throw new Violation(`${answer.status}: ${text.slice(0, 1000)}`);
  if (/Cannot read propert|is not a function|is not iterable|\.ts:\d+/.test(text))
    throw new Violation(`tells of itself: ${text.slice(0, 1000)}`);
}

const gateway: Target = {
  name: "gateway",
  words: [
    ...[
      "messages",
      "content",
      "role",
      "user",
      "assistant",
      "tool",
      "system",
      "tool_calls",
      "stream",
    ],
    ...[
      "tools",
      "tool_choice",
      "required",
      "none",
      "response_format",
      "json_object",
      "json_schema",
    ],
    ...[
      "max_tokens",
      "stop",
      "input",
      "text",
      "input_text",
      "function_call",
      "call_id",
      "image_url",
    ],
    ...["tool_use", "tool_result", "thinking", "n", "seed", "logit_bias", "previous_response_id"],
    ...BODIES.map(([path]) => path),
  ],
  errors: [],
  forms: () => [requests()],
  open() {
    const chat = byteChat();
    const made = new Gateway({
      ...{ generator: speaking(chat), chat, contextLength: 2048, model: "m", seed: 1 },
      ...{ toolStyle: "hermes", replyTokens: 64, maximumSessions: 16 },
    });
    const app = gatewayApp(made, { keys: [], sessionsOnly: false });
    return { run: (given) => sent((request) => app.fetch(request), given) };
  },
};

async function hostedWorld(kind: string) {
  const world = await openWorld("maze");
  const limits = limitsOf(world, { maximumEnvironments: 8, spare: 0.001 });
  const tasks = await numberedTasks(world, undefined);
  return { world, hosted: new HostedEnvironments(world, findKind(kind)!, tasks, limits) };
}

const envServe: Target = {
  name: "env-serve",
  words: [
    "id",
    "env_idx",
    "data_idx",
    "action",
    "game",
    "world_type",
    "/create",
    "/reset",
    "/step",
  ],
  errors: [],
  forms: () => [
    values([
      { path: "/create", body: {} },
      { path: "/reset", body: { id: 0, data_idx: 3, game: 1, world_type: "Text" } },
      { path: "/step", body: { id: 0, action: "go north" } },
      { path: "/close", body: { id: 0 } },
    ]),
  ],
  async open() {
    const { world, hosted } = await hostedWorld("textcraft");
    const kind = findKind("textcraft")!;
    const handler = handlerOf(kind, routesOf(kind, world, hosted));
    return { run: (given) => sent(handler, given), close: () => hosted.closeAll() };
  },
};

const openenvServe: Target = {
  name: "openenv-serve",
  words: [
    "reset",
    "step",
    "state",
    "close",
    "mcp",
    "seed",
    "text",
    "list_tools",
    "call_tool",
    "method",
  ],
  errors: [],
  forms: () => [
    values([
      { type: "reset", data: { seed: 3 } },
      { type: "step", data: { text: "go north" } },
      { type: "state" },
      { type: "mcp", data: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} } },
      {
        type: "mcp",
        data: { id: 1, method: "tools/call", params: { name: "act", arguments: { text: "look" } } },
      },
      { type: "step", data: { type: "call_tool", tool_name: "act", arguments: { text: "look" } } },
      { type: "close" },
    ]),
  ],
  async open() {
    const { hosted } = await hostedWorld("textcraft");
    let session = new Session(hosted);
    return {
      async run(given) {
        const answer = await session.answer(given.toString());
        if (answer === undefined) {
          session.ended();
          session = new Session(hosted);
        } else if (/Cannot read propert|is not a function|is not iterable/.test(answer))
          throw new Violation(`tells of itself: ${answer.slice(0, 1000)}`);
      },
      close: () => hosted.closeAll(),
    };
  },
};

const REQUESTS = [
  'POST /v1/x HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a": 1}\n',
  "GET /health?x=%20 HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  "GET /ws HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
];

const http: Target = {
  name: "http",
  words: [
    ...[
      "\r\n",
      "Host: HOST\r\n",
      "Content-Length: 5\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Origin: ",
    ],
    ...[
      "Expect: 100-continue\r\n",
      "HTTP/1.0",
      "OPTIONS",
      "TRACE",
      "//evil",
      "Authorization: Bearer ",
    ],
    ...[
      "Upgrade: websocket\r\n",
      "Content-Encoding: gzip\r\n",
      "Sec-WebSocket-Extensions: permessage-deflate\r\n",
    ],
  ],
  errors: [],
  forms: () => [bytes(REQUESTS.map((text) => Buffer.from(text)))],
  async open() {
    const server = await openServer({
      handler: async (request) => Response.json({ got: (await request.text()).length }),
      sockets: {
        ...{ path: "/ws", maximum: 100, largestMessage: 1000 },
        open: () => ({ answer: async (text) => text, ended() {} }),
      },
      ...{ largestBody: 10_000, headerSeconds: 1, bodySeconds: 1 },
    });
    const host = server.url.slice("http://".length);
    const ask = async (given: Buffer, patience: number): Promise<string> => {
      const socket = connect(server.port, "127.0.0.1");
      let answer = "";
      socket.on("error", () => {});
      socket.on("data", (piece) => {
        answer += piece.toString("latin1");
        socket.destroySoon();
      });
      socket.setTimeout(patience, () => socket.destroy());
      socket.end(given);
      await once(socket, "close");
      return answer;
    };
    let count = 0;
    return {
      async run(given) {
        const text = given.toString("latin1").replaceAll("HOST", host);
        const answer = await ask(Buffer.from(text, "latin1"), 50);
        if (/^HTTP\/1\.1 500/.test(answer)) throw new Violation(answer.slice(0, 1000));
        if (count++ % 50 > 0) return;
        const well = await ask(Buffer.from(`GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`), 5000);
        if (!well.startsWith("HTTP/1.1 200")) throw new Violation(`does not answer on: ${well}`);
      },
      close: () => server.close(),
    };
  },
};

export const targets: readonly Target[] = [gateway, envServe, openenvServe, http];
