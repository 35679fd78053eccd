/**
 * @file OpenAI's responses, by OpenAI's own client.
 */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { CALL, saying, served, tinyGateway, WEATHER } from "./support.ts";

const { tiny, newGateway } = tinyGateway();
const tools = [
  { type: "function", strict: null, ...WEATHER, parameters: { ...WEATHER.parameters } },
] as never[];

async function clientOf(...texts: string[]): Promise<OpenAI> {
  const options = texts.length > 0 ? { generator: saying(tiny.chat, texts) } : {};
  const url = await served(newGateway(options));
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
}

describe("responses", () => {
  it("answers, whole and streamed alike", async () => {
    const client = await clientOf("It rains.");
    const request = { model: "x", input: "Does it rain?", instructions: "Be brief." };
    const whole = await client.responses.create(request);
    expect(whole.output_text).toBe("It rains.");
    expect(whole.status).toBe("completed");
    const stream = client.responses.stream(request);
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    expect(text).toBe("It rains.");
    expect(final.output_text).toBe("It rains.");
    expect(final.usage!.output_tokens).toBe(whole.usage!.output_tokens);
  });

  it("calls functions, and goes on with their outputs", async () => {
    const client = await clientOf(`I look. ${CALL}`, CALL, "Rain.");
    const request = { model: "x", input: "Does it rain?", tools };
    const whole = await client.responses.create(request);
    expect(whole.output).toMatchObject([
      { type: "message" },
      { type: "function_call", name: "weather", arguments: '{"city":"Bern"}' },
    ]);
    const final = await client.responses.stream(request).finalResponse();
    expect(final.output).toMatchObject([{ type: "function_call", name: "weather" }]);
    const call = whole.output[1] as { call_id: string };
    const last = await client.responses.create({
      ...request,
      input: [
        { role: "user", content: "Does it rain?" },
        ...whole.output.map(({ id: _, ...item }) => item as never),
        { type: "function_call_output", call_id: call.call_id, output: "rain" },
      ],
    });
    expect(last.output_text).toBe("Rain.");
  });

  it("keeps a random model to a schema, and refuses what a server would have to remember", async () => {
    const client = await clientOf();
    const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
    const answer = await client.responses.create({
      ...{ model: "x", input: "ok?", max_output_tokens: 100 },
      text: { format: { type: "json_schema", name: "ok", schema } },
    });
    expect([true, false]).toContain(JSON.parse(answer.output_text).ok);
    await expect(
      client.responses.create({ model: "x", input: "x", previous_response_id: "resp_1" }),
    ).rejects.toThrow(/previous_response_id/);
    await expect(
      client.responses.create({ model: "x", input: "x", tools: [{ type: "web_search" }] }),
    ).rejects.toThrow(/no web_search/);
  });
});
