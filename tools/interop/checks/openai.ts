/**
 * @file PyPI's `openai` asks our gateway, and the example agent that is written with it plays its tasks. It has a
 * virtual environment of its own, beside that of the other peers: it is small, and they need not be made anew for it.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agentOf } from "../../../src/assembly/index.ts";
import { importFile, openWorld, type WorldDefinition } from "../../../src/environments/index.ts";
import { Gateway, programExpertPolicy, serveGateway } from "../../../src/gateway/index.ts";
import { createEngine } from "../../../src/generation/index.ts";
import { byteChat, loadChat, loadModel } from "../../../src/models/index.ts";
import { collect } from "../../../src/rollout/index.ts";
import type { Finding, InteropCheck } from "../check.ts";
import { newModelFolder } from "../models.ts";
import { askPython, pythonWith } from "../own-python.ts";

const PACKAGE = "openai==3.51.0";
const EXAMPLE = fileURLToPath(new URL("../../../examples/agents/python.ts", import.meta.url));

const check: InteropCheck = {
  name: "openai",
  async run(peers, place) {
    const python = pythonWith(join(peers.folder, "openai"), [PACKAGE]);
    return [await asks(python, place), await plays(python)];
  },
};

async function asks(python: string, place: string): Promise<Finding> {
  const folder = newModelFolder(place, "qwen3");
  const model = loadModel(folder);
  const chat = loadChat(folder);
  const engine = createEngine(model, { tokenizer: chat.tokenizer, cacheBytes: 2 ** 26 });
  const gateway = new Gateway({
    ...{ generator: engine, chat, model: "m", seed: 1 },
    contextLength: Math.min(2048, model.config.maximumPositions),
  });
  const server = await serveGateway(gateway);
  try {
    const prompt = chat.promptIds([{ role: "user", content: "go" }]);
    const found = await askPython<Record<string, unknown>>(python, "openai_asks.py", place, {
      url: `${server.url}/v1`,
      prompt,
    });
    const direct = await engine.generate({ prompt, sampling: { maximumTokens: 6 }, seed: 2 });
    const problems = [
      found.plain === found.streamed || "the stream has another text",
      found.logprobs === found.tokens || "log-probabilities are missing",
      found.streamedTokens === found.tokens || "the stream counts other tokens",
      ["red", "blue"].includes(String(found.call)) || "the call is not one of the function's",
      ["red", "blue"].includes(String(found.streamedCall)) || "nor is the streamed one",
      found.finish === "tool_calls" || `a call ends with ${found.finish}`,
      found.after === true || "nothing follows a function's answer",
      found.formed === true || "the schema was not kept to",
      String(found.ids) === String(direct.ids) || "the completion has other ids than the engine",
      found.response === true || "there is no response",
      found.refused === 400 || `an empty chat is answered with ${found.refused}`,
      String(found.models) === "m" || "the model is not listed",
    ].filter((problem) => problem !== true);
    return {
      what: "asks chats, streams, functions, schemas, ids",
      detail: `openai ${found.version}`,
      problem: problems.join("\n") || undefined,
    };
  } finally {
    await server.close();
    gateway.close();
    await engine.close();
    model.dispose();
  }
}

/** The example's agent, with its expert in the model's place: every answer is right. */
async function plays(python: string): Promise<Finding> {
  process.env.PYTHON = python;
  const definition = (await importFile(EXAMPLE)).default as WorldDefinition;
  const world = await openWorld(definition);
  const policy = programExpertPolicy(world.program!.expert!, byteChat(), 1_000_000);
  try {
    const set = await world.tasks("test");
    const { all } = await collect({
      ...{ world, about: definition, agent: agentOf({}), policy, seed: 1, retries: 0 },
      limits: { turns: definition.maximumSteps },
      tasks: Array.from({ length: 6 }, (_, i) => set.task(i)),
    });
    const lost = all.filter(({ won }) => !won);
    return {
      what: "examples/agents/agent.py plays its tasks",
      detail: `${all.length - lost.length} of ${all.length} won`,
      problem: lost.map(({ status, error }) => `${status}: ${error ?? ""}`).join("\n") || undefined,
    };
  } finally {
    await policy.close();
    await world.close?.();
  }
}

export default check;
