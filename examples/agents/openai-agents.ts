/**
 * @file An agent of the OpenAI Agents SDK, as one would write it without a trainer. The last lines make a world of it:
 *
 *   openmanus-rl train env.env_name=./openai-agents.ts …
 */
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { agentProgram } from "openmanus-rl";
import { z } from "zod";
import { type AgesTask, add, expert, lookUp, question, SYSTEM, tasks, worth } from "./ages.ts";

setTracingDisabled(true);

async function agent(task: AgesTask, baseURL: string, apiKey: string): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const knowing = new Agent({
    name: "ages",
    instructions: SYSTEM,
    model: new OpenAIChatCompletionsModel(client, "policy"),
    tools: [
      tool({
        name: "look_up",
        description: "How old somebody is now.",
        parameters: z.object({ name: z.string() }),
        execute: async ({ name }) => lookUp(task, name),
      }),
      tool({
        name: "add",
        description: "The sum of two numbers.",
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: async ({ a, b }) => add(a, b),
      }),
    ],
  });
  const { finalOutput } = await run(knowing, question(task), { maxTurns: 8 });
  return finalOutput ?? "";
}

export default agentProgram<AgesTask>({
  name: "ages",
  summary: "an agent of the OpenAI Agents SDK says how old somebody will be",
  function: ({ data }, { baseURL, apiKey }) => agent(data, baseURL, apiKey),
  tasks,
  reward: ({ task, output }) => worth(task.data, output),
  expert,
  maximumCalls: 6,
  seconds: 120,
});
