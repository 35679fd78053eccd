/**
 * @file `serve` under attack, as a process of its own: pages of the web, wrong keys, other people's sessions, hostile
 * bodies, clients that leave. Nothing of it is answered with anything but a refusal, and the server answers on.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTrajectories } from "../../src/rollout/index.ts";
import { newModelFolder } from "../rollout/support.ts";
import { type RunningServer, run, startServer } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "openmanus-served-"));
const records = join(folder, "records");
let server: RunningServer;

beforeAll(async () => {
  newModelFolder(folder);
  const words = ["serve", join(folder, "tiny"), "--port", "0", "--record", records];
  const keys = ["--api-key", "env:ONE", "--api-key", "env:OTHER"];
  server = await startServer([...words, ...keys, "--at-once", "40"], {
    ONE: "key-one",
    OTHER: "key-two",
  });
}, 120_000);
afterAll(() => {
  server.child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const CHAT = { model: "m", messages: [{ role: "user", content: "go to desk 1" }], max_tokens: 4 };

function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  return fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer key-one", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

const works = async () => expect((await post("/v1/chat/completions", CHAT)).status).toBe(200);

/** Until nobody's reply is drawn any more: whoever left has freed their place. */
async function untilIdle(): Promise<void> {
  const headers = { authorization: "Bearer key-one" };
  for (let i = 0; i < 300; i++) {
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    if (/openmanus_running_replies 0\n/.test(text)) return;
    await sleep(100);
  }
  throw new Error("replies are still drawn for clients that have gone");
}

describe("who may ask", () => {
  it.each<[string, number, Record<string, string>]>([
    ["no key", 401, { authorization: "" }],
    ["a wrong key", 401, { authorization: "Bearer key-thre" }],
    ["a key with more behind it", 401, { authorization: "Bearer key-oneX" }],
    ["a name in place of a key", 401, { authorization: "Bearer :session" }],
    ["a page of the web", 403, { origin: "https://evil.example" }],
    ["a page's text", 415, { "content-type": "text/plain" }],
    ["a session's name that is none", 400, { "x-session-id": "../../etc" }],
  ])("%s: %i", async (_, status, headers) => {
    expect((await post("/v1/chat/completions", CHAT, headers)).status).toBe(status);
  });

  it("is asked on every path but health", async () => {
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    for (const path of ["/metrics", "/v1/models", "/v1/sessions/a", "/s/a/v1/models"])
      expect((await fetch(`${server.url}${path}`)).status, path).toBe(401);
    for (const path of ["/v1/completions", "/v1/responses", "/v1/messages", "/s/a/v1/messages"])
      expect((await post(path, CHAT, { authorization: "" })).status, path).toBe(401);
  });

  it("is not told of another key's sessions", async () => {
    await post("/v1/chat/completions", CHAT, { authorization: "Bearer key-one:mine" });
    const see = (key: string, path = "/v1/sessions/mine") =>
      fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    const own = (await (await see("key-one")).json()) as { branches: unknown[] };
    expect(own.branches).toHaveLength(1);
    expect((await see("key-two")).status).toBe(404);
    expect((await see("key-two", "/s/mine/v1/sessions/mine")).status).toBe(404);
    const told = await post(
      "/v1/sessions/mine/reward",
      { reward: 1 },
      { authorization: "Bearer key-two" },
    );
    expect(told.status).toBe(404);
    // The same name of another key is another session.
    await post("/v1/chat/completions", CHAT, { authorization: "Bearer key-two:mine" });
    const again = (await (await see("key-one")).json()) as { branches: unknown[] };
    expect(again).toEqual(own);
  });
});

