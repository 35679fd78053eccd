/**
 * @file Other people's servers: what they answer to our clients.
 */
import { agentgymWorld } from "../../../src/environments/agentgym/world.ts";
import { KIND_NAMES } from "../../../src/environments/agentgym/kinds/index.ts";
import { EnvironmentError } from "../../../src/environments/index.ts";
import { openenvWorld } from "../../../src/environments/openenv/world.ts";
import { mcpTools } from "../../../src/environments/tools/mcp/client.ts";
import { createServerGenerator, ServerError } from "../../../src/generation/index.ts";
import { byteChat } from "../../../src/models/index.ts";
import { eventData, ExchangeError } from "../../../src/network/index.ts";
import { answeringServer, answersOf } from "../builders/answering.ts";
import { bytes, type Target, texts, values } from "../target.ts";

/** Of any kind: what AgentGym's servers answer to create, reset and step. */
const EPISODES = [
  [
    { id: 0 },
    { observation: "Start", done: false, reward: 0 },
    { observation: "End", done: true, reward: 1 },
  ],
  [0, "Go.", { state: "Here", reward: 0.5, done: false, info: {} }],
  [
    { id: 1 },
    { observation: "x", available_actions: ["look", "take {a}"], done: false, task_type: "pick" },
    { observation: "y", available_actions: [], done: true, reward: 1 },
  ],
  [{ env_idx: 0 }, { obs: "grid" }, { observation: "z", reward: 0, score: 1, done: true }],
];

const agentgym: Target = {
  name: "agentgym",
  words: [
    "observation",
    "done",
    "reward",
    "state",
    "id",
    "env_idx",
    "available_actions",
    "error",
    "score",
  ],
  errors: [EnvironmentError],
  forms: () => [values(EPISODES), texts('{"error": "x"}', "Internal Server Error")],
  async open() {
    const server = await answeringServer();
    let count = 0;
    return {
      async run(given) {
        server.give(answersOf(given));
        const world = agentgymWorld({
          ...{
            url: [server.url],
            kind: KIND_NAMES[count++ % KIND_NAMES.length]!,
            tasks: 10,
            testTasks: 0,
          },
          ...{ first: 0, timeout: 5, retries: 0, wait: 0.001, replay: false, winReward: undefined },
          key: undefined,
        });
        const environment = world.environment();
        const tasks = await world.tasks("train");
        try {
          await environment.reset(tasks.task(0));
          await environment.step("look");
          await environment.step("take lamp");
        } finally {
          await environment.close();
          await world.close?.();
        }
      },
      close: () => server.close(),
    };
  },
};

const TEXT_SCHEMA = { action: { properties: { text: { type: "string" } }, required: ["text"] } };

const openenv: Target = {
  name: "openenv",
  words: [
    "observation",
    "data",
    "type",
    "error",
    "done",
    "reward",
    "text",
    "admissible_actions",
    "won",
    "tool_name",
  ],
  errors: [EnvironmentError],
  forms: () => [
    values([
      [
        TEXT_SCHEMA,
        {
          type: "observation",
          data: { observation: { text: "Start" }, done: false, reward: null },
        },
        {
          type: "observation",
          data: { observation: { text: "End", won: true }, done: true, reward: 1 },
        },
      ],
      [
        { action: { properties: { tool_name: { type: "string" } } } },
        {
          type: "observation",
          data: { observation: { tools: [{ name: "act", input_schema: {} }] } },
        },
        {
          type: "observation",
          data: { observation: { content: "a", admissible: ["b"] }, reward: true },
        },
        { type: "error", data: { message: "no", code: "EXECUTION_ERROR" } },
      ],
    ]),
    texts("{}"),
  ],
  async open() {
    const server = await answeringServer();
    return {
      async run(given) {
        server.give(answersOf(given));
        const world = await openenvWorld({
          ...{ url: [server.url], tasks: 5, testTasks: 0, first: 0, timeout: 5, field: undefined },
          ...{ text: undefined, winAt: 1, key: undefined },
        });
        try {
          const environment = world.environment();
          await environment.reset((await world.tasks("train")).task(0));
          await environment.step("look");
          await environment.step('{"name": "act", "arguments": {}}');
        } finally {
          await world.close?.();
        }
      },
      close: () => server.close(),
    };
  },
};

const rpc = (result: unknown) => ({ jsonrpc: "2.0", id: "ID", result });
const MCP = [
  rpc({ protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "s", version: "1" } }),
  "",
  rpc({
    tools: [{ name: "add", description: "Adds.", inputSchema: { type: "object", properties: {} } }],
  }),
  rpc({
    content: [
      { type: "text", text: "5" },
      { type: "image", mimeType: "image/png" },
    ],
  }),
];

