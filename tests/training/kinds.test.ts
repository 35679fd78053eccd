/**
 * @file Runs of other kinds: LoRA, half precision, checkpointing, summaries and judges, other estimators.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { folderPlayer } from "../../src/assembly/index.ts";
import { loadModel } from "../../src/models/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { autocast } from "../../src/torch/index.ts";
import { actorSettings, batchLogprobs, updateActor } from "../../src/training/workers/actor.ts";
import { updateOptions } from "../../src/training/workers/optimize.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf } from "./support/processes.ts";
import {
  largestDifference,
  optionsOf,
  setUp,
  tinyConfig,
  tinyRun,
  trainConfig,
  warmTinyFolder,
  weightsOf,
} from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const trained = (...own: string[]) => tinyRun(parent, warm, own);

describe("LoRA", () => {
  const LORA = [
    "actor_rollout_ref.model.lora_rank=4",
    "actor_rollout_ref.model.lora_alpha=8",
    "actor_rollout_ref.actor.use_kl_loss=True",
    "actor_rollout_ref.actor.optim.lr=1e-2",
  ];

  it("trains the adapter alone; the base is the reference, and stays as it was", async () => {
    const made = await setUp(tinyConfig(warm, join(parent, "x"), LORA));
    const { workers, batch, options } = made;
    const base = weightsOf({ ...workers.lora!.base, trainable: workers.lora!.base.parameters });
    const settings = {
      temperature: 1,
      tokensPerPass: 8192,
      sharePrefixes: true,
      autocast: "none",
    } as const;
    const plain = loadModel(warm);
    const reference = batchLogprobs(plain, batch, settings);
    plain.dispose();
    const advantages = batch.logprobs.map((_, i) => (i % 2 ? 1 : -1));
    const inputs = { advantages, referenceLogprobs: reference };
    updateActor(
      workers.actor,
      batch,
      inputs,
      actorSettings(options),
      updateOptions(options, "actor", 1),
    );
    const moved = batchLogprobs(workers.lora!, batch, settings);
    expect(largestDifference(moved, reference)).toBeGreaterThan(1e-3);
    expect(largestDifference(batchLogprobs(workers.lora!.base, batch, settings), reference)).toBe(
      0,
    );
    expect(weightsOf({ ...workers.lora!.base, trainable: workers.lora!.base.parameters })).toEqual(
      base,
    );
    await workers.dispose();
  });

  it("generates merged what it trains unmerged, goes on, and exports a policy that eval reads", async () => {
    const { run, result, metrics, config } = await trained(...LORA, "trainer.save_freq=1");
    // The second iteration is played by the adapter of the first: rollout and training agree.
    expect(metrics[1]!["training/rollout_logprob_diff_max"]).toBeLessThan(1e-4);
    expect(metrics[1]!["actor/kl_loss"]).toBeGreaterThan(0);
    expect(result.model).toBe(join(run, "policy"));
    const player = folderPlayer(result.model!, (await optionsOf(config)).play);
    const exported = player.model;
    expect(exported.adapter).toBe(null);
    expect(existsSync(join(result.model!, "openmanus-rl.json"))).toBe(true);
    await player.close();
    const again = await trainConfig({
      config: tinyConfig(warm, run, [...LORA, "trainer.save_freq=1", "trainer.total_epochs=3"]),
    });
    expect([again.resumedFrom, again.state.step]).toEqual([2, 3]);
    const undisturbed = await trained(...LORA, "trainer.save_freq=1", "trainer.total_epochs=3");
    const bytes = (folder: string) => readFileSync(join(folder, "policy", "model.safetensors"));
    expect(bytes(run).equals(bytes(undisturbed.run))).toBe(true);
  });
});

describe("precision and memory", () => {
  it.each([
    ["actor.autocast=bfloat16", 0.5],
    ["model.dtype=bfloat16", 0.5],
    ["model.enable_gradient_checkpointing=True", 1e-4],
  ])("%s trains", async (setting, tolerance) => {
    const { metrics, said } = await trained(
      `actor_rollout_ref.${setting}`,
      "algorithm.adv_estimator=gae",
      "trainer.total_epochs=4",
    );
    expect(said).toEqual([]);
    for (const one of metrics) {
      expect(one["actor/grad_norm"] ?? one["actor/loss_scale"]).toBeGreaterThan(0);
      expect(one["training/rollout_logprob_diff_max"]).toBeLessThan(tolerance);
    }
    expect(metrics.at(-1)!["actor/updates"]).toBe(1);
  });
});

it("trusting the recorded log-probabilities: nearly the same run, and some are checked", async () => {
  const several = "actor_rollout_ref.actor.ppo_mini_batch_size=4";
  const computed = await trained(several);
  const trusted = await trained(several, "algorithm.rollout_correction.bypass_mode=True");
  const weights = (model: string | undefined) => {
    const loaded = loadModel(model!);
    const all = weightsOf({ ...loaded, trainable: loaded.parameters });
    loaded.dispose();
    return all;
  };
  expect(
    largestDifference(weights(trusted.result.model), weights(computed.result.model)),
  ).toBeLessThan(1e-3);
  for (const line of trusted.metrics)
    expect(line["training/rollout_logprob_diff_max"]).toBeGreaterThan(0);
});

it("weights and moments in files: the same run, and no file is left", async () => {
  const own = [
    "algorithm.adv_estimator=gae",
    "actor_rollout_ref.actor.use_kl_loss=True",
    "trainer.save_freq=1",
  ];
  const plain = await trained(...own);
  const places = ["actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic.model"];
  const offload = places.flatMap((place) =>
    ["param_offload", "optimizer_offload"].map((name) => `${place}.fsdp_config.${name}=True`),
  );
  let mapped = 0;
  const run = join(parent, "offloaded");
  const config = tinyConfig(warm, run, ["trainer.total_epochs=2", ...own, ...offload]);
  await trainConfig({
    config,
    loggers: [
      {
        log() {
          const maps = readFileSync("/proc/self/maps", "utf8").split("\n");
          mapped = maps.filter((line) => line.includes(".offload-")).length;
        },
        close() {},
      },
    ],
  });
  // Three models' weights, two optimisers' moments.
  expect(mapped).toBeGreaterThan(100);
  expect(readdirSync(run).filter((name) => name.startsWith(".offload"))).toEqual([]);
  expect(resultsOf(run, 2).weights).toEqual(resultsOf(plain.run, 2).weights);
});

it.skipIf(canHalf())(
  "float16 where the libtorch has it not is refused before anything is written",
  async () => {
    const run = join(parent, "half");
    const config = tinyConfig(warm, run, ["actor_rollout_ref.actor.autocast=float16"]);
    await expect(trainConfig({ config })).rejects.toThrow(/autocast=float16 .* bfloat16/);
    expect(existsSync(run)).toBe(false);
  },
);

/** Whether this libtorch has float16 on a CPU. */
function canHalf(): boolean {
  try {
    return autocast({ dtype: "float16", device: "cpu" }, () => true);
  } catch {
    return false;
  }
}

