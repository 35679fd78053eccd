/**
 * @file An agent of LangGraph.js, as one would write it without a trainer. The last lines make a world of it:
 *
 *   openmanus-rl train env.env_name=./langgraph.ts …
 */
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { agentProgram } from "openmanus-rl";
import { z } from "zod";
import { type AgesTask, add, expert, lookUp, question, SYSTEM, tasks, worth } from "./ages.ts";

async function agent(task: AgesTask, baseURL: string, apiKey: string): Promise<string> {
  const llm = new ChatOpenAI({
    model: "policy",
    apiKey,
    configuration: { baseURL },
    maxRetries: 0,
  });
  const tools = [
    tool(async ({ name }: { name: string }) => lookUp(task, name), {
      name: "look_up",
      description: "How old somebody is now.",
      schema: z.object({ name: z.string() }),
    }),
    tool(async ({ a, b }: { a: number; b: number }) => add(a, b), {
      name: "add",
      description: "The sum of two numbers.",
      schema: z.object({ a: z.number(), b: z.number() }),
    }),
  ];
  const graph = createReactAgent({ llm, tools, prompt: SYSTEM });
  const { messages } = await graph.invoke(
    { messages: [{ role: "user", content: question(task) }] },
    { recursionLimit: 20 },
  );
  return String(messages.at(-1)!.content);
}

export default agentProgram<AgesTask>({
  name: "ages",
  summary: "an agent of LangGraph says how old somebody will be",
  function: ({ data }, { baseURL, apiKey }) => agent(data, baseURL, apiKey),
  tasks,
  reward: ({ task, output }) => worth(task.data, output),
  expert,
  maximumCalls: 6,
  seconds: 120,
});
