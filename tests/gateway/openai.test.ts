/**
 * @file OpenAI's own client against the gateway: chats, streams, functions, schemas, completions in ids.
 */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { createServerGenerator } from "../../src/generation/index.ts";
import { CALL, saying, served, tinyGateway, WEATHER } from "./support.ts";

const { tiny, newGateway } = tinyGateway();
const gateway = newGateway();
const url = await served(gateway);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const tools = [{ type: "function", function: WEATHER }] as const;
const question = [{ role: "user", content: "go to the desk" }] as const;

/** A client of a model that says these texts. */
async function clientOf(...texts: string[]): Promise<OpenAI> {
  const other = newGateway({ generator: saying(tiny.chat, texts) });
  return new OpenAI({ baseURL: `${await served(other)}/v1`, apiKey: "none", maxRetries: 0 });
}

describe("chat completions", () => {
  it("answers with the drawn tokens, their log-probabilities and the usage", async () => {
    const answer = await client.chat.completions.create({
      ...{
        model: "tiny",
        messages: [...question],
        max_completion_tokens: 8,
        seed: 3,
        logprobs: true,
      },
    });
    const [choice] = answer.choices;
    expect(choice!.message.role).toBe("assistant");
    expect(["stop", "length"]).toContain(choice!.finish_reason);
    const tokens = choice!.logprobs!.content!;
    expect(tokens).toHaveLength(answer.usage!.completion_tokens);
    for (const { logprob } of tokens) expect(logprob).toBeLessThanOrEqual(0);
    expect(answer.usage!.prompt_tokens).toBe(tiny.chat.promptIds([...question]).length);
    const again = await client.chat.completions.create({
      ...{ model: "gpt-4o", messages: [...question], max_tokens: 8, seed: 3 },
    });
    expect(again.choices[0]!.message.content).toBe(choice!.message.content);
  });

  it("streams the same text, with its usage", async () => {
    const request = { model: "tiny", messages: [...question], max_tokens: 12, seed: 4 };
    const whole = await client.chat.completions.create(request);
    const stream = client.chat.completions.stream({
      ...request,
      stream_options: { include_usage: true },
    });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    const final = await stream.finalChatCompletion();
    expect(text).toBe(whole.choices[0]!.message.content);
    expect(final.choices[0]!.message.content).toBe(text);
    expect(final.usage!.completion_tokens).toBe(whole.usage!.completion_tokens);
  });

  it("gives several choices, and stops at strings", async () => {
    const said = await clientOf("one two three. four", "five");
    const answer = await said.chat.completions.create({
      ...{ model: "x", messages: [...question], n: 2 },
    });
    expect(answer.choices.map(({ message }) => message.content).sort()).toEqual([
      "five",
      "one two three. four",
    ]);
    const engine = await client.chat.completions.create({
      ...{ model: "x", messages: [...question], max_tokens: 60, stop: ["e", "o"], seed: 1 },
    });
    expect(engine.choices[0]!.message.content).not.toMatch(/[eo]/);
  });

  it("calls functions, whole and streamed", async () => {
    const said = await clientOf(`I look. ${CALL}`, `${CALL}\n${CALL}`, "It rains.");
    const request = { model: "x", messages: [...question], tools: [...tools] };
    const answer = await said.chat.completions.create(request);
    const [{ message, finish_reason: finish }] = answer.choices as [(typeof answer.choices)[0]];
    expect(finish).toBe("tool_calls");
    expect(message.content).toBe("I look.");
    expect(message.tool_calls).toMatchObject([
      { type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } },
    ]);
    const stream = said.chat.completions.stream(request);
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]!.message.tool_calls).toHaveLength(2);
    const ids = final.choices[0]!.message.tool_calls!.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    const last = await said.chat.completions.create({
      ...request,
      messages: [
        ...question,
        message,
        { role: "tool", tool_call_id: message.tool_calls![0]!.id, content: "rain" },
      ],
    });
    expect(last.choices[0]!.message.content).toBe("It rains.");
  });

  it("reads no calls where none are wanted", async () => {
    const said = await clientOf(CALL);
    const answer = await said.chat.completions.create({
      ...{ model: "x", messages: [...question], tools: [...tools], tool_choice: "none" },
    });
    const { message, finish_reason: finish } = answer.choices[0]!;
    expect(finish).toBe("stop");
    expect(message.tool_calls ?? []).toEqual([]);
    expect(message.content).toBe(CALL);
  });

  it("makes a random model call the wanted function, and keep to a schema", async () => {
    const answer = await client.chat.completions.create({
      ...{ model: "x", messages: [...question], tools: [...tools], seed: 5, max_tokens: 400 },
      tool_choice: { type: "function", function: { name: "weather" } },
      // A random model would write into the string for ever.
      stop: ["</tool_call>"],
      logit_bias: { [tiny.chat.tokenizer.encodePlain('"')[0]!]: 15 },
    });
    const [call] = answer.choices[0]!.message.tool_calls!;
    if (call?.type !== "function") throw new Error("no call");
    expect(call.function.name).toBe("weather");
    expect(Object.keys(JSON.parse(call.function.arguments))).toEqual(["city"]);
    const schema = {
      type: "object",
      properties: {
        color: { enum: ["red", "green"] },
        count: { type: "integer", minimum: 0 },
        tags: { type: "array", items: { type: "boolean" }, maxItems: 3 },
        note: { anyOf: [{ type: "null" }, { type: "string", maxLength: 5 }] },
      },
      required: ["color", "count", "tags"],
    };
    for (let seed = 0; seed < 8; seed++) {
      const object = await client.chat.completions.create({
        ...{ model: "x", messages: [...question], seed, max_tokens: 300 },
        response_format: { type: "json_schema", json_schema: { name: "thing", schema } },
      });
      const [{ message, finish_reason: finish }] = object.choices as [(typeof object.choices)[0]];
      expect(finish, message.content!).toBe("stop");
      const value = JSON.parse(message.content!);
      expect(["red", "green"]).toContain(value.color);
      expect(value.count).toBeGreaterThanOrEqual(0);
      expect(value.tags.every((tag: unknown) => typeof tag === "boolean")).toBe(true);
      expect(value.tags.length).toBeLessThanOrEqual(3);
    }
  });

  it.each([
    ["no message", { messages: [] }, /messages/],
    ["an image", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }, /reads text/],
    ["the assistant last", { messages: [{ role: "assistant", content: "x" }] }, /last one/],
    ["a role of no template", { messages: [{ role: "wizard", content: "x" }] }, /role/],
    ["too much", { messages: [{ role: "user", content: "word ".repeat(9000) }] }, /tokens/],
    ["a penalty that there is not", { messages: question, presence_penalty: 1 }, /penalty/],
    [
      "a schema that cannot be",
      {
        messages: question,
        response_format: {
          type: "json_schema",
          json_schema: { schema: { type: "string", pattern: "a+" } },
        },
      },
      /pattern/,
    ],
    [
      "a function that there is not",
      { messages: question, tool_choice: { type: "function", function: { name: "x" } } },
      /no such function/,
    ],
    ["a token beyond the vocabulary", { messages: question, logit_bias: { 999999: 1 } }, /bias/],
  ])("refuses %s with a sentence", async (_, body, sentence) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ model: "x", ...body }),
    });
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(answer.status).toBe(400);
    expect(error.message).toMatch(sentence);
  });
});

