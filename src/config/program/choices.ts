/**
 * @file What a program chooses, as objects and plain values: the other way into a configuration, beside
 * verl's names.
 */
import type {
  AgentContext,
  HistoryOptions,
  MakeHistory,
  PromptSet,
  Prompts,
  ReplyFormat,
} from "../../agents/index.ts";
import type {
  AdvantageEstimator,
  AdvantageEstimatorName,
  PolicyLossKind,
  PolicyLossName,
} from "../../algorithms/index.ts";
import type { Tool, WorldDefinition } from "../../environments/index.ts";
import type { RewardComponent } from "../../rewards/index.ts";
import type { BudgetOptions, JudgeName, StrategySettings } from "../../rollout/index.ts";
import type { Settings } from "../schema.ts";

/** Where the agent acts, and in which form. */
export interface PlayChoices {
  /** A world of one's own (defineEnvironment), a name (`openmanus-rl env list`), or the path of a file. */
  readonly world?: string | WorldDefinition;
  /** The world's own options. */
  readonly worldOptions?: Readonly<Record<string, string | number | boolean | string[]>>;
  /**
   * So many processes of their own for the world, which then can neither end nor freeze the program; true: one
   * for each core, 4 at most. Only for a world that is a name or a file. Default: none.
   */
  readonly isolate?: boolean | number;
  readonly agent?: AgentChoices;
  /** Turns of an episode at most. Default: the world's own number. */
  readonly turns?: number;
  /** Whether only admissible actions can be drawn. To be reported apart from free generation. */
  readonly constrain?: boolean;
  /** How episodes are searched for: a strategy, its budget and settings. Default: they are played once. */
  readonly search?: SearchChoices;
  /**
   * Any setting of the configuration by its verl name, typed; wins over everything else here.
   * docs/configuration.md lists all of them.
   */
  readonly settings?: Settings;
  /** A ready-made configuration: alfworld, webshop, small-model. */
  readonly preset?: string;
}

export interface SearchChoices extends Partial<StrategySettings> {
  /** best_of_n, beam, tree_of_thoughts, graph_of_thoughts, dfsdt, mcts. */
  readonly strategy: string;
  readonly judge?: JudgeName | "reward_model" | "critic";
  /** The folder of the judge reward_model (`openmanus-rl reward-model`), or critic (RUN/checkpoints/step-…/critic). */
  readonly judgePath?: string;
  /** Of the judge critic: the return of an episode that is as good as won. Default 10. */
  readonly judgeScale?: number;
  readonly budget?: BudgetOptions;
}

export interface AgentChoices {
  /** A name (action, react, think-action, openmanus, tools), or one's own (defineFormat). */
  readonly format?: string | ReplyFormat;
  /** One growing conversation per episode (the default), or a prompt of its own for every turn. */
  readonly context?: AgentContext;
  /** What a prompt tells of the past, with the context "steps". */
  readonly history?: HistoryOptions | { kind: "summary"; length?: number } | MakeHistory;
  /** Tools of the agent's own, beside what the world offers; they make the format "tools". */
  readonly tools?: readonly Tool[];
  /** A set (full, bare, reminding), or functions in place of some of its words. */
  readonly prompts?: PromptSet | Partial<Prompts>;
  /** Episodes that prompts begin with: so many of the world's expert, or a file of chats. Default: none. */
  readonly examples?: number | string;
  /** Whether prompts list the admissible actions. */
  readonly showAdmissible?: boolean;
  /** Tokens of a reply, and of a whole prompt, at most. */
  readonly replyTokens?: number;
  readonly promptTokens?: number;
}

/** An algorithm by its name, or with options, or with parts of one's own. */
export interface AlgorithmChoices {
  /** ppo (gae), grpo, gigpo, rloo, …; see `advantageEstimators`. */
  readonly name?: AlgorithmName;
  /** In place of the name: an estimator of one's own. */
  readonly estimator?: AdvantageEstimator;
  readonly loss?: PolicyLossName | PolicyLossKind;
  readonly gamma?: number;
  readonly lambda?: number;
  readonly clipRatio?: number;
  /** Weight of the entropy bonus. */
  readonly entropy?: number;
  /** Weight of the KL to the reference in the loss. */
  readonly kl?: number;
  readonly epochs?: number;
  /** Rows (conversations, or turns with the context "steps") per update. */
  readonly miniBatch?: number;
}

export type AlgorithmName = "ppo" | AdvantageEstimatorName;

