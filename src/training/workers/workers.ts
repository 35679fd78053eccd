/**
 * @file The four workers of a run: actor, critic, reference and rollout.
 *
 * On one device they share what they can: the rollout generates with the actor's own weights, and with
 * LoRA the reference is the actor's base.
 */

import type { Agent } from "../../agents/index.ts";
import { GREEDY, modelPlayer, OptionError, requireModelFolder } from "../../assembly/index.ts";
import {
  addLora,
  type Chat,
  type LoraModel,
  loadChat,
  loadLora,
  loadModel,
  type Model,
  valueModelFrom,
} from "../../models/index.ts";
import type { Policy } from "../../rollout/index.ts";
import { autocast, derivedGenerator, tidy, zeros } from "../../torch/index.ts";
import { type ModelOptions, needsReference, type TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { type Allocate, inFiles, movedModel } from "./offload.ts";
import { createTrainedModel, type TrainedModel } from "./optimize.ts";

/** The actor's model: whole, or a frozen base with an adapter that is trained. */
export type PolicyModel = Model | LoraModel;

/** The rollout's side of the policy: how replies are drawn in training, in validation, for baselines. */
export interface RolloutWorker {
  readonly agent: Agent;
  readonly policy: Policy;
  readonly validation: Policy;
  readonly greedy: Policy;
  /** What the engine did so far. */
  readonly statistics: { readonly seconds: number; readonly computedTokens: number };
}

export interface Workers {
  readonly actor: TrainedModel;
  readonly critic: TrainedModel | undefined;
  readonly lora: LoraModel | undefined;
  /** Undefined where nothing needs it. With LoRA, the actor's base. */
  readonly reference: Model | undefined;
  readonly rollout: RolloutWorker;
  readonly chat: Chat;
  /** The folder that the tokenizer's files come from. */
  readonly modelFolder: string;
  /**
   * Runs work that generates, with the weights as they are after so many iterations: the one place that
   * tells the engine which weights it has (so that nothing cached outlives them) and merges the adapter.
   */
  generating<Result>(iteration: number, work: () => Promise<Result>): Promise<Result>;
  dispose(): Promise<void>;
}

/** Where a run goes on from: folders of a checkpoint. */
export interface ResumeFolders {
  readonly actor: string;
  readonly critic: string | undefined;
}

export function createWorkers(
  options: TrainingOptions,
  ranks: Ranks,
  resume?: ResumeFolders,
): Workers {
  const { iterations, model: settings, play, passes } = options;
  const { device } = play;
  const folder = requireModelFolder(settings.folder);
  const load = { dtype: play.dtype, device: device as "cpu" };
  const chat = loadChat(folder);

  requireDevice(device);
  requirePrecision(options);
  const offload = offloadOf(options);
  const base = offload.weights(
    loadModel(resume && !settings.lora ? resume.actor : folder, load),
    options.actor.offload,
  );
  requireVocabulary(base, chat, folder);
  const lora = settings.lora && adapterOf(base, settings.lora, options.seed, resume);
  const model: PolicyModel = lora ?? base;
  const trained = (
    model: Model,
    { optimizer, offload: where }: TrainingOptions["actor" | "critic"],
  ) =>
    createTrainedModel(
      model,
      optimizer,
      iterations,
      passes.autocast,
      ranks,
      offload.moments(where),
    );
  const actor = trained(model, options.actor);

  let critic: TrainedModel | undefined;
  if (options.advantages.estimator.needs.critic) {
    const source = resume?.critic ?? options.critic.folder ?? folder;
    // A head of zeros: the first advantages are the plain returns, not a random head's noise.
    const values = valueModelFrom(requireModelFolder(source), load);
    critic = trained(offload.weights(values, options.critic.offload), options.critic);
  }
  const ownReference =
    needsReference(options) && !lora
      ? offload.weights(loadModel(folder, load), options.reference)
      : undefined;
  for (const parameter of ownReference?.parameters.values() ?? []) parameter.requiresGrad_(false);

  const player = modelPlayer(model, chat, play);
  const { engine } = player;
  return {
    actor,
    critic,
    lora,
    reference: lora?.base ?? ownReference,
    chat,
    modelFolder: folder,
    rollout: {
      agent: player.agent,
      policy: player.drawing(options.rollout.sampling),
      validation: player.policy,
      greedy: player.drawing(GREEDY),
      get statistics() {
        return engine.statistics;
      },
    },
    async generating(iteration, work) {
      engine.weightsChanged(iteration);
      lora?.merge();
      try {
        return await work();
      } finally {
        lora?.unmerge();
        // A run that is resumed here has nothing cached; neither has this one.
        engine.weightsChanged(iteration);
      }
    },
    async dispose() {
      await player.close();
      actor.dispose();
      critic?.dispose();
      critic?.model.dispose();
      ownReference?.dispose();
      model.dispose();
    },
  };
}

function adapterOf(
  base: Model,
  settings: NonNullable<ModelOptions["lora"]>,
  seed: number,
  resume: ResumeFolders | undefined,
): LoraModel {
  if (resume) return loadLora(base, resume.actor);
  const generator = derivedGenerator(seed, "adapter");
  try {
    return addLora(base, settings, generator);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new OptionError(`LoRA: ${error.message}`);
  } finally {
    generator.dispose();
  }
}

/** Puts into files of the run's folder what the options want there. */
function offloadOf({ play: { device }, run }: TrainingOptions) {
  let files: Allocate | undefined;
  const place = (): Allocate => {
    if (device !== "cpu")
      throw new OptionError(
        "param_offload and optimizer_offload keep tensors in memory-mapped files; that is for the " +
          `device cpu, it is ${device}`,
      );
    files ??= inFiles(run.folder);
    return files;
  };
  return {
    weights: (model: Model, { weights }: { readonly weights: boolean }) =>
      weights ? movedModel(model, place()) : model,
    moments: ({ moments }: { readonly moments: boolean }) => (moments ? place() : undefined),
  };
}

function requireDevice(device: string): void {
  try {
    if (!/^(cpu|cuda(:\d+)?)$/.test(device)) throw new Error("expected cpu, cuda or cuda:N");
    tidy(() => zeros([1], { device: device as "cpu" }));
  } catch (error) {
    throw new OptionError(
      `trainer.device is "${device}", which cannot be used here: ${(error as Error).message}`,
    );
  }
}

/** Not every libtorch has every precision everywhere; the first update is a late time to find out. */
function requirePrecision({ passes, play }: TrainingOptions): void {
  if (passes.autocast === "none") return;
  try {
    autocast({ dtype: passes.autocast, device: play.device === "cpu" ? "cpu" : "cuda" }, () => {});
  } catch (error) {
    throw new OptionError(
      `autocast=${passes.autocast} cannot be had here: ${(error as Error).message}`,
    );
  }
}

/** A tokenizer whose ids the model does not have would fail in the middle of a rollout. */
function requireVocabulary(model: Model, { tokenizer }: Chat, folder: string): void {
  const { vocabularySize } = model.config;
  if (tokenizer.vocabularySize <= vocabularySize) return;
  throw new OptionError(
    `${folder}: the tokenizer has ${tokenizer.vocabularySize} tokens, the model only ` +
      `${vocabularySize}; they do not belong together.`,
  );
}
