/**
 * @file What an alarm is: a name that stays, what it means, what to try, and a pure function of what the last iterations
 * measured. Thresholds stand in the files of the alarms; `npm run bench -- alarms` measures them.
 */

/** What one iteration measured, of the metrics that alarms read; what was not measured or is not finite is absent. */
export type Reading = Readonly<Record<string, number>>;

/** Episodes that were solved, of those that were played to their end. */
export interface Solved {
  readonly won: number;
  readonly episodes: number;
}

/** What an alarm may look at. */
export interface Seen {
  readonly now: Reading;
  /** The last so many iterations, this one the last; undefined: there were not so many. */
  last(count: number): readonly Reading[] | undefined;
  /** The last so many, or as many as there were. */
  upTo(count: number): readonly Reading[];
  /** The run's first iterations. */
  readonly first: readonly Reading[];
  /** The first validation, and the one of this iteration, where there was one. */
  readonly startValidation: Solved | undefined;
  readonly validation: Solved | undefined;
  readonly options: AlarmOptions;
}

export interface AlarmOptions {
  /** KL between the policies before and after an iteration's updates. */
  readonly maxKl: number;
  readonly minEntropy: number;
  /** Whether episodes of a task are compared with each other: otherwise groups without spread do no harm. */
  readonly comparesGroups: boolean;
  /** Names of alarms that are not raised; "all": none is. */
  readonly ignored: readonly string[];
}

export interface Evidence {
  /** The numbers, as a sentence without its end. */
  readonly text: string;
  /** How bad it is, from 0 up. Twice as bad is worth saying again. */
  readonly level: number;
  /** It is there, and too small to act upon: whatever the alarm's grade, a notice. */
  readonly isSmall?: boolean;
}

/**
 * ruin: the policy is being spoilt by its updates; an earlier checkpoint is better. setup: as it is set up, the run cannot
 * learn; going back changes nothing. notice: worth a look, and the run may go on. The first two are serious.
 */
export type Grade = "ruin" | "setup" | "notice";

/** What can be done, by a name that the configuration translates into settings. */
export type Remedy =
  | "lower the learning rate"
  | "fewer updates per batch"
  | "less entropy bonus"
  | "more entropy bonus"
  | "KL to the reference"
  | "higher temperature"
  | "longer replies"
  | "longer prompts"
  | "more turns"
  | "larger groups"
  | "filter groups"
  | "warm start"
  | "chat form"
  | "constrain"
  | "reward weights"
  | "importance weights";

export interface Alarm {
  readonly grade: Grade;
  /** What it means, a sentence without its end. */
  readonly means: string;
  /** What to try, likewise. */
  readonly tries: string;
  readonly remedies: readonly Remedy[];
  /** Undefined: all is well, or it cannot be told yet. */
  check(seen: Seen): Evidence | undefined;
}

/** Names stay: metrics, settings and programs know them. */
export type AlarmName =
  | "unreadable_replies"
  | "invalid_actions"
  | "replies_cut"
  | "context_full"
  | "reply_loops"
  | "no_success"
  | "validation_below_start"
  | "success_fallen"
  | "entropy_rising"
  | "entropy_falling"
  | "no_spread"
  | "reward_unrelated"
  | "reward_gamed"
  | "component_constant"
  | "reward_failed"
  | "kl_spike"
  | "gradient_spike"
  | "logprob_drift"
  | "update_skipped"
  | "nothing_played";

/** Of an alarm that looks at one metric over some iterations: all of them fulfil it. */
export function lasting(
  seen: Seen,
  count: number,
  name: string,
  isBad: (value: number) => boolean,
): readonly number[] | undefined {
  const values = seen.last(count)?.map((reading) => reading[name]);
  const found = values?.filter((value): value is number => value !== undefined && isBad(value));
  return found?.length === count ? found : undefined;
}

/** The mean of those that measured it; undefined: none did. */
export function meanOf(readings: readonly Reading[], name: string): number | undefined {
  const values = readings.flatMap((reading) => reading[name] ?? []);
  return values.length === 0
    ? undefined
    : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function solvedIn(readings: readonly Reading[]): Solved {
  let [won, episodes] = [0, 0];
  for (const reading of readings) {
    const count = reading["episode/count"] ?? 0;
    won += Math.round((reading["episode/success_rate"] ?? 0) * count);
    episodes += count;
  }
  return { won, episodes };
}

export function medianOf(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? undefined : sorted[sorted.length >> 1];
}

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
export const short = (value: number): string => String(Number(value.toPrecision(3)));
