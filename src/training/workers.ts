/**
 * @file The four workers of a run, made from its configuration: actor, critic, reference and rollout.
 *
 * On one device they share what they can: the rollout generates with the actor's own weights, and with
 * LoRA the reference is the actor's base.
 */
import type { Agent } from "../agents/index.ts";
import { advantageEstimators } from "../algorithms/index.ts";
import { type Config, ConfigError, needsReference, totalIterations } from "../config/index.ts";
import {
  createModelAgent,
  GREEDY,
  requireModelFolder,
  validationDrawing,
} from "../evaluation/index.ts";
import type { Engine } from "../generation/index.ts";
import {
  addLora,
  type Chat,
  type LoraModel,
  type LoraTarget,
  loadChat,
  loadLora,
  loadModel,
  type Model,
  valueModelFrom,
} from "../models/index.ts";
import type { Policy } from "../rollout/index.ts";
import { autocast, derivedGenerator, tidy, zeros } from "../torch/index.ts";
import { type Allocate, inFiles, movedModel } from "./offload.ts";
import { createTrainedModel, type TrainedModel } from "./optimize.ts";
import type { Ranks } from "./ranks.ts";
import { runPath } from "./run-folder.ts";

/** The actor's model: whole, or a frozen base with an adapter that is trained. */
export type PolicyModel = Model | LoraModel;

export interface Workers {
  readonly actor: TrainedModel;
  readonly critic: TrainedModel | undefined;
  /** Null with LoRA: `lora.base` is it. */
  readonly reference: Model | undefined;
  readonly lora: LoraModel | undefined;
  readonly chat: Chat;
  /** The folder that the tokenizer's files come from. */
  readonly modelFolder: string;
  readonly engine: Engine;
  /** Draws replies as in training. */
  readonly policy: Policy;
  /** Takes the most likely token: for baselines. */
  readonly greedyPolicy: Policy;
  /** Draws replies as in validation. */
  readonly validationPolicy: Policy;
  readonly agent: Agent;
  dispose(): Promise<void>;
}

/** Where a run goes on from: folders of a checkpoint. */
export interface ResumeFolders {
  readonly actor: string;
  readonly critic: string | undefined;
}

export function createWorkers(config: Config, ranks: Ranks, resume?: ResumeFolders): Workers {
  const { model: settings, actor: actorSettings, rollout } = config.actor_rollout_ref;
  const { device } = config.trainer;
  const folder = requireModelFolder(settings.path);
  const load = { dtype: settings.dtype, device: device as "cpu" };
  const chat = loadChat(folder);

  requireDevice(device);
  requirePrecision(config);
  const withLora = settings.lora_rank > 0;
  const offload = offloadOf(config);
  const base = offload.weights(
    loadModel(resume && !withLora ? resume.actor : folder, load),
    actorSettings.fsdp_config,
  );
  requireVocabulary(base, chat, folder);
  const lora = withLora ? adapterOf(base, config, resume) : undefined;
  const model: PolicyModel = lora ?? base;
  const iterations = totalIterations(config);
  const actor = createTrainedModel(
    model,
    actorSettings.optim,
    iterations,
    actorSettings.autocast,
    ranks,
    offload.moments(actorSettings.fsdp_config),
  );

  const { needs } = advantageEstimators[config.algorithm.adv_estimator];
  let critic: TrainedModel | undefined;
  if ("critic" in needs) {
    const source = resume?.critic ?? (config.critic.model.path || folder);
    // A head of zeros: the first advantages are the plain returns, not a random head's noise.
    const where = config.critic.model.fsdp_config;
    const values = offload.weights(valueModelFrom(requireModelFolder(source), load), where);
    critic = createTrainedModel(
      values,
      config.critic.optim,
      iterations,
      actorSettings.autocast,
      ranks,
      offload.moments(where),
    );
  }
  const reference =
    needsReference(config) && !lora
      ? offload.weights(loadModel(folder, load), config.actor_rollout_ref.ref.fsdp_config)
      : undefined;
  for (const parameter of reference?.parameters.values() ?? []) parameter.requiresGrad_(false);

  const { engine, agent, policy } = createModelAgent(config, model, chat);
  return {
    actor,
    critic,
    reference,
    lora,
    chat,
    modelFolder: folder,
    engine,
    policy: policy(rollout),
    greedyPolicy: policy(GREEDY),
    validationPolicy: policy(validationDrawing(config)),
    agent,
    async dispose() {
      await engine.close();
      actor.dispose();
      critic?.dispose();
      critic?.model.dispose();
      reference?.dispose();
      model.dispose();
    },
  };
}

function adapterOf(base: Model, config: Config, resume: ResumeFolders | undefined): LoraModel {
  if (resume) return loadLora(base, resume.actor);
  const { model } = config.actor_rollout_ref;
  const generator = derivedGenerator(config.trainer.seed, "adapter");
  try {
    return addLora(
      base,
      {
        rank: model.lora_rank,
        alpha: model.lora_alpha,
        dropout: model.lora_dropout,
        targets: model.target_modules as "all-linear" | readonly LoraTarget[],
      },
      generator,
    );
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(`actor_rollout_ref.model: ${error.message}`);
  } finally {
    generator.dispose();
  }
}

type OffloadConfig = Config["actor_rollout_ref"]["ref"]["fsdp_config"];

/** Puts into files of the run's folder what the configuration wants there. */
function offloadOf(config: Config) {
  let files: Allocate | undefined;
  const place = (): Allocate => {
    if (config.trainer.device !== "cpu")
      throw new ConfigError(
        "fsdp_config.param_offload and optimizer_offload keep tensors in memory-mapped files; that is " +
          `for trainer.device=cpu, it is ${config.trainer.device}`,
      );
    files ??= inFiles(runPath(config));
    return files;
  };
  return {
    weights: (model: Model, { param_offload }: OffloadConfig) =>
      param_offload ? movedModel(model, place()) : model,
    moments: ({ optimizer_offload }: OffloadConfig) => (optimizer_offload ? place() : undefined),
  };
}

function requireDevice(device: string): void {
  try {
    if (!/^(cpu|cuda(:\d+)?)$/.test(device)) throw new Error("expected cpu, cuda or cuda:N");
    tidy(() => zeros([1], { device: device as "cpu" }));
  } catch (error) {
    throw new ConfigError(
      `trainer.device is "${device}", which cannot be used here: ${(error as Error).message}`,
    );
  }
}

/** Not every libtorch has every precision everywhere; the first update is a late time to find out. */
function requirePrecision({ actor_rollout_ref: { actor }, trainer }: Config): void {
  if (actor.autocast === "none") return;
  try {
    autocast(
      { dtype: actor.autocast, device: trainer.device === "cpu" ? "cpu" : "cuda" },
      () => {},
    );
  } catch (error) {
    throw new ConfigError(
      `actor_rollout_ref.actor.autocast=${actor.autocast} cannot be had here: ${(error as Error).message}`,
    );
  }
}

/** A tokenizer whose ids the model does not have would fail in the middle of a rollout. */
function requireVocabulary(model: Model, { tokenizer }: Chat, folder: string): void {
  const { vocabularySize } = model.config;
  if (tokenizer.vocabularySize <= vocabularySize) return;
  throw new ConfigError(
    `${folder}: the tokenizer has ${tokenizer.vocabularySize} tokens, the model only ` +
      `${vocabularySize}; they do not belong together.`,
  );
}
