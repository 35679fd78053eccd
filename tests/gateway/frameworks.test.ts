/**
 * @file The frameworks that agents are written in, against the gateway: the AI SDK, LangChain, LangGraph, the OpenAI
 * Agents SDK. Streams and functions each; and what they send back of a reply is recognised as it was given.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { tool as chainTool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool as agentTool,
} from "@openai/agents";
import { generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Gateway } from "../../src/gateway/index.ts";
import { CALL, saying, served, tinyGateway } from "./support.ts";

const { tiny, newGateway } = tinyGateway();
setTracingDisabled(true);

/** A gateway whose model calls the function and then says it; the session of `key` is looked at. */
async function weatherServer(): Promise<{ gateway: Gateway; baseURL: string; apiKey: string }> {
  const generator = saying(tiny.chat, [`I look. ${CALL}`, "It rains."]);
  const gateway = newGateway({ generator });
  return { gateway, baseURL: `${await served(gateway)}/v1`, apiKey: "key:session" };
}

/** Both replies are one conversation: the second request repeated the first reply as it was given. */
function expectOneBranch(gateway: Gateway): void {
  const { branches } = gateway.find("", "session")!;
  expect(branches.map(({ reason, turns }) => [reason, turns.length])).toEqual([["first", 2]]);
}

const city = z.object({ city: z.string() });
const weather = {
  name: "weather",
  description: "The weather of a city.",
  schema: city,
  said: (given: { city: string }) => `rain in ${given.city}`,
};

describe("the AI SDK", () => {
  const tools = {
    weather: tool({
      ...{ description: weather.description, inputSchema: city },
      execute: async (given) => weather.said(given),
    }),
  };

  it("calls its tools", async () => {
    const { gateway, ...rest } = await weatherServer();
    const model = createOpenAICompatible({ name: "local", ...rest })("x");
    const { text, steps } = await generateText({
      ...{ model, tools, prompt: "Does it rain?", maxRetries: 0, stopWhen: stepCountIs(3) },
    });
    expect(text).toBe("It rains.");
    expect(steps[0]!.toolResults[0]).toMatchObject({ output: "rain in Bern" });
    expectOneBranch(gateway);
  });

  it("streams", async () => {
    const { gateway, ...rest } = await weatherServer();
    const model = createOpenAICompatible({ name: "local", ...rest })("x");
    const { textStream } = streamText({
      ...{ model, tools, prompt: "Does it rain?", maxRetries: 0, stopWhen: stepCountIs(3) },
    });
    let text = "";
    for await (const piece of textStream) text += piece;
    expect(text).toContain("It rains.");
    expectOneBranch(gateway);
  });
});

describe("LangChain and LangGraph", () => {
  const tools = [
    chainTool(async (given: { city: string }) => weather.said(given), {
      ...{ name: weather.name, description: weather.description, schema: city },
    }),
  ];

  it("stream chunks", async () => {
    const { baseURL, apiKey } = await weatherServer();
    const model = new ChatOpenAI({ model: "x", apiKey, configuration: { baseURL }, maxRetries: 0 });
    let text = "";
    let calls = 0;
    for await (const chunk of await model.bindTools(tools).stream("Does it rain?")) {
      text += chunk.text;
      calls += chunk.tool_calls?.length ?? 0;
    }
    expect(text).toBe("I look.");
    expect(calls).toBe(1);
  });

  it("run an agent", async () => {
    const { gateway, baseURL, apiKey } = await weatherServer();
    const llm = new ChatOpenAI({ model: "x", apiKey, configuration: { baseURL }, maxRetries: 0 });
    const agent = createReactAgent({ llm, tools });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Rain?" }] });
    expect(messages.at(-1)!.content).toBe("It rains.");
    expectOneBranch(gateway);
  });
});

describe("the OpenAI Agents SDK", () => {
  const tools = [
    agentTool({
      ...{ name: weather.name, description: weather.description, parameters: city },
      execute: async (given) => weather.said(given),
    }),
  ];

  it.each([
    ["chat completions", OpenAIChatCompletionsModel],
    ["responses", OpenAIResponsesModel],
  ])("runs an agent over %s, whole and streamed", async (_, Model) => {
    for (const isStreamed of [false, true]) {
      const { gateway, baseURL, apiKey } = await weatherServer();
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
      const agent = new Agent({ name: "a", model: new Model(client as never, "x"), tools });
      if (isStreamed) {
        const result = await run(agent, "Does it rain?", { stream: true });
        for await (const _event of result);
        await result.completed;
        expect(result.finalOutput).toBe("It rains.");
      } else expect((await run(agent, "Does it rain?")).finalOutput).toBe("It rains.");
      expectOneBranch(gateway);
    }
  });
});
