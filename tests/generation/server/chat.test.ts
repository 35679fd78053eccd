/**
 * @file The client of chats: what is sent, what is understood, what is asked again.
 */
import { describe, expect, it } from "vitest";
import { createChatClient, ServerError } from "../../../src/generation/index.ts";
import { fakeServer, sendJson } from "./fake-server.ts";

const messages = [{ role: "user", content: "hello", secret: 1 }];
const answer = (content: unknown, finish = "stop") => ({
  choices: [{ message: { role: "assistant", content }, finish_reason: finish }],
  usage: { completion_tokens: 3 },
});

describe("a chat", () => {
  it("sends messages and gives the text", async () => {
    const { baseUrl, received } = await fakeServer((response) => sendJson(response, answer("hi")));
    const client = createChatClient({ baseUrl, model: "m", extraBody: { seed: 4 } });
    const request = { messages, maximumTokens: 9, temperature: 0, topP: 0.5 };
    expect(await client(request)).toEqual({ text: "hi", finish: "stop", completionTokens: 3 });
    expect(received[0]).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "m", max_tokens: 9, temperature: 0, top_p: 0.5, seed: 4 },
    });
    // Only what the protocol knows.
    expect(received[0]!.body.messages).toEqual([{ role: "user", content: "hello" }]);
    expect(received[0]!.headers.authorization).toBeUndefined();
  });

  it("leaves to the server what is not said, and says when a reply was cut off", async () => {
    const { baseUrl, received } = await fakeServer((response) =>
      sendJson(response, answer("h", "length")),
    );
    const client = createChatClient({ baseUrl, model: "m" });
    expect(await client({ messages })).toMatchObject({ finish: "length" });
    expect(Object.keys(received[0]!.body).sort()).toEqual(["messages", "model"]);
  });

  it("is asked again after failures that may pass, and not after others", async () => {
    const { baseUrl, received } = await fakeServer((response, _, n) => {
      if (n === 0) return response.destroy();
      if (n === 1) return sendJson(response, { error: { message: "busy" } }, 503);
      return sendJson(response, answer("at last"));
    });
    const client = createChatClient({ baseUrl, model: "m", firstWait: 1 });
    expect((await client({ messages })).text).toBe("at last");
    expect(received).toHaveLength(3);
    const refusing = await fakeServer((response) => sendJson(response, {}, 401));
    const denied = createChatClient({ baseUrl: refusing.baseUrl, model: "m", firstWait: 1 });
    await expect(denied({ messages })).rejects.toThrow(ServerError);
    expect(refusing.received).toHaveLength(1);
  });

  it("without text is empty: a refusal, or only a tool call", async () => {
    const { baseUrl } = await fakeServer((response) => sendJson(response, answer(null)));
    expect((await createChatClient({ baseUrl, model: "m" })({ messages })).text).toBe("");
  });

  it.each<[string, unknown, RegExp]>([
    ["no choices", {}, /choices must be a list with an entry/],
    ["an empty list", { choices: [] }, /choices must be a list with an entry/],
    ["no message", { choices: [{}] }, /choices\[0\].message must be an object/],
    ["a list for a text", answer(["x"]), /content must be a string/],
    ["an error", { error: { message: "too long" } }, /the server reports: too long/],
  ])("with %s is an error that says so", async (_, json, message) => {
    const { baseUrl } = await fakeServer((response) => sendJson(response, json));
    const client = createChatClient({ baseUrl, model: "m", retries: 0 });
    await expect(client({ messages })).rejects.toThrow(message);
  });

  it("can be stopped", async () => {
    const { baseUrl } = await fakeServer(() => {});
    const client = createChatClient({ baseUrl, model: "m" });
    const stopped = client({ messages, signal: AbortSignal.timeout(50) });
    await expect(stopped).rejects.toThrow();
  });
});
