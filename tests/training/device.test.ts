/**
 * @file Whole iterations on a device that is not the CPU (native/standin): PPO with a critic, GRPO with a reference,
 * GiGPO with an adapter, resumed, offloaded. What they compute is what the CPU computes, to 1e-5.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openSafetensors } from "../../src/models/index.ts";
import { launch } from "../../src/torch/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin, type Standin } from "../support/standin.ts";
import {
  largestDifference,
  tinyConfig,
  tinyRun,
  tinySettings,
  trainConfig,
  warmTinyFolder,
} from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;
let standin: Standin;

beforeAll(async () => {
  standin = await loadStandin();
  warm = await warmTinyFolder(parent, { episodes: 80, epochs: 4 });
}, BUILD_TIMEOUT);

const ON_DEVICE = `trainer.device=${DEVICE}`;
/** AdamW makes much of a gradient that is little more than rounding: in small steps that is far below 1e-5. */
const SMALL_STEPS = "actor_rollout_ref.actor.optim.lr=1e-4";
const REFERENCE = ["actor_rollout_ref.actor.use_kl_loss=True"];
const LORA = ["actor_rollout_ref.model.lora_rank=4"];
const SEVERAL = ["actor_rollout_ref.actor.ppo_mini_batch_size=4"];

/** All numbers of the safetensors files of a checkpoint, by file and name. */
function numbersOf(folder: string): Map<string, Float64Array> {
  const found = new Map<string, Float64Array>();
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    if (!name.endsWith(".safetensors")) continue;
    const file = openSafetensors(join(folder, name));
    for (const key of file.tensors.keys()) {
      const tensor = file.load(key);
      found.set(`${name} ${key}`, tensor.toNumbers());
      tensor.dispose();
    }
    file.close();
  }
  return found;
}

function compare(one: string, other: string, tolerance: number): void {
  const [first, second] = [numbersOf(one), numbersOf(other)];
  expect([...second.keys()].sort()).toEqual([...first.keys()].sort());
  expect(first.size).toBeGreaterThan(10);
  for (const [name, numbers] of first)
    expect(largestDifference(second.get(name)!, numbers), name).toBeLessThan(tolerance);
}

const last = (run: string, step = 2) =>
  join(run, "checkpoints", `step-${String(step).padStart(6, "0")}`);

describe.each<[string, string[]]>([
  [
    "PPO, critic and reward-side KL",
    ["algorithm.adv_estimator=gae", "algorithm.use_kl_in_reward=True", ...SEVERAL],
  ],
  [
    "GRPO, reference in the loss, gradient checkpointing",
    [
      "algorithm.adv_estimator=grpo",
      ...REFERENCE,
      ...SEVERAL,
      "actor_rollout_ref.model.enable_gradient_checkpointing=True",
    ],
  ],
  [
    "GiGPO, adapter, a prompt per turn",
    ["algorithm.adv_estimator=gigpo", "env.context=steps", ...LORA, ...REFERENCE],
  ],
  [
    "the variance proxy and sums of squares",
    [
      "algorithm.adv_estimator=optimal_token_baseline",
      "actor_rollout_ref.actor.calculate_sum_pi_squared=True",
    ],
  ],
])("%s", (_, own) => {
  it("is the CPU's run on a device, and copies are few", async () => {
    const here = await tinyRun(parent, warm, [...own, SMALL_STEPS]);
    const before = standin.copies();
    const there = await tinyRun(parent, warm, [...own, SMALL_STEPS, ON_DEVICE]);
    const after = standin.copies();
    expect(there.said).toEqual([]);
    expect(there.episodes().map(({ turns }) => turns.map(({ reply }) => reply.ids))).toEqual(
      here.episodes().map(({ turns }) => turns.map(({ reply }) => reply.ids)),
    );
    compare(last(here.run), last(there.run), 1e-5);
    for (const [i, metrics] of here.metrics.entries()) {
      expect(metrics["perf/copies_to_device"]).toBeUndefined();
      const names = [
        "actor/grad_norm",
        "actor/pg_loss",
        "actor/entropy",
        "critic/vf_loss",
        "actor/kl_loss",
      ];
      for (const name of names)
        if (metrics[name] !== undefined)
          expect(there.metrics[i]![name]!, name).toBeCloseTo(metrics[name], 4);
    }
    // All copies of the iterations are in the metrics; those outside load and save models.
    const sum = (name: string) =>
      there.metrics.reduce((total, metrics) => total + metrics[name]!, 0);
    expect(sum("perf/copies_to_device")).toBeGreaterThan(0);
    expect(sum("perf/copies_to_device")).toBeLessThanOrEqual(after.toDevice - before.toDevice);
    expect(sum("perf/copies_to_host")).toBeLessThanOrEqual(after.toHost - before.toHost);
    // Some for each step of generation and each pass, none for each token or layer.
    expect(sum("perf/megabytes_to_device")).toBeLessThan(1);
    expect(sum("perf/copies_to_host")).toBeLessThan(400);
  });
});