describe("estimators and parts", () => {
  it.each([
    ["remax"],
    ["rloo"],
    ["opo"],
    ["hgpo", "env.context=steps"],
    ["reinforce_plus_plus"],
    ["optimal_token_baseline"],
    ["grpo", "actor_rollout_ref.rollout.temperature=0.8", "reward.kl=0.1"],
    ["gigpo", "actor_rollout_ref.rollout.constrain=True", "actor_rollout_ref.rollout.top_p=0.9"],
    [
      "gigpo",
      "actor_rollout_ref.actor.ppo_epochs=2",
      "algorithm.rollout_correction.rollout_is=token",
    ],
    [
      "gae",
      "env.rollout.oversample=1",
      "trainer.critic_warmup=1",
      "algorithm.use_kl_in_reward=True",
    ],
  ])("%s %s %s %s", async (estimator, ...own) => {
    const { metrics, said } = await trained(`algorithm.adv_estimator=${estimator}`, ...own);
    expect(said).toEqual([]);
    expect(metrics).toHaveLength(2);
    expect(metrics[1]!["actor/grad_norm"]).toBeGreaterThan(0);
  });
});

describe("constrained to admissible actions", () => {
  it.each([1, 0.7])(
    "what is drawn from is what is learned, at temperature %d",
    async (temperature) => {
      const folder = join(parent, `constrained-${temperature}`);
      const made = await setUp(
        tinyConfig(warm, folder, [
          "actor_rollout_ref.rollout.constrain=True",
          `actor_rollout_ref.rollout.temperature=${temperature}`,
        ]),
      );
      const { batch, workers } = made;
      expect(batch.allowed.size).toBe(batch.rows.mask.reduce((sum, one) => sum + one, 0));
      const settings = {
        ...{ temperature, tokensPerPass: 8192, sharePrefixes: true },
        autocast: "none" as const,
      };
      const got = batchLogprobs(workers.actor.model, batch, settings);
      let free = 0;
      for (const [token, list] of batch.allowed) {
        expect(Math.abs(got[token]! - batch.sampledLogprobs[token]!)).toBeLessThan(1e-5);
        if (list.length === 1) expect(got[token]).toBe(0);
        // Of all tokens it is less likely: the two are not the same.
        free = Math.max(free, got[token]! - batch.logprobs[token]!);
      }
      expect(free).toBeGreaterThan(1e-3);
      workers.dispose();
    },
  );

  it("a run compares them, and says what it cannot do", async () => {
    const constrain = "actor_rollout_ref.rollout.constrain=True";
    const { metrics } = await trained("algorithm.adv_estimator=grpo", constrain);
    expect(metrics[0]!["training/rollout_logprob_diff_max"]).toBeLessThan(1e-5);
    await expect(
      trained("algorithm.adv_estimator=optimal_token_baseline", constrain),
    ).rejects.toThrow(/distribution among admissible actions/);
  });
});

