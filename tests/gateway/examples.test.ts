/**
 * @file The agents of examples/agents play their tasks, with the expert in the model's place: every answer is right.
 * (The one in Python: npm run interop -- openai.)
 */
import { expect, it } from "vitest";
import aiSdk from "../../examples/agents/ai-sdk.ts";
import langgraph from "../../examples/agents/langgraph.ts";
import openaiAgents from "../../examples/agents/openai-agents.ts";
import { createAgent } from "../../src/agents/index.ts";
import { openWorld } from "../../src/environments/index.ts";
import { programExpertPolicy } from "../../src/gateway/index.ts";
import { byteChat } from "../../src/models/index.ts";
import { collect } from "../../src/rollout/index.ts";

it.each([
  ["the AI SDK", aiSdk],
  ["LangGraph", langgraph],
  ["the OpenAI Agents SDK", openaiAgents],
])("an agent of %s", async (_, definition) => {
  const world = await openWorld(definition);
  const policy = programExpertPolicy(world.program!.expert!, byteChat(), 1_000_000);
  try {
    const set = await world.tasks("test");
    const { all } = await collect({
      ...{ world, about: definition, agent: createAgent(), policy, seed: 1, retries: 0 },
      limits: { turns: definition.maximumSteps },
      tasks: Array.from({ length: 10 }, (_, i) => set.task(i)),
    });
    expect(all.map(({ status, error }) => error ?? status)).toEqual(all.map(() => "won"));
    // What the frameworks send back of a reply is recognised: one conversation each.
    for (const { turns } of all) expect(new Set(turns.map(({ branch }) => branch)).size).toBe(1);
  } finally {
    await policy.close();
    await world.close?.();
  }
});
