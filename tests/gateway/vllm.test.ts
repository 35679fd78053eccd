/**
 * @file Programs that are trained while vLLM's servers answer: the gateway asks them in ids, so what is trained on is what
 * they drew, with the weights that they are given after every update.
 */
import { join } from "node:path";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { agentProgram } from "../../src/gateway/index.ts";
import { train } from "../../src/library/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { standIn } from "../generation/vllm/support.ts";
import { newModelFolder, temporaryFolder } from "../rollout/support.ts";

const folder = temporaryFolder();

it("a program is trained with servers behind the gateway", { timeout: 600_000 }, async () => {
  const server = standIn(folder);
  const run = join(folder, "run");
  const world = agentProgram<{ number: number }>({
    name: "numbers",
    tasks: Array.from({ length: 8 }, (_, number) => ({ number })),
    async function(_, { baseURL, apiKey }) {
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
      const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [];
      for (const content of ["go", "on"]) {
        messages.push({ role: "user", content });
        const { choices } = await client.chat.completions.create({ model: "m", messages });
        messages.push(choices[0]!.message);
      }
      // Something that replies differ in, and an update moves.
      return { reward: String(messages.at(-1)!.content).length / 10 };
    },
  });
  await train({
    ...{ world, model: newModelFolder(folder), folder: run, progress: false, say() {} },
    ...{ algorithm: "grpo", iterations: 2, tasks: 4, groupSize: 4, learningRate: 1e-3 },
    agent: { replyTokens: 8 },
    settings: {
      actor_rollout_ref: {
        rollout: {
          name: "vllm",
          cache_bytes: 100_000_000,
          vllm: { executable: server.executable, weights_folder: folder },
        },
      },
      trainer: { val_before_train: false, test_freq: -1, threads: 1 },
    },
  });
  const metrics = readMetrics(join(run, "metrics.jsonl")).map((line) => line.metrics);
  expect(metrics).toHaveLength(2);
  for (const [i, one] of metrics.entries()) {
    expect(one["rollout_sync/weight_version"]).toBe(i);
    expect(one["training/rollout_logprob_diff_max"]).toBeLessThan(1e-3);
    expect(one["actor/grad_norm"]).toBeGreaterThan(0);
  }
  const episodes = [...readTrajectories(join(run, "trajectories"))];
  expect(episodes).toHaveLength(32);
  for (const { turns } of episodes) {
    expect(turns).toHaveLength(2);
    expect(turns.every(({ reply }) => reply.source === "policy")).toBe(true);
  }
  expect(server.log().map((line) => line.split(" ")[1])).toEqual(["started", "loaded"]);
});
