/**
 * @file One iteration of GiGPO: 16 tasks × 8 episodes in the built-in household, with a model of the preset
 * small that was warmed up on expert episodes. Where its time goes, and how near it is to what the
 * processor can multiply.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRunWorld } from "../src/assembly/index.ts";
import { type ResolvedRun, resolveConfig, runOptions } from "../src/config/index.ts";
import {
  initModelFolder,
  loadChat,
  loadModel,
  type Model,
  presetConfig,
  saveModel,
} from "../src/models/index.ts";
import type { Metrics } from "../src/monitoring/index.ts";
import { measureGemm, threads } from "../src/torch/index.ts";
import {
  examplesOf,
  expertEpisodes,
  fineTune,
  runTraining,
  taskOrder,
  worldTexts,
} from "../src/training/index.ts";
import type { Benchmark } from "./main.ts";
import { statusBytes, table } from "./measure.ts";

const EXPERT_EPISODES = 200;

interface Figures {
  threads: number;
  peakGflops: number;
  seconds: number;
  /** Seconds by phase, rollouts split into the model's part and the rest. */
  phases: Record<string, number>;
  /** Of the whole, what is not the model's work. Bar: below a tenth. */
  outsideShare: number;
  tokens: number;
  sampledTokens: number;
  sampledPerSecond: number;
  updatePerSecond: number;
  /** Of the peak, while the model works. */
  updateShare: number;
  generationShare: number;
  peakBytes: number;
}

export const train: Benchmark = {
  async run(): Promise<Figures> {
    const folder = mkdtempSync(join(tmpdir(), "openmanus-bench-"));
    try {
      const model = await warmModel(folder);
      console.error("an iteration …");
      const all: Metrics[] = [];
      const { options } = await optionsOf(model, folder);
      await runTraining({
        options,
        loggers: [() => ({ log: (_, metrics) => void all.push(metrics), close() {} })],
        say: (text) => console.error(text),
      });
      const loaded = loadModel(model);
      const figures = figuresOf(all.at(-1)!, loaded);
      loaded.dispose();
      return figures;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  report: (figures) => reportOf(figures as Figures),
};

/** `own`: further settings. */
export function optionsOf(
  model: string,
  folder: string,
  own: readonly string[] = [],
): Promise<ResolvedRun> {
  const overrides = [
    `actor_rollout_ref.model.path=${model}`,
    "env.env_name=household",
    "env.options.difficulty=easy",
    "data.train_batch_size=16",
    "env.rollout.n=8",
    "algorithm.adv_estimator=gigpo",
    "trainer.total_epochs=1",
    "trainer.test_freq=-1",
    "trainer.save_freq=-1",
    "trainer.val_before_train=False",
    `trainer.default_local_dir=${join(folder, "run")}`,
    ...own,
  ];
  return runOptions(resolveConfig({ preset: "small-model", overrides }).config);
}

export async function warmModel(
  parent: string,
  preset: "mini" | "small" = "small",
  count = EXPERT_EPISODES,
): Promise<string> {
  const [folder, warm] = [join(parent, "new"), join(parent, "warm")];
  const { play, world: where } = await optionsOf(folder, parent);
  const world = await openRunWorld(where);
  const order = taskOrder(await world.world.tasks(world.trainSplit), 1, true);
  initModelFolder(folder, {
    config: presetConfig(preset),
    texts: await worldTexts(world, order.next(count), 1),
    seed: 0,
  });
  const chat = loadChat(folder);
  const model = loadModel(folder);
  console.error(`a warm start on ${count} expert episodes …`);
  const episodes = await expertEpisodes({
    ...{ play, world, chat, seed: 0 },
    tasks: order.next(count),
    contextLength: model.config.maximumPositions,
  });
  await fineTune(model, episodes.flatMap(examplesOf), {
    ...{ epochs: 1, lr: 2e-3, batchSize: 8, seed: 0 },
  });
  saveModel(model, warm, { tokenizerFolder: folder });
  model.dispose();
  await world.world.close?.();
  return warm;
}

function figuresOf(metrics: Metrics, model: Model): Figures {
  const time = (name: string) => metrics[`timing_s/${name}`] ?? 0;
  const seconds = time("step");
  const modelInRollout = time("agent_loop/generate_sequences");
  const phases = {
    "rollout: the model": modelInRollout,
    "rollout: worlds, prompts, parsing": time("gen") - modelInRollout,
    reward: time("reward"),
    "log-probabilities before": time("old_log_prob") + time("ref"),
    advantages: time("adv"),
    "update of the actor": time("update_actor"),
  };
  const named = Object.values(phases).reduce((sum, part) => sum + part, 0);
  const inModel =
    phases["rollout: the model"] +
    phases["log-probabilities before"] +
    phases["update of the actor"];
  const peakGflops = measureGemm();
  const tokens = metrics["perf/total_num_tokens"]!;
  const sampledTokens = metrics["perf/sampled_tokens_per_second"]! * time("gen");
  const body = bodyParameters(model);
  const output = model.output.numel;
  // A product is two operations per weight; a backward pass is two more products.
  const updateWork = 6 * (body * tokens + output * sampledTokens);
  const generationWork =
    2 * (body * metrics["perf/generation_computed_tokens"]! + output * sampledTokens);
  const shareOfPeak = (work: number, spent: number) => work / spent / (peakGflops * 1e9);
  return {
    threads: threads(),
    peakGflops,
    seconds,
    phases: { ...phases, "everything else": seconds - named },
    outsideShare: 1 - inModel / seconds,
    tokens,
    sampledTokens,
    sampledPerSecond: sampledTokens / time("gen"),
    updatePerSecond: tokens / time("update_actor"),
    updateShare: shareOfPeak(updateWork, time("update_actor")),
    generationShare: shareOfPeak(generationWork, modelInRollout),
    peakBytes: statusBytes("VmHWM"),
  };
}

/** Weights of the layers' matrices. */
function bodyParameters(model: Model): number {
  let count = 0;
  for (const [name, tensor] of model.parameters)
    if (name.startsWith("model.layers.") && tensor.ndim === 2) count += tensor.numel;
  return count;
}

function reportOf(figures: Figures): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const rows = Object.entries(figures.phases).map(([name, seconds]) => [
    name,
    `${seconds.toFixed(2)} s`,
    percent(seconds / figures.seconds),
  ]);
  return [
    table([
      ["phase", "time", "share"],
      ...rows,
      ["an iteration", `${figures.seconds.toFixed(2)} s`, ""],
    ]),
    "",
    `outside of the model ${percent(figures.outsideShare)} (bar: below 10 %)`,
    `${figures.tokens} tokens, ${Math.round(figures.sampledTokens)} of them sampled`,
    `rollout ${figures.sampledPerSecond.toFixed(0)} sampled tokens/s, ${percent(figures.generationShare)} of the peak`,
    `update ${figures.updatePerSecond.toFixed(0)} tokens/s, ${percent(figures.updateShare)} of the peak`,
    `peak ${figures.peakGflops.toFixed(0)} GFLOPS with ${figures.threads} threads; memory at most ${(figures.peakBytes / 2 ** 30).toFixed(2)} GB`,
  ].join("\n");
}
