/**
 * @file Which session a call belongs to, by what unmodified clients can set; and what is told of a session.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { Session } from "../../src/gateway/index.ts";
import { served, tinyGateway } from "./support.ts";

const { newGateway } = tinyGateway();
const ended: Session[] = [];
const gateway = newGateway({ onSessionEnd: (session) => void ended.push(session) });
const url = await served(gateway);
const question = { role: "user", content: "go to the desk" } as const;
const body = { model: "m", max_tokens: 4 };

interface Told {
  readonly branches: readonly { readonly turns: number; readonly reason: string }[];
  readonly reward: number | null;
}

async function told(name: string): Promise<Told> {
  const answer = await fetch(`${url}/v1/sessions/${name}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Told;
}

describe("a session", () => {
  it("is named by a key's suffix, a header or the address, of either protocol", async () => {
    const clients = [
      new OpenAI({ baseURL: `${url}/v1`, apiKey: "any:one" }),
      new OpenAI({
        ...{ baseURL: `${url}/v1`, apiKey: "any", defaultHeaders: { "x-session-id": "one" } },
      }),
      new OpenAI({ baseURL: `${url}/s/one/v1`, apiKey: "any" }),
    ];
    const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [question];
    for (const client of clients) {
      const { choices } = await client.chat.completions.create({ ...body, messages });
      messages.push(choices[0]!.message, { role: "user", content: "go on" });
    }
    // All went on with what the one before had said.
    expect((await told("one")).branches).toMatchObject([{ turns: 3, reason: "first" }]);
    const other = new Anthropic({ baseURL: `${url}/s/one`, apiKey: "any" });
    await other.messages.create({ ...body, messages: [question] });
    const suffixed = new Anthropic({ baseURL: url, apiKey: "any:one" });
    await suffixed.messages.create({ ...body, messages: [{ role: "user", content: "new" }] });
    expect((await told("one")).branches.map(({ reason }) => reason)).toEqual([
      ...["first", "asked again", "new conversation"],
    ]);
  });

  it("is none where nobody names one, and another under another name", async () => {
    const before = gateway.sessions;
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any" });
    await client.chat.completions.create({ ...body, messages: [question] });
    expect(gateway.sessions).toBe(before);
    const named = new OpenAI({ baseURL: `${url}/s/two/v1`, apiKey: "any" });
    await named.chat.completions.create({ ...body, messages: [question] });
    expect((await told("two")).branches).toHaveLength(1);
  });

  it("is told what it was worth, and ends when its client says so", async () => {
    const own = `${url}/s/three/v1`;
    const client = new OpenAI({ baseURL: own, apiKey: "any" });
    await client.chat.completions.create({ ...body, messages: [question] });
    const reward = await fetch(`${own}/sessions/self/reward`, {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ reward: 0.5 }),
    });
    expect(reward.status).toBe(200);
    expect((await told("three")).reward).toBe(0.5);
    expect((await fetch(`${own}/sessions/self`, { method: "DELETE" })).status).toBe(200);
    expect((await fetch(`${url}/v1/sessions/three`)).status).toBe(404);
    expect(ended.map((session) => session.turns().length)).toEqual([1]);
  });
});
