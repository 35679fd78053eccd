/**
 * @file What a sharded run can be besides plain: adapters, references, hybrid sharding, offload, ranks without
 * work, bfloat16. Each against one process with whole weights, through the training entry. And: what four
 * ranks saved, one and two go on from.
 */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, vi } from "vitest";
import { configParameterCount, openSafetensors, readModelConfig } from "../../src/models/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { launch } from "../../src/torch/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { tinySettings, warmTinyFolder } from "./support/runs.ts";
import { checkpointOf, type Finished, largestOf, tensorsIn, trainedBy } from "./support/sharded.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 120_000 });

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const SMALL_STEPS = ["actor_rollout_ref.actor.optim.lr=1e-4", "algorithm.adv_estimator=grpo"];

const run = (name: string, processes: number, own: readonly string[]): Promise<Finished> =>
  trainedBy(join(parent, name), warm, processes, [...SMALL_STEPS, ...own]);

/** How far two runs are apart after an iteration, in the files of one name. */
function apart(one: string, other: string, step: number, file: string): number {
  const [a, b] = [one, other].map((run) => tensorsIn(join(checkpointOf(run, step), file)));
  return largestOf(a!, b!);
}

const THREE = ["trainer.total_epochs=3", "trainer.save_freq=3"];
const MODEL = "actor/model.safetensors";