/** What a failed call of a tool tells the agent; anything else is none of ours. */
class ToolFailure extends Error {}

const mcp: Target = {
  name: "mcp",
  words: [
    "result",
    "error",
    "tools",
    "content",
    "isError",
    "nextCursor",
    "inputSchema",
    "ID",
    "message",
  ],
  errors: [EnvironmentError, ToolFailure],
  forms: () => [
    values([
      MCP,
      [...MCP.slice(0, 3), { jsonrpc: "2.0", id: "ID", error: { code: -1, message: "no" } }],
      [...MCP.slice(0, 3), rpc({ structuredContent: { a: 1 }, isError: true, content: [] })],
    ]),
    texts(`data: ${JSON.stringify(MCP[0])}\n\n`),
  ],
  async open() {
    const server = await answeringServer();
    let count = 0;
    return {
      async run(given) {
        const answers = answersOf(given);
        const isStream = count++ % 3 === 0;
        const wrapped = isStream
          ? answers.map((answer) => `event: message\ndata: ${answer}\n\n`)
          : answers;
        server.give(wrapped, isStream ? "text/event-stream" : "application/json");
        const tools = await mcpTools(`${server.url}/mcp`, { start: 5000, call: 5000 });
        try {
          await tools[0]!.execute({ a: 1 });
        } catch (error) {
          // The world shows these to the agent, as sentences: a slip of ours is none.
          if (error instanceof TypeError || error instanceof RangeError) throw error;
          throw new ToolFailure(`the tool: ${(error as Error).message}`);
        } finally {
          for (const tool of tools) await tool.close?.();
        }
      },
      close: () => server.close(),
    };
  },
};

const completion = (more: object) => ({
  choices: [
    {
      ...{ text: "AB", token_ids: [65, 66], finish_reason: "stop", stop_reason: null, ...more },
      logprobs: { tokens: ["token_id:65", "token_id:66"], token_logprobs: [-0.1, -0.2] },
    },
  ],
  usage: { completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
});

const vllm: Target = {
  name: "vllm",
  words: [
    "choices",
    "token_ids",
    "logprobs",
    "token_logprobs",
    "finish_reason",
    "length",
    "usage",
    "text",
    "content",
    "[DONE]",
    "data: ",
  ],
  errors: [ServerError],
  forms: () => [
    values([
      [completion({})],
      [completion({ finish_reason: "length" })],
      [
        {
          choices: [
            {
              ...{ text: "A", finish_reason: "stop" },
              logprobs: { content: [{ id: 65, logprob: -0.5, token: "A" }] },
            },
          ],
        },
      ],
      [{ error: { message: "overloaded", code: 400 } }],
    ]),
    texts(`data: ${JSON.stringify(completion({}))}\n\ndata: [DONE]\n\n`),
  ],
  async open() {
    const server = await answeringServer();
    const { tokenizer } = byteChat();
    const options = { baseUrl: `${server.url}/v1`, model: "m", retries: 0, timeout: 5000 };
    const generators = [
      createServerGenerator({ ...options, tokenizer }),
      createServerGenerator({ ...options, streaming: "always" }),
      createServerGenerator({ ...options, tokenizer, viaText: true }),
    ];
    let count = 0;
    return {
      async run(given) {
        const which = count++ % generators.length;
        const answers = answersOf(given);
        const isStream = which === 1;
        server.give(
          isStream ? [answers.map((answer) => `data: ${answer}\n\n`).join("")] : answers,
          isStream ? "text/event-stream" : "application/json",
        );
        await generators[which]!.generate({
          ...{ prompt: [65, 66, 67], seed: 1 },
          sampling: { maximumTokens: 8, temperature: 1, stopTokens: [0] },
        });
      },
      async close() {
        for (const generator of generators) await generator.close();
        await server.close();
      },
    };
  },
};

const events: Target = {
  name: "events",
  words: ["data: ", "event: ", "id: ", "\n\n", "\r\n", "\r", ": ", "retry: 5", "data"],
  errors: [ExchangeError],
  forms: () => [
    bytes([Buffer.from('event: x\ndata: {"a": 1}\n\n: still here\r\n\r\ndata: b\rdata: c\r\r')]),
  ],
  open: () => ({
    async run(given) {
      async function* pieces() {
        for (let at = 0; at < given.length; at += 1 + (at % 7))
          yield given.subarray(at, at + 1 + (at % 7));
      }
      for await (const data of eventData(pieces(), 2000))
        if (typeof data !== "string") throw new TypeError("an event without data");
    },
  }),
};

export const targets: readonly Target[] = [agentgym, openenv, mcp, vllm, events];
