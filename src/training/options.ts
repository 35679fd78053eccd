/**
 * @file Everything that a training run follows, as plain typed options with every value given. The loop and
 * its workers know nothing of where they come from: a program's own (src/library), or verl's configuration
 * (src/config).
 */
import type {
  AdvantageEstimator,
  AdvantageOptions,
  AggregationMode,
  KlEstimator,
  PolicyLossKind,
  PolicyLossOptions,
  ResampleMethod,
} from "../algorithms/index.ts";
import type { PlayOptions, Sampling, WorldOptions } from "../assembly/index.ts";
import type { LoraTarget } from "../models/index.ts";
import type { Allocation, RewardComponent } from "../rewards/index.ts";
import type { AnchorRule } from "../rollout/index.ts";

export interface TrainingOptions {
  /** Everything random follows from it. */
  readonly seed: number;
  readonly iterations: number;
  /** Threads of the tensor library; undefined: one per core. */
  readonly threads: number | undefined;
  readonly world: WorldOptions;
  readonly play: PlayOptions;
  readonly model: ModelOptions;
  readonly rollout: RolloutOptions;
  readonly rewards: readonly RewardComponent[];
  readonly advantages: AdvantageSettings;
  readonly passes: PassOptions;
  readonly actor: ActorOptions;
  readonly critic: CriticOptions;
  readonly reference: Pick<Offload, "weights"> & Pick<PassOptions, "tokensPerPass">;
  readonly validation: ValidationOptions;
  readonly checkpoints: CheckpointOptions;
  readonly guards: GuardOptions;
  readonly run: RunOptions;
}

export interface ModelOptions {
  readonly folder: string;
  /** Undefined: all weights are trained. */
  readonly lora: LoraSettings | undefined;
  /** Keeps only what is between layers, and computes the rest again in the backward pass. */
  readonly gradientCheckpointing: boolean;
}

export interface LoraSettings {
  readonly rank: number;
  readonly alpha: number;
  readonly dropout: number;
  readonly targets: "all-linear" | readonly LoraTarget[];
}

/** What an iteration plays. */
export interface RolloutOptions {
  readonly tasks: number;
  /** Episodes per task. */
  readonly groupSize: number;
  readonly sampling: Sampling;
  /** Whether tasks are shuffled, anew in each pass over them, and by which seed. */
  readonly shuffle: boolean;
  readonly shuffleSeed: number;
  /** Further groups that are begun, and dropped when enough are complete. */
  readonly oversample: number;
  /** Dynamic sampling: groups whose members did equally well are replaced. Undefined: they are kept. */
  readonly filter: GroupFilter | undefined;
}

export interface GroupFilter {
  /** What is compared inside a group. */
  readonly metric: "reward" | "score" | "success";
  /** Rollouts per iteration at most. */
  readonly rounds: number;
}

/** From rewards to advantages. */
export interface AdvantageSettings {
  readonly name: string;
  readonly estimator: AdvantageEstimator;
  readonly options: AdvantageOptions;
  /** Discount of the returns of turns. */
  readonly gamma: number;
  readonly allocation: { readonly mode: Allocation; readonly gamma: number };
  /** KL to the reference, taken off the rewards. */
  readonly klInReward: KlInRewardOptions | undefined;
  readonly whitenRewards: boolean;
  /** What a turn with an invalid action costs; undefined: nothing. */
  readonly invalidActionPenalty: number | undefined;
  readonly anchors: AnchorRule;
  /** PF-PPO: rows are drawn again by their scores before they are learned from. */
  readonly resampling: { readonly method: ResampleMethod; readonly power: number } | undefined;
}

export interface KlInRewardOptions {
  readonly estimator: KlEstimator;
  readonly type: "fixed" | "adaptive";
  readonly coefficient: number;
  readonly target: number;
  readonly horizon: number;
}

/** How a model is run over a batch. */
export interface PassOptions {
  /** The distribution that is trained: that of the rollout. */
  readonly temperature: number;
  /** Tokens of one pass where only log-probabilities are computed. */
  readonly tokensPerPass: number;
  readonly autocast: "none" | "bfloat16" | "float16";
  /** How far the rollout's and the trainer's log-probabilities of a token may be apart. */
  readonly logprobTolerance: number;
  /** Importance weights between the two. */
  readonly importance:
    | { readonly level: "token" | "sequence"; readonly threshold: number }
    | undefined;
  /** Tokens and rows on which the two disagree too much are not trained on; see rejectMismatch. */
  readonly rejection:
    | { readonly options: string; readonly thresholds: string | number }
    | undefined;
  /** The recorded log-probabilities are trusted; only some rows are computed again, as a check. */
  readonly trustRecorded: boolean;
}

