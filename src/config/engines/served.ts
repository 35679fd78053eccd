/**
 * @file Who plays in a run, of what the configuration says: our own engine, or vLLM's servers.
 */
import { findVllm, VLLM_VARIABLE } from "../../generation/index.ts";
import { findRendezvous, kindOf, ncclProblem } from "../../torch/index.ts";
import { probeTolerance, type ServedOptions } from "../../training/index.ts";
import { trainersGpus, visibleGpus } from "./gpus.ts";
import { ConfigError } from "../override.ts";
import { PLAYERS_ALSO, playersProblems, playersServed } from "./players.ts";
import type { Config } from "../schema.ts";
import { secretOf } from "../secrets.ts";

const ROLLOUT = "actor_rollout_ref.rollout";

/** Settings that only servers have. */
const SERVERS_ONLY = [
  ...["data_parallel_size", "gpu_memory_utilization", "enforce_eager", "dtype", "max_num_seqs"],
  ...["max_model_len", "engine_kwargs"],
  ...["executable", "urls", "api_key", "weights", "weights_folder", "sync_tolerance", "lora"].map(
    (n) => `vllm.${n}`,
  ),
  ...["start_seconds", "answer_seconds"].map((n) => `vllm.${n}`),
];

/** Undefined: the engine in this process plays. */
export function servedOptions(config: Config): ServedOptions | undefined {
  const executable = programOf(config);
  if (playsServed(config, executable)) return vllmServed(config, executable);
  return config.actor_rollout_ref.rollout.players > 0 ? playersServed(config) : undefined;
}

function vllmServed(config: Config, executable: string | undefined): ServedOptions {
  const { trainer, actor_rollout_ref: policy } = config;
  const { rollout, model } = policy;
  const { vllm } = rollout;
  const device = trainer.device;
  const dtype = rollout.dtype ?? model.dtype;
  const { localRank } = findRendezvous();
  const perReplica = rollout.tensor_model_parallel_size;
  const apiKey = secretOf(`${ROLLOUT}.vllm.api_key`, vllm.api_key)?.();
  return {
    vllm: {
      executable,
      urls: vllm.urls,
      apiKey,
      replicas: rollout.data_parallel_size,
      tensorParallel: perReplica,
      memoryShare: rollout.gpu_memory_utilization,
      cacheBytes: rollout.cache_bytes,
      maximumSequences: rollout.max_num_seqs,
      tokensPerStep: rollout.max_num_batched_tokens,
      dtype,
      cutsPrompts: device !== "cpu",
      eager: rollout.enforce_eager || device === "cpu",
      threads: trainer.threads ?? undefined,
      // Replicas have GPUs of their own, those of a rank behind those of the rank before it.
      devices:
        device === "cpu"
          ? undefined
          : (replica) => {
              const before = localRank * rollout.data_parallel_size + replica;
              const first = trainersGpus({ trainer, rollout }) + before * perReplica;
              const gpus = visibleGpus();
              return Array.from(
                { length: perReplica },
                (_, i) => gpus?.[first + i] ?? String(first + i),
              ).join(",");
            },
      weights: vllm.weights,
      words: wordsOf(rollout.engine_kwargs?.vllm ?? {}),
      startSeconds: vllm.start_seconds,
      answerSeconds: vllm.answer_seconds,
    },
    contextLength: rollout.max_model_len ?? undefined,
    tolerance: vllm.sync_tolerance ?? probeTolerance(dtype, model.dtype),
    adapters: vllm.lora === "adapter",
    weightsFolder: vllm.weights_folder,
  };
}

/** Why weights cannot be sent from GPU to GPU. */
function transferProblems({ trainer, actor_rollout_ref: { rollout } }: Config): string[] {
  if (rollout.vllm.weights !== "nccl") return [];
  const name = `${ROLLOUT}.vllm.weights=nccl`;
  const files = `leave it out (${ROLLOUT}.vllm.weights=files)`;
  const problems: string[] = [];
  if (kindOf(trainer.device) === "cpu")
    problems.push(
      `${name} sends weights from GPU to GPU, and trainer.device is ${trainer.device}: train on one (cuda), or ${files}.`,
    );
  else {
    const problem = ncclProblem();
    if (problem !== undefined) problems.push(`${name}: ${problem}; or ${files}.`);
  }
  const gpus = visibleGpus();
  const needed =
    trainersGpus({ trainer, rollout }) +
    Math.max(1, trainer.n_gpus_per_node) *
      rollout.data_parallel_size *
      rollout.tensor_model_parallel_size;
  const isKnown = kindOf(trainer.device) === "cuda" && rollout.vllm.urls.length === 0;
  if (isKnown && gpus && gpus.length < needed)
    problems.push(
      `${name}: training and its servers need ${needed} GPUs, because NCCL refuses two processes on one, and there are ` +
        `${gpus.length} here (${gpus.join(", ")}): take fewer servers, or ${files}.`,
    );
  if (findRendezvous().worldSize > 1 && trainer.n_gpus_per_node === 0)
    problems.push(
      `${name} gives servers the GPUs behind those of the training processes: say how many of these a machine has, ` +
        "trainer.n_gpus_per_node.",
    );
  if (rollout.vllm.lora === "adapter")
    problems.push(
      `${name} sends whole weights, and ${ROLLOUT}.vllm.lora=adapter hands an adapter over as a file: set lora to merged, ` +
        `or ${files}.`,
    );
  if (rollout.one_step_off)
    problems.push(
      `${name} sends the weights as they are, also to a server that is started again in the middle of a rollout; with ` +
        `${ROLLOUT}.one_step_off=True they are newer than those that it plays with: use one of the two.`,
    );
  return problems;
}

