/**
 * @file What the dashboard's server says, as the page reads it. Types only: both sides are compiled against them.
 */
import type { LiveLine, RecordedTurn, RunLogEntry, TokenColumn } from "../monitoring/index.ts";
import type { EpisodeStatus } from "../rollout/index.ts";

export interface RunState {
  /** stopped: it ended itself before its last iteration, or failed. killed: it is not there, and did not say goodbye. */
  readonly name: "running" | "finished" | "stopped" | "killed" | "interrupted";
  readonly reason?: string | undefined;
}

/** A share with the interval in which it lies with 95 %. */
export interface Rate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** A line of the table of runs. */
export interface RunRow {
  readonly id: string;
  readonly folder: string;
  readonly title: string;
  readonly subtitle: string;
  readonly state: RunState;
  readonly algorithm: string;
  readonly world: string;
  readonly model: string;
  readonly seed: string;
  readonly iterations: number;
  readonly total: number | undefined;
  readonly minutes: number;
  readonly episodes: number;
  /** In validation, the last; without one, in the last iterations' episodes. */
  readonly success: Rate | undefined;
  /** Success in training, thinned out. */
  readonly curve: readonly (number | null)[];
}

/** Metrics as columns; null: not measured in that step, or not finite. */
export interface Columns {
  readonly steps: readonly number[];
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface Verdict {
  readonly before: Rate & { readonly step: number };
  readonly after: Rate & { readonly step: number };
  /** Tasks that only one of the two solved, and how likely such a difference is by chance. */
  readonly gained: number;
  readonly lost: number;
  readonly p: number;
}

/** An alarm that was raised: what it says, from when on, and until when. */
export interface RaisedAlarmRow {
  readonly name: string;
  readonly from: number;
  /** Undefined: it is not over. */
  readonly until: number | undefined;
  readonly text: string;
}

export interface RunPage {
  readonly row: RunRow;
  readonly columns: Columns;
  readonly verdict: Verdict | undefined;
  readonly log: readonly RunLogEntry[];
  readonly alarms: readonly RaisedAlarmRow[];
  /** The resolved configuration, as YAML. */
  readonly config: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Iterations with recorded tokens. */
  readonly recorded: readonly number[];
  /** Iterations that were validated. */
  readonly validated: readonly number[];
  /** Whether its newest episodes can be watched. */
  readonly isLive: boolean;
  /** Whether its world can be played here. */
  readonly isPlayable: boolean;
}

/** A line of the list of episodes. */
export interface EpisodeRow {
  readonly id: string;
  readonly step: number;
  readonly task: string;
  readonly type: string;
  readonly group: string;
  readonly status: EpisodeStatus;
  readonly won: boolean;
  readonly reward: number;
  readonly turns: number;
  readonly dropped: string | undefined;
  /** Whether its tokens were recorded. */
  readonly recorded: boolean;
}

export interface EpisodeList {
  /** How many there are in all, and how many fit the filter. */
  readonly all: number;
  readonly found: number;
  readonly rows: readonly EpisodeRow[];
  /** By status, of those that fit. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Kinds of tasks that occur. */
  readonly types: readonly string[];
  /** Where a text was looked for: not everything could be read in the time. */
  readonly partial: boolean;
}

export interface FailureClass {
  /** What it means. */
  readonly about: string;
  readonly count: number;
  /** The id of one of them. */
  readonly example: string;
}

/** How episodes that were not won look. */
export interface FailureList {
  /** Episodes that were looked at. */
  readonly count: number;
  /** Not all could be read in the time. */
  readonly partial: boolean;
  readonly classes: Readonly<Record<string, FailureClass>>;
}

export interface TokenView {
  readonly id: number;
  /** Undefined: the tokenizer is not at hand. */
  readonly text: string | undefined;
}

export interface TurnView {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly observation: string;
  readonly text: string;
  readonly tokens: readonly TokenView[];
  readonly logprobs: readonly (number | null)[];
  readonly promptTokens: number;
  readonly action: string | null;
  readonly admissible: boolean | null;
  readonly problems: readonly string[];
  readonly reward: number;
  readonly score: number;
  readonly finish: string;
  readonly anchor: string;
  readonly recorded: RecordedTurn | undefined;
}

export interface EpisodePage {
  readonly row: EpisodeRow;
  readonly context: string;
  readonly error: string | undefined;
  /** How it looks, where it was not won. */
  readonly failure: { readonly name: string; readonly about: string } | undefined;
  readonly rewards: Readonly<Record<string, number>> | undefined;
  readonly seconds: number;
  readonly lastObservation: string;
  readonly turns: readonly TurnView[];
  /** Of all turns behind each other; null: not computed. Undefined: not recorded. */
  readonly columns: Readonly<Partial<Record<TokenColumn, readonly (number | null)[]>>> | undefined;
  /** Estimator, loss, clip range of the update. */
  readonly about: Readonly<Record<string, string | number>> | undefined;
  /** The other episodes of its group. */
  readonly group: readonly EpisodeRow[];
}

/** What was played since the last event. `anew`: what was known before is over. */
export interface LiveEvent {
  readonly anew: boolean;
  readonly lines: readonly LiveLine[];
}

/** A run's world that was opened to be played, and who can play in it besides a person. */
export interface PlayTable {
  readonly session: string;
  readonly splits: readonly { readonly name: string; readonly length: number }[];
  /** The one to begin with. */
  readonly split: string;
  /** After which the run has saved its policy, and the best of them. */
  readonly iterations: readonly number[];
  readonly best: number | undefined;
  /** Turns of an episode at most. */
  readonly turns: number;
}

export interface BeginPlay {
  readonly split: string;
  /** Its number in the split, or its id. */
  readonly task: string;
  readonly seed: number;
  /** The policy after this iteration plays; undefined: a person does. */
  readonly iteration?: number | undefined;
}

/** Turns that were compared with each other, as the picture of GiGPO's groups shows them. */
export interface StepGroupPage {
  readonly group: string;
  readonly episodes: readonly {
    readonly row: EpisodeRow;
    readonly turns: readonly {
      readonly anchor: string;
      readonly action: string | null;
      readonly stepGroup: number | undefined;
      readonly return: number;
      readonly episodePart: number | null;
      readonly stepPart: number | null;
      readonly advantage: number | null;
    }[];
  }[];
}
