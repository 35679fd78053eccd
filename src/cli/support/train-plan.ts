/**
 * @file What a run will be, before it is one: its plan, and estimates of memory and time.
 */
import { openRunWorld, requireModelFolder } from "../../assembly/index.ts";
import { configParameterCount, estimateMemory, readModelConfig } from "../../models/index.ts";
import { measureGemm } from "../../torch/index.ts";
import { needsReference, passTokens, type TrainingOptions } from "../../training/index.ts";

const GB = 2 ** 30;

export async function planText(options: TrainingOptions): Promise<string> {
  const { rollout, advantages, validation, play, actor, model: settings, iterations } = options;
  const model = readModelConfig(requireModelFolder(settings.folder));
  const parameters = configParameterCount(model);
  const world = await openRunWorld(options.world);
  const trainTasks = await world.world.tasks(world.trainSplit);
  const valTasks = await world.world.tasks(world.valSplit);
  const episodes = rollout.tasks * rollout.groupSize;
  const critic = advantages.estimator.needs.critic ?? false;

  const bytes = play.dtype === "float32" ? 4 : 2;
  const trained = settings.lora ? parameters / 50 : parameters;
  const copies = (critic ? 2 : 1) * (parameters * bytes + trained * 12);
  const reference = needsReference(options) && !settings.lora ? parameters * bytes : 0;
  const { activationsPerToken, checkpointedPerToken } = estimateMemory(model);
  const kept = settings.gradientCheckpointing ? checkpointedPerToken : activationsPerToken;
  const { tokensPerPass = passTokens(model, settings.gradientCheckpointing) } = actor.batching;
  const activations = (tokensPerPass * kept * bytes) / 4;
  const cache = play.engine.cacheBytes;

  // A guess: each turn some 60 tokens of observation and reply; generation computes each once, an
  // update three times as much.
  const tokens = episodes * world.turns * 60;
  const speed = measureGemm() * 1e9 * 0.4;
  const passes = 1 + 3 * actor.batching.epochs * (critic ? 2 : 1) + (reference > 0 ? 1 : 0);
  const seconds = (tokens * 2 * parameters * passes) / speed;
  await world.world.close?.();

  const gigabytes = (amount: number) => (amount / GB).toFixed(1);
  const validated = Math.min(valTasks.length, validation.tasks ?? Infinity);
  const format = play.agent.format ?? "action";
  const lines: [string, string][] = [
    ["run", options.run.folder],
    ["world", [world.about.name, world.world.source ?? []].flat().join(", ")],
    [
      "tasks",
      `${trainTasks.length} to train on (${world.trainSplit}), ${validated} to validate on (${world.valSplit})`,
    ],
    [
      "iteration",
      `${rollout.tasks} tasks × ${rollout.groupSize} episodes of at most ${world.turns} turns, ` +
        `${play.agent.context}, format ${typeof format === "string" ? format : format.name}`,
    ],
    ["algorithm", `${advantages.name}: ${advantages.estimator.summary}`],
    [
      "model",
      `${(parameters / 1e6).toFixed(1)} million parameters` +
        (settings.lora ? `, LoRA of rank ${settings.lora.rank}` : "") +
        (critic ? ", and a critic of that size" : ""),
    ],
    [
      "memory",
      `about ${gigabytes(copies + reference + activations + cache)} GB: weights, gradients and ` +
        `optimiser ${gigabytes(copies)}, reference ${gigabytes(reference)}, a pass ` +
        `${gigabytes(activations)}, cache up to ${gigabytes(cache)}`,
    ],
    [
      "time",
      `about ${duration(seconds)} per iteration if episodes use all their turns, ` +
        `${duration(seconds * iterations)} for ${iterations} iterations`,
    ],
  ];
  return lines.map(([name, text]) => `${name.padEnd(12)} ${text}`).join("\n");
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
