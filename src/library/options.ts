/**
 * @file What `train` takes: objects and plain values, everything but the world and the model optional.
 */
import type { TrainingChoices } from "../config/index.ts";
import type { WorldDefinition } from "../environments/index.ts";
import type { ChatMessage, Family, Numbers, PresetName } from "../models/index.ts";
import type { MetricsLogger, TerminalStream } from "../monitoring/index.ts";
import type { Trajectory } from "../rollout/index.ts";
import type { Hooks, KeptEpisodes } from "../training/index.ts";

/** A new model with random weights, and a tokenizer that learns the world's words. */
export interface NewModel {
  readonly preset: PresetName;
  readonly family?: Family;
  /** Tokens at most. Default 1024. */
  readonly vocabulary?: number;
  /** Training tasks whose words are learned. Default 300. */
  readonly tasks?: number;
  /** How the tokenizer cuts numbers. Default "apart". */
  readonly numbers?: Numbers;
  /** Whether attention begins by looking at equal tokens. Default false. */
  readonly matching?: boolean;
  /** Default 0. */
  readonly seed?: number;
}

/** Supervised fine-tuning before reinforcement learning: on expert episodes, or on one's own. */
export interface WarmStart {
  /** Episodes of the world's expert. Default 300. */
  readonly episodes?: number;
  /** In place of the expert: a file or a folder (trajectories, chats), episodes, or chats. */
  readonly data?: string | readonly Trajectory[] | readonly (readonly ChatMessage[])[];
  /** Of episodes in `data`: all, those that were won, or the best of each task. Default all. */
  readonly keep?: KeptEpisodes;
  /** The share of turns in which the expert makes a mistake and goes on. Default 0.05. */
  readonly mistakes?: number;
  /** How likely a mistake is tried again, each time. Default 0. */
  readonly repeatMistakes?: number;
  /** The share of turns in which the expert does something admissible at random. Default 0. */
  readonly randomActions?: number;
  /** What it may do then. Default: anything. */
  readonly randomPattern?: RegExp;
  /** The share of turns in which the model itself acts and the expert goes on (DAgger). Default 0. */
  readonly dagger?: number;
  /** Whether what the world says is learned, too. Default: for a new model, yes. */
  readonly allTokens?: boolean;
  /** Passes over the episodes. Default: 1 for thousands of them, more for few. */
  readonly epochs?: number;
  readonly learningRate?: number;
  /** Sequences per update. */
  readonly batchSize?: number;
  readonly weightDecay?: number;
  /** Sequences that are not learned, for the validation loss; "tenth": at most 50. Default 0. */
  readonly holdout?: number | "tenth";
  /** Where tasks begin and experts are seeded. Default: the run's seed. */
  readonly seed?: number;
  /** Minutes between two checkpoints, from which it goes on if it is stopped. Default 5. */
  readonly saveMinutes?: number;
}

/** Who sees how it goes. */
export interface ProgressChoices {
  /** Whether it shows on the terminal, or the stream to show it on. Default: standard output. */
  readonly progress?: boolean | TerminalStream;
  /** Hears every sentence instead of the terminal. */
  readonly say?: (text: string) => void;
  /** Aborted: what is under way is finished and saved, then the call returns. */
  readonly signal?: AbortSignal | undefined;
}

export interface TrainOptions extends TrainingChoices, ProgressChoices, Hooks {
  readonly world: string | WorldDefinition;
  /** The folder of a model, its name on the Hub (`org/name`, `org/name@revision`), or a new one. */
  readonly model: string | NewModel;
  readonly warmStart?: WarmStart | false;
  readonly loggers?: readonly MetricsLogger[];
  /** Model and warm start are there, and nothing has been trained yet: to see how it plays, for example. */
  readonly onPrepared?: (start: string) => void | Promise<void>;
}

/** The same where world and model may stand in the settings (env.env_name, the model's path). */
export type TrainCall = Omit<TrainOptions, "world" | "model"> &
  Partial<Pick<TrainOptions, "world" | "model">>;