describe("completions", () => {
  it("take ids and give ids: our own client draws through them", async () => {
    const generator = createServerGenerator({
      ...{ baseUrl: `${url}/v1`, model: "tiny", tokenizer: tiny.chat.tokenizer },
    });
    const prompt = tiny.chat.promptIds([...question]);
    const request = { prompt, sampling: { maximumTokens: 10 }, seed: 9 };
    const plain = await generator.generate(request);
    const direct = await gateway.generator.generate(request);
    expect(plain.ids).toEqual(direct.ids);
    expect(plain.logprobs).toEqual(direct.logprobs);
    const seen: number[] = [];
    const streamed = await generator.generate({ ...request, onToken: ({ id }) => seen.push(id) });
    expect(streamed.ids).toEqual(direct.ids);
    expect(seen).toEqual(direct.ids);
    await generator.close();
  });

  it("lists its model, its health and what it counted", async () => {
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(["tiny"]);
    expect((await client.models.retrieve("tiny")).id).toBe("tiny");
    await expect(client.models.retrieve("other")).rejects.toThrow(/one model/);
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: "ok" });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/openmanus_generated_tokens_total [1-9]/);
    expect(metrics).toMatch(
      /openmanus_requests_total\{path="\/v1\/chat\/completions",status="200"\} [1-9]/,
    );
  });
});
