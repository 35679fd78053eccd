/**
 * @file The four workers of a run: actor, critic, reference and rollout.
 *
 * On one device they share what they can: the rollout generates with the actor's own weights, and with
 * LoRA the reference is the actor's base.
 */

import type { Agent } from "../../agents/index.ts";
import type { Metrics } from "../../algorithms/index.ts";
import { GREEDY, modelPlayer, requireModelFolder } from "../../assembly/index.ts";
import {
  type Chat,
  type Fingerprints,
  fingerprintsOf,
  isSharded,
  isShardFolder,
  type LoraModel,
  loadChat,
  loadModel,
  type Model,
  modelFromShards,
  valueModelFrom,
} from "../../models/index.ts";
import type { Policy } from "../../rollout/index.ts";
import {
  needsReference,
  type Offload,
  type ShardingOptions,
  type TrainingOptions,
} from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { type ShardGroups, shardGroups } from "../sharding/groups.ts";
import { parallelCopy, splitPlay } from "../sharding/parallel-copy.ts";
import { sharedCopy } from "../sharding/rollout-copy.ts";
import { loadSharded, requireCpu } from "../sharding/sharded.ts";
import { adapterOf } from "./adapter.ts";
import { onHost, weightsOnHost } from "./host-weights.ts";
import { type Allocate, inFiles, movedModel } from "./offload.ts";
import { createTrainedModel, type TrainedModel } from "./optimize.ts";
import { type GenerationFigures, type Playing, playedByServers, playedHere } from "./playing.ts";
import {
  requireDevice,
  requirePrecision,
  requireSameOrigin,
  requireVocabulary,
} from "./requirements.ts";

/** What of a model's options says whether it is in shards. */
interface Sharded {
  readonly sharding: ShardingOptions;
}

/** The actor's model: whole, or a frozen base with an adapter that is trained. */
export type PolicyModel = Model | LoraModel;

export type { GenerationFigures } from "./playing.ts";

/** The rollout's side of the policy: how replies are drawn in training, in validation, for baselines. */
export interface RolloutWorker {
  readonly agent: Agent;
  readonly policy: Policy;
  readonly validation: Policy;
  readonly greedy: Policy;
  /** What the engine did so far. */
  readonly statistics: GenerationFigures;
  /** How the weights came to the engine, where that is elsewhere. */
  readonly metrics: Metrics;
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
  /** How the run calls it: the folder, or `org/name@COMMIT`. */
  readonly modelPlace: string;
  /** Whether this rank takes part when rank 0 saves: it has a part of what is saved. */
  readonly saves: boolean;
  /** What was in it when the run began. */
  readonly origin: Fingerprints;
  readonly generating: Playing["generating"];
  dispose(): Promise<void>;
}

/** Where a run goes on from: a checkpoint, and what it was trained from. */
export interface ResumeFolders {
  readonly folder: string;
  readonly actor: string;
  readonly critic: string | undefined;
  readonly origin: Fingerprints | undefined;
}