const KINDS: [name: string, processes: number, file: string, same: string[], own: string[]][] = [
  [
    "an adapter over a sharded base, which is the reference too",
    2,
    "actor/adapter_model.safetensors",
    ["actor_rollout_ref.model.lora_rank=4", "actor_rollout_ref.actor.use_kl_loss=True"],
    [],
  ],
  ["a sharded reference", 2, MODEL, ["actor_rollout_ref.actor.use_kl_loss=True"], []],
  [
    "two copies over two ranks each",
    4,
    MODEL,
    [],
    ["actor_rollout_ref.actor.fsdp_config.fsdp_size=2"],
  ],
  [
    "ranks without rows, and many small passes",
    4,
    MODEL,
    ["data.train_batch_size=3", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=48"],
    [],
  ],
  [
    "shards and moments in files",
    2,
    MODEL,
    [],
    [
      "actor_rollout_ref.actor.fsdp_config.param_offload=True",
      "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True",
    ],
  ],
  [
    "layers that stay, and nothing fetched ahead",
    2,
    MODEL,
    ["actor_rollout_ref.model.enable_gradient_checkpointing=True"],
    [
      "actor_rollout_ref.actor.strategy=fsdp2",
      "actor_rollout_ref.actor.fsdp_config.reshard_after_forward=False",
      "actor_rollout_ref.actor.fsdp_config.forward_prefetch=False",
    ],
  ],
  [
    "a policy that generates in parts, its adapter merged into them",
    2,
    "actor/adapter_model.safetensors",
    ["actor_rollout_ref.model.lora_rank=4", "actor_rollout_ref.actor.use_kl_loss=True"],
    ["actor_rollout_ref.rollout.tensor_model_parallel_size=2"],
  ],
  ["whole weights in each rank", 2, MODEL, [], ["actor_rollout_ref.actor.strategy=ddp"]],
];

const alone = new Map<string, Promise<Finished>>();

/** The run of one process that several are compared with. */
function aloneWith(same: readonly string[]): Promise<Finished> {
  const key = same.join(" ");
  if (!alone.has(key)) alone.set(key, run(`alone-${alone.size}`, 1, [...THREE, ...same]));
  return alone.get(key)!;
}

it.each(KINDS)("%s", async (name, processes, file, same, own) => {
  const one = await aloneWith(same);
  const several = await run(`${name} n`, processes, [...THREE, ...same, ...own]);
  expect(apart(one.folder, several.folder, 3, file)).toBeLessThan(1e-5);
  if (file.includes("adapter")) {
    const policies = [one, several].map(({ folder }) =>
      tensorsIn(join(folder, "policy/model.safetensors")),
    );
    expect(largestOf(policies[0]!, policies[1]!)).toBeLessThan(1e-5);
  }
});

it("one and two ranks go on from what four saved", async () => {
  const whole = await run("whole", 1, ["trainer.total_epochs=5", "trainer.save_freq=5"]);
  const saved = await run("saved", 4, THREE);
  for (const processes of [1, 2]) {
    const folder = join(parent, `resumed-${processes}`);
    cpSync(saved.folder, folder, { recursive: true });
    const more = ["trainer.total_epochs=5", "trainer.save_freq=5"];
    const { lines } = await run(`resumed-${processes}`, processes, more);
    expect(lines.join("\n")).toContain("going on after iteration 3");
    expect(apart(whole.folder, folder, 5, MODEL)).toBeLessThan(1e-5);
    expect(apart(whole.folder, folder, 5, "actor-optimizer.safetensors")).toBeLessThan(1e-5);
  }
});

it("what four ranks saved in shards of their own, one and two go on from", async () => {
  const settings = ["algorithm.adv_estimator=gae", "trainer.total_epochs=3", "trainer.save_freq=2"];
  const saved = await run("own-shards", 4, [...settings, "trainer.sharded_checkpoints=True"]);
  const second = checkpointOf(saved.folder, 2);
  for (const name of ["actor", "critic"]) {
    expect(existsSync(join(second, name))).toBe(false);
    expect(existsSync(join(second, `${name}-shards`, "part-00003-of-00004.safetensors"))).toBe(
      true,
    );
    // The last one is gathered: it is the run's result.
    expect(existsSync(join(checkpointOf(saved.folder, 3), name, "model.safetensors"))).toBe(true);
  }
  for (const processes of [1, 2]) {
    const folder = join(parent, `own-resumed-${processes}`);
    cpSync(saved.folder, folder, { recursive: true });
    rmSync(checkpointOf(folder, 3), { recursive: true });
    const { lines } = await run(`own-resumed-${processes}`, processes, settings);
    expect(lines.join("\n")).toContain("going on after iteration 2");
    for (const file of [MODEL, "critic/model.safetensors", "actor-optimizer.safetensors"])
      expect(apart(saved.folder, folder, 3, file), file).toBeLessThan(1e-5);
  }
});

it("a rank has its share of weights, gradients and moments, and no more", async () => {
  const settings = ["algorithm.adv_estimator=gae", "trainer.total_epochs=1"];
  for (const processes of [2, 4]) {
    const { folder } = await run(`bytes-${processes}`, processes, settings);
    const [line] = readMetrics(join(folder, "metrics.jsonl"));
    // Float32 weights, gradients and two moments.
    const whole = 16 * configParameterCount(readModelConfig(warm));
    const own = line!.metrics["actor/state_bytes_per_rank"]!;
    expect(own / whole).toBeGreaterThanOrEqual(1 / processes);
    expect(own / whole).toBeLessThanOrEqual(1 / processes + 0.02);
    const head = { ...readModelConfig(warm), head: "token-classification", labels: 1 } as const;
    const critic = line!.metrics["critic/state_bytes_per_rank"]!;
    expect(critic / (16 * configParameterCount(head))).toBeLessThanOrEqual(1 / processes + 0.02);
  }
});

it("bfloat16 computes, float32 is trained and saved", async () => {
  const bfloat16 = "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=bf16";
  const { folder } = await run("bfloat16", 2, [...THREE, bfloat16]);
  const one = await aloneWith([]);
  const file = openSafetensors(join(checkpointOf(folder, 3), MODEL));
  expect([...file.tensors.values()].every(({ dtype }) => dtype === "float32")).toBe(true);
  file.close();
  // Steps of the rate's size, whatever rounding does to their signs.
  expect(apart(one.folder, folder, 3, MODEL)).toBeLessThan(1e-3);
});

it("a loss that is no number on one rank is nobody's deadlock", async () => {
  const lines: string[] = [];
  const out = join(parent, "bad-loss");
  await launch(new URL("./support/bad-loss.ts", import.meta.url), {
    processes: 2,
    arguments: [...tinySettings(warm, out), "algorithm.adv_estimator=grpo"],
    onLine: ({ rank, text }) => lines.push(`${rank} ${text}`),
  });
  for (const rank of [0, 1]) expect(lines).toContain(`${rank} skipped 1,1, made 0, then made 1`);
  expect(existsSync(out)).toBe(false);
});