describe("on a device", () => {
  it("a run goes on bitwise as if it had not been interrupted", async () => {
    const own = ["algorithm.adv_estimator=gae", ON_DEVICE, ...SEVERAL];
    const whole = await tinyRun(parent, warm, own);
    const run = join(parent, "resumed");
    for (const iterations of [1, 2]) {
      const settings = [
        ...own,
        `trainer.total_epochs=2`,
        `trainer.total_training_steps=${iterations}`,
      ];
      await trainConfig({ config: tinyConfig(warm, run, settings) });
    }
    compare(last(whole.run), last(run), Number.MIN_VALUE);
  });

  it.each<[string, string[]]>([
    ["whole", []],
    ["of an adapter's base", LORA],
  ])(
    "weights and moments that lie on the host between their uses change nothing, %s",
    async (_, own) => {
      const kinds = ["algorithm.adv_estimator=gae", ...REFERENCE, ...own, ON_DEVICE];
      const offload = [
        "actor_rollout_ref.actor.fsdp_config.param_offload=True",
        "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True",
        "actor_rollout_ref.ref.fsdp_config.param_offload=True",
        "critic.model.fsdp_config.param_offload=True",
        "critic.model.fsdp_config.optimizer_offload=True",
      ];
      const plain = await tinyRun(parent, warm, kinds);
      const offloaded = await tinyRun(parent, warm, [...kinds, ...offload]);
      compare(last(plain.run), last(offloaded.run), Number.MIN_VALUE);
      expect(offloaded.metrics[1]!["perf/megabytes_to_device"]).toBeGreaterThan(
        plain.metrics[1]!["perf/megabytes_to_device"]!,
      );
    },
  );

  it("two ranks have a device each, and train what one process on the CPU trains", async () => {
    const own = [
      ...["algorithm.adv_estimator=gae", "trainer.total_epochs=2", ...SEVERAL, SMALL_STEPS],
      ...["actor_rollout_ref.actor.strategy=ddp", "critic.strategy=ddp"],
    ];
    const here = await tinyRun(parent, warm, own);
    const run = join(parent, "two");
    const lines: string[] = [];
    await launch(new URL("./support/device-rank.ts", import.meta.url), {
      processes: 2,
      arguments: [...tinySettings(warm, run), ...own, "trainer.device=privateuseone"],
      onLine: ({ text }) => lines.push(text),
    });
    expect(lines.filter((line) => line.startsWith("device")).sort()).toEqual([
      "device privateuseone:0",
      "device privateuseone:1",
    ]);
    compare(last(here.run), last(run), 1e-5);
  }, 180_000);

  it("a device that is not there is told", async () => {
    for (const device of ["privateuseone:7", "tpu", "cuda"])
      await expect(tinyRun(parent, warm, [`trainer.device=${device}`])).rejects.toThrow(
        `trainer.device is "${device}", which cannot be used here`,
      );
  });
});