/** What is trained, how long, and where it is kept. */
export interface TrainingChoices extends PlayChoices {
  /** Default: gigpo. */
  readonly algorithm?: AlgorithmName | AlgorithmChoices;
  /** The reward, as a list of components. Default: what the world gives. */
  readonly rewards?: readonly RewardComponent[];
  readonly iterations?: number;
  /** Tasks per iteration, each a group of episodes. Default 16. */
  readonly tasks?: number;
  /** Episodes per task. Default: 8 where the algorithm compares them, else 1. */
  readonly groupSize?: number;
  readonly learningRate?: number;
  readonly optimizer?: OptimizerChoices;
  /** Learning again from episodes that went well. True: with every default; false, the default: not. */
  readonly replay?: boolean | ReplayChoices;
  /** Which tasks an iteration plays, and how long. Default: pass after pass over all tasks. */
  readonly curriculum?: CurriculumChoices["by"] | CurriculumChoices;
  readonly seed?: number;
  readonly validation?: ValidationChoices;
  /** Where the run is kept; called again with the same folder, it goes on. */
  readonly folder?: string;
  /** Whether what lies in the folder is removed, and the run begins anew. Default false. */
  readonly restart?: boolean;
}

/** Experience replay (docs/replay.md): a stored success is learned from as if it had just been played. */
export interface ReplayChoices {
  /** Self-imitation: a group in which nobody won gets a stored success of its task. Default true. */
  readonly rescue?: boolean;
  /** Replayed episodes among all that are learned from, at most, 0 to 0.9. Default 0: those that rescue only. */
  readonly share?: number;
  /** Episodes that are kept, in all and of one task. Default 256 and 4. */
  readonly capacity?: number;
  readonly perTask?: number;
  /** Episodes that were not won are kept, too, from this score on. Default 1: none. */
  readonly minimumScore?: number;
  /** Iterations after which an episode is let go. Default 20. */
  readonly maximumAge?: number;
  /** Which are rather kept and taken. Default: by the advantage that they had when they were new. */
  readonly priority?: "advantage" | "score";
  /** Iterations after which that counts half; null: age does not matter. Default 10. */
  readonly halfLife?: number | null;
  /** How tokens of an older policy count: a weight of their own, or the loss's ratio and clip. Default "truncated". */
  readonly correction?: "truncated" | "ppo";
  /** The largest such weight. Default 2. */
  readonly threshold?: number;
}

/** Which tasks, or how long: each way has settings of its own. */
export type CurriculumChoices =
  | SuccessCurriculum
  | KindCurriculum
  | DifficultyCurriculum
  | HorizonCurriculum;

/** Those are drawn most that are solved about half of the time. */
export interface SuccessCurriculum {
  readonly by: "success_rate";
  /** The least weight of a task that was played, where one that is solved half of the time has 1. Default 0.1. */
  readonly floor?: number;
  /** The weight of a task that was never played. Default 1. */
  readonly unseen?: number;
  /** What is left of a task's earlier groups in its rate when another was played. Default 0.5. */
  readonly memory?: number;
}

/** Kinds of task (a task's `type`) that are solved about half of the time come most: where no task comes twice. */
export interface KindCurriculum {
  readonly by: "kind";
  /** The least weight of a kind, where one that is solved half of the time has 1. Default 0.1. */
  readonly floor?: number;
  /** What is left of a kind's earlier iterations in its rate when it was played again. Default 0.5. */
  readonly memory?: number;
}

/** From the easiest tasks to all of them. */
export interface DifficultyCurriculum {
  readonly by: "difficulty";
  /** The share of the tasks that the first iteration may play. Default 0.2. */
  readonly easiest?: number;
  /** Iterations until all may be played. Default 50. */
  readonly iterations?: number;
}

/** All tasks, with a limit of turns that grows. Validations have `turns`. */
export interface HorizonCurriculum {
  readonly by: "horizon";
  /** From which iteration on how many turns: [[1, 10], [40, 20]]. */
  readonly stages?: readonly (readonly [from: number, turns: number])[];
}

/** AdamW, beside its learning rate. */
export interface OptimizerChoices {
  /** Iterations over which the learning rate rises from 0. Default 0. */
  readonly warmup?: number;
  readonly schedule?: "constant" | "linear" | "cosine";
  readonly weightDecay?: number;
  readonly betas?: [number, number];
}

export interface ValidationChoices {
  /** Every so many iterations, and at the end. Default 5; 0: never. */
  readonly every?: number;
  /** Tasks; null: all of the split. Default 128. */
  readonly tasks?: number | null;
  readonly split?: string;
  /** Splits that are validated besides: only reported, nothing is chosen by them. */
  readonly also?: readonly string[];
  /** Training tasks that are set aside and validated on. Default 0. */
  readonly heldOut?: number;
  /** Of sampling; 0: the most likely token. Default 0.4. */
  readonly temperature?: number;
}
