/**
 * @file Anthropic's own client against the gateway.
 */
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { CALL, saying, served, tinyGateway, WEATHER } from "./support.ts";

const { tiny, newGateway } = tinyGateway();
const { name, description, parameters } = WEATHER;
const tools = [{ name, description, input_schema: parameters as never }];
const question = { role: "user", content: "go to the desk" } as const;

async function clientOf(...texts: string[]): Promise<Anthropic> {
  const options = texts.length > 0 ? { generator: saying(tiny.chat, texts) } : {};
  const baseURL = await served(newGateway(options), { keys: ["secret"] });
  return new Anthropic({ baseURL, apiKey: "secret", maxRetries: 0 });
}

describe("messages", () => {
  it("answers, whole and streamed alike, with its usage", async () => {
    const client = await clientOf("It rains in Bern.");
    const request = { model: "x", max_tokens: 50, system: "Be brief.", messages: [question] };
    const whole = await client.messages.create(request);
    expect(whole.content).toMatchObject([{ type: "text", text: "It rains in Bern." }]);
    expect(whole.stop_reason).toBe("end_turn");
    expect(whole.usage.output_tokens).toBeGreaterThan(3);
    const stream = client.messages.stream(request);
    let text = "";
    stream.on("text", (piece) => {
      text += piece;
    });
    const final = await stream.finalMessage();
    expect(text).toBe("It rains in Bern.");
    expect(final.content).toMatchObject(whole.content.map(({ type }) => ({ type, text })));
    const counted = await client.messages.countTokens({ model: "x", messages: [question] });
    expect(counted.input_tokens).toBe(tiny.chat.promptIds([question]).length);
  });

  it("uses tools, and goes on with their results", async () => {
    const client = await clientOf(`I look.\n${CALL}`, `${CALL} ${CALL}`, "Rain.");
    const request = { model: "x", max_tokens: 200, messages: [question], tools };
    const answer = await client.messages.create(request);
    expect(answer.stop_reason).toBe("tool_use");
    expect(answer.content).toMatchObject([
      { type: "text", text: "I look." },
      { type: "tool_use", name: "weather", input: { city: "Bern" } },
    ]);
    const streamed = await client.messages.stream(request).finalMessage();
    const uses = streamed.content.filter(({ type }) => type === "tool_use");
    expect(uses).toMatchObject([{ input: { city: "Bern" } }, { input: { city: "Bern" } }]);
    const use = answer.content[1]!;
    if (use.type !== "tool_use") throw new Error("no tool is used");
    const last = await client.messages.create({
      ...request,
      messages: [
        question,
        { role: "assistant", content: answer.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "rain" }] },
      ],
    });
    expect(last.content).toMatchObject([{ type: "text", text: "Rain." }]);
  });

  it("makes a random model use a tool, and stops at sequences", async () => {
    const client = await clientOf();
    const colors = {
      ...{ name: "paint", description: "Paints." },
      input_schema: {
        type: "object" as const,
        properties: { color: { enum: ["red", "blue"] } },
        required: ["color"],
      },
    };
    const answer = await client.messages.create({
      ...{ model: "x", max_tokens: 300, messages: [question], tools: [colors] },
      tool_choice: { type: "any" },
    });
    expect(answer.stop_reason).toBe("tool_use");
    const use = answer.content.find(({ type }) => type === "tool_use") as { input?: unknown };
    expect(["red", "blue"]).toContain((use.input as { color: string }).color);
    const cut = await client.messages.create({
      ...{ model: "x", max_tokens: 300, messages: [question], stop_sequences: ["e", "o", "a"] },
    });
    expect(cut.stop_reason).toBe("stop_sequence");
  });

  it("refuses in Anthropic's words", async () => {
    const client = await clientOf("x");
    const wrong = new Anthropic({ baseURL: client.baseURL, apiKey: "guess", maxRetries: 0 });
    await expect(
      wrong.messages.create({ model: "x", max_tokens: 1, messages: [question] }),
    ).rejects.toMatchObject({ status: 401, error: { error: { type: "authentication_error" } } });
    await expect(
      client.messages.create({ model: "x", max_tokens: 0, messages: [question] }),
    ).rejects.toMatchObject({ status: 400, error: { error: { type: "invalid_request_error" } } });
  });
});