function playsServed({ actor_rollout_ref: { rollout } }: Config, executable: string | undefined) {
  return rollout.name === "vllm" && (executable !== undefined || rollout.vllm.urls.length > 0);
}

function programOf({ actor_rollout_ref: { rollout } }: Config): string | undefined {
  if (rollout.name !== "vllm" || rollout.vllm.urls.length > 0) return undefined;
  try {
    return findVllm(rollout.vllm.executable);
  } catch (error) {
    throw new ConfigError(`${ROLLOUT}.name is vllm: ${(error as Error).message}`);
  }
}

/** block_size: 16 is --block-size 16; true is the option alone, false is none. */
function wordsOf(options: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const option = `--${name.replaceAll("_", "-")}`;
    if (typeof value === "boolean") return value ? [option] : [];
    return [option, String(value)];
  });
}

/** What servers cannot do. */
export function servedProblems(config: Config): string[] {
  const byVllm = playsServed(config, programOf(config));
  const { algorithm, actor_rollout_ref: policy } = config;
  const { rollout } = policy;
  if (!byVllm && rollout.players === 0) return [];
  const { rollout_is: weights, rollout_rs, bypass_mode } = algorithm.rollout_correction;
  const who = byVllm
    ? `with ${ROLLOUT}.name=vllm servers generate`
    : `with ${ROLLOUT}.players=${rollout.players} other processes generate`;
  const problems = byVllm ? transferProblems(config) : playersProblems(config);
  const refused = byVllm ? (["constrain", "quantization"] as const) : (["constrain"] as const);
  for (const setting of refused)
    if (rollout[setting])
      problems.push(`${ROLLOUT}.${setting} is of the engine in the training process; ${who}.`);
  if (algorithm.replay.enable)
    problems.push(
      `algorithm.replay.enable=True needs the log-probabilities of the engine in the training process; ${who}.`,
    );
  const corrects = (weights !== null && weights !== "none") || rollout_rs !== null || bypass_mode;
  if (corrects && rollout.temperature !== 1)
    problems.push(
      "algorithm.rollout_correction compares log-probabilities of the rollout with those of training. Servers and players " +
        `tell those at temperature 1, and ${ROLLOUT}.temperature is ${rollout.temperature}: set it to 1, or leave ` +
        "the correction (and bypass_mode) out.",
    );
  return problems;
}

/** What somebody should know who asked for another engine than the one that will play. */
export function engineNotes(config: Config, isGiven: (path: string) => boolean): string[] {
  const { name, players } = config.actor_rollout_ref.rollout;
  if (playsServed(config, programOf(config)))
    return players === 0
      ? []
      : [
          `${ROLLOUT}.players has no effect here: vLLM's servers play, data_parallel_size says how many.`,
        ];
  const notes: string[] = [];
  if (name === "vllm")
    notes.push(
      `${ROLLOUT}.name is vllm, and there is no vLLM here (${ROLLOUT}.vllm.executable, ${VLLM_VARIABLE}, the PATH): ` +
        "our own engine plays.",
    );
  else if (name !== "openmanus")
    notes.push(
      `${ROLLOUT}.name has no effect here: "${name}" is no engine of ours; there are openmanus and vllm.`,
    );
  const known = players > 0 ? PLAYERS_ALSO : [];
  for (const setting of SERVERS_ONLY.filter((one) => !known.includes(one)))
    if (isGiven(`${ROLLOUT}.${setting}`))
      notes.push(
        `${ROLLOUT}.${setting} has no effect here: it is for vLLM's servers, and our own engine plays.`,
      );
  return notes;
}
