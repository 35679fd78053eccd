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
import type { ServedOptions } from "./served/rollout.ts";

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
  /** Seconds of one component for one episode. Default 120; Infinity: however long it takes. */
  readonly rewardSeconds?: number | undefined;
  readonly advantages: AdvantageSettings;
  /** Undefined: every episode is learned from in its own iteration only. */
  readonly replay?: ReplayOptions | undefined;
  readonly passes: PassOptions;
  readonly actor: ActorOptions;
  readonly critic: CriticOptions;
  readonly reference: Pick<Offload, "weights"> &
    Pick<PassOptions, "tokensPerPass"> & { readonly sharding: ShardingOptions };
  readonly validation: ValidationOptions;
  readonly checkpoints: CheckpointOptions;
  readonly guards: GuardOptions;
  readonly alarms: AlarmSettings;
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
  /** Servers that play instead of the engine in this process. */
  readonly served?: ServedOptions | undefined;
  /** The next iteration's episodes are played with the weights of this one; see loop/ahead.ts. */
  readonly oneStepOff?: boolean | undefined;
  /** So many ranks generate together, each with its part of weights and cache; 1: each by itself. */
  readonly tensorParallel: number;
  /** Whether tasks are shuffled, anew in each pass over them, and by which seed. */
  readonly shuffle: boolean;
  readonly shuffleSeed: number;
  /** Undefined: pass after pass over all tasks, played as long as may be. */
  readonly curriculum?: CurriculumOptions | undefined;
  /** Further groups that are begun, and dropped when enough are complete. */
  readonly oversample: number;
  /** Dynamic sampling: groups whose members did equally well are replaced. Undefined: they are kept. */
  readonly filter: GroupFilter | undefined;
}

/** Which tasks are drawn, or how long they are played, as training goes on. */
export type CurriculumOptions = { readonly memory: number } & (
  | ({ readonly by: "success_rate" } & SuccessRateCurriculum)
  | ({ readonly by: "kind" } & KindCurriculum)
  | ({ readonly by: "difficulty" } & DifficultyCurriculum)
  | ({ readonly by: "horizon" } & HorizonCurriculum)
);

export interface SuccessRateCurriculum {
  /** The least weight of a task that was played; one that is solved half of the time has 1. */
  readonly floor: number;
  /** The weight of a task that was never played. */
  readonly unseen: number;
}

export interface KindCurriculum {
  /** The least weight of a kind of task; one that is solved half of the time has 1. */
  readonly floor: number;
}

export interface DifficultyCurriculum {
  /** The share of the tasks, from the easiest on, that the first iteration may play. */
  readonly easiest: number;
  /** Iterations until it is all of them. */
  readonly iterations: number;
}

