/**
 * @file An agent of the AI SDK, as one would write it without a trainer. The last lines make a world of it:
 *
 *   openmanus-rl train env.env_name=./ai-sdk.ts …
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { agentProgram } from "openmanus-rl";
import { z } from "zod";
import { type AgesTask, add, expert, lookUp, question, SYSTEM, tasks, worth } from "./ages.ts";

async function agent(task: AgesTask, baseURL: string, apiKey: string): Promise<string> {
  const provider = createOpenAICompatible({ name: "local", baseURL, apiKey });
  const { text } = await generateText({
    model: provider("policy"),
    system: SYSTEM,
    prompt: question(task),
    maxRetries: 0,
    stopWhen: stepCountIs(6),
    tools: {
      look_up: tool({
        description: "How old somebody is now.",
        inputSchema: z.object({ name: z.string() }),
        execute: async ({ name }) => lookUp(task, name),
      }),
      add: tool({
        description: "The sum of two numbers.",
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async ({ a, b }) => add(a, b),
      }),
    },
  });
  return text;
}

export default agentProgram<AgesTask>({
  name: "ages",
  summary: "an agent of the AI SDK says how old somebody will be",
  function: ({ data }, { baseURL, apiKey }) => agent(data, baseURL, apiKey),
  tasks,
  reward: ({ task, output }) => worth(task.data, output),
  expert,
  maximumCalls: 6,
  seconds: 120,
});