describe("models that are asked in words", () => {
  const asked: { model: string; content: string; key: string | undefined }[] = [];
  /** Of three questions one is never answered, and one is answered without a mark. */
  let isIll = false;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => {
      text += piece;
    });
    request.on("end", () => {
      const body = JSON.parse(text) as { model: string; messages: { content: string }[] };
      const { content } = body.messages[0]!;
      asked.push({ model: body.model, content, key: request.headers.authorization });
      if (isIll && asked.length % 3 === 0) return;
      const mark = isIll && asked.length % 3 === 1 ? "Well done!" : "<mark>5</mark>";
      const answer = content.startsWith("Judge") ? mark : "It answered some lights.";
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({ choices: [{ message: { content: answer }, finish_reason: "stop" }] }),
      );
    });
  });
  let address: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterAll(() => server.close());

  const STEPS = ["env.context=steps", "env.history_length=1"];

  it("a judge's mark is part of the reward", async () => {
    asked.length = 0;
    vi.stubEnv("KINDS_TEST_KEY", "secret");
    const { run } = await trained(
      "reward.judge=4",
      `reward.judge_endpoint=${address}`,
      "reward.judge_model=judy",
      "reward.judge_api_key=env:KINDS_TEST_KEY",
      "trainer.total_epochs=1",
    );
    const episodes = [...readTrajectories(join(run, "trajectories"))];
    expect(asked).toHaveLength(episodes.length);
    expect(asked[0]).toMatchObject({ model: "judy", key: "Bearer secret" });
    for (const { rewards, reward } of episodes)
      expect(rewards).toEqual({ environment: reward, judge: 2 });
  });

  it("a judge that times out, or gives no mark, costs its episodes alone", async () => {
    asked.length = 0;
    isIll = true;
    const { run, metrics } = await trained(
      ...["reward.judge=4", `reward.judge_endpoint=${address}`, "reward.judge_model=judy"],
      ...["reward.seconds=2", "trainer.total_epochs=1"],
    );
    isIll = false;
    server.closeAllConnections();
    const episodes = [...readTrajectories(join(run, "trajectories"))];
    const lost = episodes.filter(({ dropped }) => dropped !== undefined);
    expect(lost).toHaveLength(Math.floor((2 * episodes.length) / 3));
    const reasons = lost.map(({ dropped }) => dropped).join("\n");
    expect(reasons).toMatch(/judge.*did not answer/);
    expect(reasons).toMatch(/judge.*has no mark/);
    for (const { dropped, rewards } of episodes)
      if (dropped === undefined) expect(rewards).toMatchObject({ judge: 2 });
    expect(metrics[0]!["training/faults/reward"]).toBe(lost.length);
  });

  it("a server sums the past up", async () => {
    asked.length = 0;
    const { run } = await trained(
      ...STEPS,
      "env.use_summary=True",
      `env.summary_endpoint=${address}`,
      "env.summary_model=sue",
      "trainer.total_epochs=1",
    );
    expect(asked.length).toBeGreaterThan(0);
    const prompts = [...readTrajectories(join(run, "trajectories"))].flatMap(({ turns }) =>
      turns.map(({ messages }) => messages.at(-1)!.content),
    );
    expect(prompts.some((text) => text.includes("It answered some lights."))).toBe(true);
  });

  it("the policy itself sums the past up, in training and in evaluation", async () => {
    const { metrics } = await trained(
      ...STEPS,
      "env.history=summary",
      "trainer.total_epochs=1",
      "trainer.test_freq=1",
    );
    expect(metrics[0]!["val/success_rate"]).toBeGreaterThanOrEqual(0);
  });

  it("an address that is none is an error with the setting's name", async () => {
    await expect(trained("reward.judge=1", "reward.judge_endpoint=nowhere")).rejects.toThrow(
      /reward.judge_endpoint is "nowhere", expected a server's address/,
    );
  });
});