export interface OptimizerOptions {
  readonly lr: number;
  /** Iterations over which the rate rises from 0. */
  readonly warmupIterations: number;
  readonly schedule: "constant" | "linear" | "cosine";
  /** What is left of it at the end. */
  readonly endFactor: number;
  readonly weightDecay: number;
  readonly betas: readonly [number, number];
  readonly epsilon: number;
}

/** What lies in memory-mapped files of the run's folder rather than in memory. On a CPU. */
export interface Offload {
  readonly weights: boolean;
  readonly moments: boolean;
}

/** How an iteration's batch is cut into updates. */
export interface BatchingOptions {
  /** Rows per update, of all ranks together. */
  readonly miniBatchRows: number;
  readonly epochs: number;
  readonly shuffle: boolean;
  /** Tokens of one forward and backward pass. */
  readonly tokensPerPass: number;
  readonly gradientClip: number;
}

export interface LossWeighing {
  readonly aggregation: AggregationMode;
  /** The constant length of seq-mean-token-sum-norm. */
  readonly horizon: number;
}

export interface ActorOptions extends LossWeighing {
  readonly optimizer: OptimizerOptions;
  readonly offload: Offload;
  readonly batching: BatchingOptions;
  readonly loss: { readonly name: string; readonly kind: PolicyLossKind };
  readonly lossOptions: PolicyLossOptions;
  /** Weight of the entropy bonus. */
  readonly entropy: number;
  /** KL to the reference in the loss. */
  readonly kl: { readonly estimator: KlEstimator; readonly coefficient: number } | undefined;
  /** Whether the gradient's signal and noise are estimated (variance_proxy/ metrics). */
  readonly varianceProxy: boolean;
}

/** Used where the estimator needs a critic. */
export interface CriticOptions extends LossWeighing {
  /** A value model, or a policy whose backbone it starts from; undefined: the actor's. */
  readonly folder: string | undefined;
  readonly gradientCheckpointing: boolean;
  readonly optimizer: OptimizerOptions;
  readonly offload: Offload;
  readonly batching: BatchingOptions;
  /** How far a value may move in one update. */
  readonly clipRange: number;
  /** Iterations in which only the critic is trained. */
  readonly warmupIterations: number;
}

export interface ValidationOptions {
  /** Every so many iterations, and at the end; 0: never. */
  readonly every: number;
  readonly first: boolean;
  /** Nothing is trained. */
  readonly only: boolean;
  /** Null: all of the split. */
  readonly tasks: number | null;
  /** Episodes per task. */
  readonly members: number;
}

export interface CheckpointOptions {
  /** Every so many iterations; 0: only at the end. */
  readonly every: number;
  /** Besides the best; null: all. */
  readonly keep: number | null;
  /** Files that go beside the policy's weights, by name. */
  readonly notes: Readonly<Record<string, string>>;
}

export interface GuardOptions {
  readonly maxKl: number;
  readonly minEntropy: number;
  readonly maxBadUpdates: number;
  readonly targetSuccess: number | undefined;
  readonly maxMinutes: number | undefined;
  readonly maxMemoryGb: number | undefined;
}

/** Where the run is kept, and what is written there about it. */
export interface RunOptions {
  readonly folder: string;
  /** For people, in the report: "gigpo in household". */
  readonly title: string;
  readonly subtitle: string;
  /** The folder of the model that it begins with. */
  readonly start: string;
  /** The whole configuration, as config.yaml. */
  readonly record: string;
  /** What of it must be the same when the run goes on, by name. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** new: begins anew; auto: from the last checkpoint; else the folder of a checkpoint. */
  readonly resume: "auto" | "new" | { readonly from: string };
  readonly keepTrajectories: boolean;
}

/** Whether some part of the run needs the reference policy's log-probabilities. */
export function needsReference({ actor, advantages, rewards }: TrainingOptions): boolean {
  return (
    actor.kl !== undefined ||
    advantages.klInReward !== undefined ||
    rewards.some(({ needsKl }) => needsKl)
  );
}