describe("hostile bodies", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  it.each<[string, string, unknown]>([
    ["no JSON", "/v1/chat/completions", "{"],
    ["an empty one", "/v1/chat/completions", ""],
    ["another type", "/v1/chat/completions", "[]"],
    ["nesting without end", "/v1/chat/completions", `{"messages": ${deep}}`],
    [
      "a deep schema",
      "/v1/chat/completions",
      `{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":${deep}}}}`,
    ],
    [
      "deep parameters",
      "/v1/chat/completions",
      `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":${deep}}}]}`,
    ],
    [
      "a schema that is itself",
      "/v1/chat/completions",
      { ...CHAT, response_format: { type: "json_schema", json_schema: { schema: { $ref: "#" } } } },
    ],
    [
      "a pattern",
      "/v1/chat/completions",
      {
        ...CHAT,
        response_format: {
          type: "json_schema",
          json_schema: { schema: { type: "string", pattern: "(a+)+$" } },
        },
      },
    ],
    [
      "a text of megabytes",
      "/v1/chat/completions",
      { messages: [{ role: "user", content: "word ".repeat(1_000_000) }] },
    ],
    ["many tokens", "/v1/chat/completions", { ...CHAT, max_tokens: 1e12 }],
    ["ids beyond the vocabulary", "/v1/completions", { prompt: [1, 999_999] }],
    ["ids that are none", "/v1/completions", { prompt: [1, -1] }],
    ["many choices", "/v1/chat/completions", { ...CHAT, n: 10_000 }],
    ["a proto", "/v1/chat/completions", '{"__proto__": {"messages": []}}'],
    [
      "a role of no template",
      "/v1/messages",
      { max_tokens: 1, messages: [{ role: "x", content: "" }] },
    ],
    ["an item of nothing", "/v1/responses", { input: [{ type: "computer_call" }] }],
    ["no number", "/v1/sessions/mine/reward", '{"reward": "much"}'],
  ])("%s", async (_, path, body) => {
    const answer = await post(path, body);
    const text = await answer.text();
    expect(answer.status, text).toBeGreaterThanOrEqual(400);
    expect(answer.status, text).toBeLessThan(500);
    expect(text).not.toMatch(/node_modules|\.ts:/);
    await works();
  });

  it("that are too large are not read", async () => {
    const answer = await post("/v1/chat/completions", " ".repeat(9 * 2 ** 20)).catch(
      () => undefined,
    );
    expect(answer?.status ?? 413).toBe(413);
    await works();
  });
});

describe("clients that leave", () => {
  it("free their places, and leave no reply behind", async () => {
    const long = { ...CHAT, max_tokens: 3000, messages: [{ role: "user", content: "long" }] };
    for (let round = 0; round < 3; round++) {
      const leaving = new AbortController();
      const asked = Array.from({ length: 30 }, (_, i) =>
        post(
          "/v1/chat/completions",
          { ...long, stream: i % 2 === 0 },
          { "x-session-id": `left-${i}` },
          leaving.signal,
        )
          .then((answer) => answer.text())
          .catch(() => "left"),
      );
      await sleep(200);
      leaving.abort();
      expect(await Promise.all(asked)).toContain("left");
    }
    await untilIdle();
    await works();
  }, 90_000);

  it("and too many at once are told to come back", async () => {
    const leaving = new AbortController();
    const long = { ...CHAT, max_tokens: 2000 };
    const statuses = new Set<number>();
    const asked = Array.from({ length: 80 }, () =>
      post("/v1/chat/completions", { ...long, stream: true }, {}, leaving.signal).then(
        (answer) => void statuses.add(answer.status),
        () => {},
      ),
    );
    for (let i = 0; i < 200 && !statuses.has(429); i++) await sleep(50);
    leaving.abort();
    await Promise.all(asked);
    expect(statuses.has(429)).toBe(true);
    await untilIdle();
  }, 60_000);
});

describe("the end", () => {
  it("stores the sessions, exactly as they were drawn", async () => {
    const headers = { authorization: "Bearer key-one:kept" };
    const answer = await post("/v1/chat/completions", { ...CHAT, return_token_ids: true }, headers);
    const { choices, prompt_token_ids: prompt } = (await answer.json()) as {
      choices: { token_ids: number[] }[];
      prompt_token_ids: number[];
    };
    await post("/v1/sessions/kept/reward", { reward: 1 });
    const ended = await fetch(`${server.url}/v1/sessions/kept`, {
      ...{ method: "DELETE", headers: { authorization: "Bearer key-one" } },
    });
    expect(ended.status).toBe(200);
    const stored = [...readTrajectories(records)].at(-1)!;
    expect(stored).toMatchObject({ won: true, reward: 1, status: "won" });
    expect(stored.turns[0]!.promptIds).toEqual(prompt);
    expect(stored.turns[0]!.reply.ids).toEqual(choices[0]!.token_ids);
  });

  it("of what cannot be served is a sentence", async () => {
    const missing = await run(["serve", join(folder, "nothing"), "--port", "0"]);
    expect(missing.code).not.toBe(0);
    expect(missing.errors).not.toMatch(/\n\s+at /);
    const plain = await run(["serve", join(folder, "tiny"), "--api-key", "sk-plain"]);
    expect(plain.code).toBe(2);
    expect(plain.errors).not.toContain("sk-plain");
  });
});
