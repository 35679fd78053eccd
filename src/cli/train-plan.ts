/**
 * @file What a run will be, before it is one: its plan, and estimates of memory and time.
 */
import { advantageEstimators } from "../algorithms/index.ts";
import { type Config, groupSize, needsReference, totalIterations } from "../config/index.ts";
import { openConfiguredWorld, requireModelFolder } from "../evaluation/index.ts";
import { configParameterCount, readModelConfig } from "../models/index.ts";
import { measureGemm } from "../torch/index.ts";
import { runPath } from "../training/index.ts";

const GB = 2 ** 30;

export async function planText(config: Config): Promise<string> {
  const { data, algorithm, actor_rollout_ref: policy, env } = config;
  const model = readModelConfig(requireModelFolder(policy.model.path));
  const parameters = configParameterCount(model);
  const world = await openConfiguredWorld(config);
  const trainTasks = await world.world.tasks(world.trainSplit);
  const valTasks = await world.world.tasks(world.valSplit);
  const episodes = data.train_batch_size * groupSize(config);
  const critic = "critic" in advantageEstimators[algorithm.adv_estimator].needs;

  const bytes = policy.model.dtype === "float32" ? 4 : 2;
  const trained = policy.model.lora_rank > 0 ? parameters / 50 : parameters;
  const copies = (critic ? 2 : 1) * (parameters * bytes + trained * 12);
  const reference = needsReference(config) && policy.model.lora_rank === 0 ? parameters * bytes : 0;
  // What a pass keeps per token and layer for its way back: some 17 hidden sizes and 3 inner ones.
  const kept = policy.model.enable_gradient_checkpointing
    ? model.hiddenSize * model.layers
    : (17 * model.hiddenSize + 3 * model.intermediateSize) * model.layers;
  const activations = policy.actor.ppo_max_token_len_per_gpu * kept * bytes;
  const cache = policy.rollout.cache_bytes;

  // A guess: each turn some 60 tokens of observation and reply; generation computes each once, an
  // update three times as much.
  const tokens = episodes * world.turns * 60;
  const speed = measureGemm() * 1e9 * 0.4;
  const passes = 1 + 3 * policy.actor.ppo_epochs * (critic ? 2 : 1) + (reference > 0 ? 1 : 0);
  const seconds = (tokens * 2 * parameters * passes) / speed;
  await world.world.close?.();

  const line = (name: string, text: string) => `${name.padEnd(12)} ${text}`;
  return [
    line("run", runPath(config)),
    line("world", `${world.about.name}, ${world.world.source ?? ""}`),
    line(
      "tasks",
      `${trainTasks.length} to train on (${world.trainSplit}), ${Math.min(valTasks.length, data.val_batch_size ?? Infinity)} to validate on (${world.valSplit})`,
    ),
    line(
      "iteration",
      `${data.train_batch_size} tasks × ${groupSize(config)} episodes of at most ${world.turns} turns, ${env.context}, format ${env.format}`,
    ),
    line(
      "algorithm",
      `${algorithm.adv_estimator}: ${advantageEstimators[algorithm.adv_estimator].summary}`,
    ),
    line(
      "model",
      `${(parameters / 1e6).toFixed(1)} million parameters${policy.model.lora_rank > 0 ? `, LoRA of rank ${policy.model.lora_rank}` : ""}${critic ? ", and a critic of that size" : ""}`,
    ),
    line(
      "memory",
      `about ${((copies + reference + activations + cache) / GB).toFixed(1)} GB: weights, gradients and optimiser ${(copies / GB).toFixed(1)}, reference ${(reference / GB).toFixed(1)}, a pass ${(activations / GB).toFixed(1)}, cache up to ${(cache / GB).toFixed(1)}`,
    ),
    line(
      "time",
      `about ${duration(seconds)} per iteration if episodes use all their turns, ${duration(seconds * totalIterations(config))} for ${totalIterations(config)} iterations`,
    ),
  ].join("\n");
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