export interface HorizonCurriculum {
  /** From which iteration on how many turns an episode may have; the first is of iteration 1. */
  readonly stages: readonly (readonly [iteration: number, turns: number])[];
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

/** Experience replay: episodes that went well are learned from again. */
export interface ReplayOptions {
  /** Episodes that are kept at most, and of one task. */
  readonly capacity: number;
  readonly perTask: number;
  /** What is not won is kept from this score of the world's on. */
  readonly minimumScore: number;
  /** Iterations after which an episode is let go. */
  readonly maximumAge: number;
  /** Replayed episodes among all that are learned from, at most. */
  readonly share: number;
  /** Whether groups in which nobody won get a stored success of their task. */
  readonly rescue: boolean;
  /** What is rather kept and taken: by the advantage that it had, or by its reward. */
  readonly priority: "advantage" | "score";
  /** Iterations after which an episode counts half; undefined: age does not matter. */
  readonly halfLife: number | undefined;
  /** See replay/correction.ts. */
  readonly correction: "ppo" | "truncated";
  /** The largest weight of "truncated". */
  readonly threshold: number;
}

export interface KlInRewardOptions {
  readonly estimator: KlEstimator;
  readonly type: "fixed" | "adaptive";
  readonly coefficient: number;
  readonly target: number;
  readonly horizon: number;
}

/** How a model is run over a batch. */
/** What goes through a model at once. */
export interface PassSize {
  /** Tokens of one pass. */
  readonly tokensPerPass: number;
  /** What sequences begin with in common is computed once, and counted once. */
  readonly sharePrefixes: boolean;
}

/** Passes in which only log-probabilities or values are computed. */
export interface PassOptions extends PassSize {
  /** The distribution that is trained: that of the rollout. */
  readonly temperature: number;
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

/** Weights, gradients and moments in shards over the ranks. One process has them whole, as they are. */
export interface ShardingOptions {
  /** Where there are several ranks; otherwise each has the whole model. */
  readonly enabled: boolean;
  /** Ranks that share one copy; undefined: all. */
  readonly ranksPerCopy: number | undefined;
  /** Layers are let go after their forward and fetched again for their backward. */
  readonly reshardAfterForward: boolean;
  /** The next layer is fetched while one is computed. */
  readonly prefetch: boolean;
  /** What is fetched and computed with; undefined: the model's dtype. Trained shards are float32. */
  readonly computeDtype: "float32" | "bfloat16" | undefined;
}

/** How an iteration's batch is cut into updates. */
export interface BatchingOptions extends Pick<PassSize, "sharePrefixes"> {
  /** Tokens of one pass; undefined: as many as some memory allows (workers/pass-tokens.ts). */
  readonly tokensPerPass: number | undefined;
  /** Rows per update, of all ranks together. */
  readonly miniBatchRows: number;
  readonly epochs: number;
  readonly shuffle: boolean;
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
  readonly sharding: ShardingOptions;
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
  readonly sharding: ShardingOptions;
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
  /** Splits that are validated besides, and only reported. */
  readonly also: readonly string[];
}

export interface CheckpointOptions {
  /** Every so many iterations; 0: only at the end. */
  readonly every: number;
  /** Besides the best; null: all. */
  readonly keep: number | null;
  /** Where weights are in shards, ranks save their own, but for the best and the last. */
  readonly inShards: boolean;
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

/** What is done about alarms (src/evaluation/alarms). */
export interface AlarmSettings {
  /** Names of those that are not raised; "all": none is. */
  readonly ignored: readonly string[];
  /** What a serious one does: nothing, end the run, or go back to a better checkpoint. */
  readonly onAlarm: "continue" | "stop" | "rollback";
  /** What is left of the learning rates each time that the run goes back. */
  readonly rollbackLrFactor: number;
  readonly maxRollbacks: number;
}

/** A setting that is not as it was when the run was stopped. */
export interface SettingChange {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** harmless: the run is the same. course: it goes on otherwise. another run: it must not go on in its name. */
  readonly kind: "harmless" | "course" | "another run";
  readonly means: string;
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
  /** What changed since the run that is there, and what that means. `record`: its config.yaml, where it has one. */
  readonly changesSince: (before: {
    readonly identity: Readonly<Record<string, unknown>>;
    readonly record: string | undefined;
  }) => readonly SettingChange[];
  /** new: begins anew; auto: from the last checkpoint; else the folder of a checkpoint. */
  readonly resume: "auto" | "new" | { readonly from: string };
  readonly keepTrajectories: boolean;
  /** Groups of an iteration whose tokens are kept with all that the update knew of them; -1: all. */
  readonly tokenGroups: number;
  /** Episodes of an iteration that can be watched while they are played. */
  readonly liveEpisodes: number;
}

/** Whether some part of the run needs the reference policy's log-probabilities. */
export function needsReference({ actor, advantages, rewards }: TrainingOptions): boolean {
  return (
    actor.kl !== undefined ||
    advantages.klInReward !== undefined ||
    rewards.some(({ needsKl }) => needsKl)
  );
}