export function createWorkers(
  options: TrainingOptions,
  ranks: Ranks,
  resume?: ResumeFolders,
  say: (text: string) => void = () => {},
): Workers {
  const { iterations, model: settings, play, passes } = options;
  const { device } = play;
  const folder = requireModelFolder(settings.folder);
  const load = { dtype: play.dtype, device };
  const chat = loadChat(folder);
  const origin = fingerprintsOf(folder);
  if (resume) requireSameOrigin(resume, origin, folder);

  requireDevice(device);
  requirePrecision(options);
  const offload = offloadOf(options);
  const groups = shardGroups(ranks);
  /** Undefined: weights are whole. */
  const groupsOf = ({ sharding }: Sharded): ShardGroups | undefined => {
    if (ranks.size === 1 || !sharding.enabled) return undefined;
    requireCpu(device);
    return groups.of(sharding.ranksPerCopy);
  };
  /** A folder's model, whole or this rank's part of it. */
  const modelFrom = (
    place: string,
    { sharding }: Sharded,
    where: Pick<Offload, "weights">,
    kind: { frozen: boolean; asValueModel?: boolean },
  ): Model => {
    const shared = groupsOf({ sharding });
    if (shared)
      return loadSharded(place, {
        ...{ ...kind, sharding, groups: shared, dtype: play.dtype },
        allocate: where.weights ? offload.place() : undefined,
      });
    // A value model's new head is of zeros: the first advantages are the plain returns, not a random
    // head's noise.
    const loaded = isShardFolder(place)
      ? modelFromShards
      : kind.asValueModel
        ? valueModelFrom
        : loadModel;
    return offload.weights(loaded(place, load), where);
  };
  const base = modelFrom(
    resume && !settings.lora ? resume.actor : folder,
    options.actor,
    options.actor.offload,
    { frozen: settings.lora !== undefined },
  );
  requireVocabulary(base, chat, folder);
  const lora = settings.lora && adapterOf(base, settings.lora, options.seed, resume?.actor);
  const model: PolicyModel = lora ?? base;
  const trained = (model: Model, part: TrainingOptions["actor" | "critic"]) =>
    createTrainedModel(
      model,
      part.optimizer,
      iterations,
      passes.autocast,
      ranks,
      offload.moments(part.offload),
      groupsOf(part),
    );
  const split =
    ranks.size > 1 && options.rollout.tensorParallel > 1 && !options.rollout.served
      ? parallelCopy(base, lora, ranks, options.rollout)
      : undefined;
  const copy = !split && isSharded(base) ? sharedCopy(base, lora, ranks) : undefined;
  const publish = (split ?? copy)?.publish ?? (() => {});
  publish();
  const actor = afterUpdates(trained(model, options.actor), publish);

  let critic: TrainedModel | undefined;
  if (options.advantages.estimator.needs.critic) {
    const source = resume?.critic ?? options.critic.folder ?? folder;
    const values = modelFrom(requireModelFolder(source), options.critic, options.critic.offload, {
      frozen: false,
      asValueModel: true,
    });
    critic = trained(values, options.critic);
  }
  const ownReference =
    needsReference(options) && !lora
      ? modelFrom(folder, options.reference, options.reference, { frozen: true })
      : undefined;
  for (const parameter of ownReference?.parameters.values() ?? []) parameter.requiresGrad_(false);

  const playing: Playing = options.rollout.served
    ? playedByServers({ options, model: copy?.model ?? model, chat, folder, ranks, say })
    : playedHere(
        split
          ? modelPlayer(
              split.parallel.model,
              chat,
              splitPlay(play, split.parallel, options.rollout),
            )
          : modelPlayer(copy?.model ?? model, chat, play),
        // A copy has the adapter in its weights.
        split || copy ? undefined : lora,
        split && ((work) => split.parallel.takeTurns(work)),
      );
  const { player } = playing;
  return {
    actor,
    critic,
    lora,
    reference: lora?.base ?? ownReference,
    chat,
    modelFolder: folder,
    modelPlace: settings.folder,
    saves: ranks.isFirst || (isSharded(base) && groupsOf(options.actor)!.isSaved),
    origin,
    rollout: {
      agent: player.agent,
      policy: player.drawing(options.rollout.sampling),
      validation: player.policy,
      greedy: player.drawing(GREEDY),
      get statistics() {
        return playing.statistics;
      },
      get metrics() {
        return playing.metrics;
      },
    },
    async generating(iteration, work) {
      const release = model.fetch?.();
      try {
        return await playing.generating(iteration, work);
      } finally {
        release?.();
      }
    },
    async dispose() {
      await playing.close();
      actor.dispose();
      critic?.dispose();
      critic?.model.dispose();
      ownReference?.dispose();
      copy?.dispose();
      split?.dispose();
      model.dispose();
      groups.close();
    },
  };
}

/** A trained model that tells when its weights have changed. */
function afterUpdates(trained: TrainedModel, changed: () => void): TrainedModel {
  return {
    ...trained,
    get updates() {
      return trained.updates;
    },
    *update(...given) {
      const result = yield* trained.update(...given);
      changed();
      return result;
    },
  };
}

/** Puts what the options want elsewhere into files of the run's folder or, from a device, into the host's memory. */
function offloadOf({ play: { device }, run }: TrainingOptions) {
  let files: Allocate | undefined;
  const place = (): Allocate => {
    if (device !== "cpu") return onHost;
    files ??= inFiles(run.folder);
    return files;
  };
  return {
    place,
    weights: (model: Model, { weights }: { readonly weights: boolean }) => {
      if (!weights) return model;
      return device === "cpu" ? movedModel(model, place()) : weightsOnHost(model);
    },
    moments: ({ moments }: { readonly moments: boolean }) => (moments ? place() : undefined),
  };
}
