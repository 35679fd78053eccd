/**
 * @file What the terminal shows of a run's many metrics, and the run so far as it needs it.
 */
import { firstOf, type Metrics } from "../metrics.ts";
import { formatCount, formatNumber, formatPercent } from "../numbers.ts";

export interface Field {
  readonly label: string;
  /** Metrics that it can be, the best first. */
  readonly names: readonly string[];
  readonly format: (value: number) => string;
}

const field = (label: string, format: Field["format"], ...names: string[]): Field => ({
  label,
  names,
  format,
});

export const REWARD = field(
  "reward",
  formatNumber,
  "episode/reward/mean",
  "critic/rewards/mean",
  "critic/score/mean",
);
export const SUCCESS = field("success", formatPercent, "episode/success_rate");
export const VALIDATION = field("validation", formatPercent, "val/success_rate");

/** In the order in which they are shown; the last ones go first where there is no room. */
export const FIELDS: readonly Field[] = [
  field("loss", formatNumber, "train/loss"),
  field("val loss", formatNumber, "val/loss"),
  field("policy loss", formatNumber, "actor/pg_loss"),
  field("value loss", formatNumber, "critic/vf_loss"),
  field("kl", formatNumber, "actor/kl_loss", "actor/reward_kl_penalty", "actor/ppo_kl"),
  field("entropy", formatNumber, "actor/entropy"),
  field("gradient", formatNumber, "actor/grad_norm", "train/grad_norm"),
  field("valid", formatPercent, "episode/valid_action_ratio"),
  field("tokens/s", formatCount, "perf/throughput"),
];

/** The phases of a step, in their order; what they do not cover is "other". */
const PHASES = [
  ...["gen", "reward", "old_log_prob", "ref", "values", "adv", "update_critic", "update_actor"],
  ...["update_weights", "testing", "save_checkpoint"],
] as const;

export interface Phase {
  readonly name: string;
  readonly seconds: number;
}

/** How a step's time was spent. Empty where it was not measured. */
export function phasesOf(metrics: Metrics): Phase[] {
  const phases = PHASES.map((name) => ({ name, seconds: metrics[`timing_s/${name}`] ?? 0 }));
  const spent = phases.reduce((sum, { seconds }) => sum + seconds, 0);
  const other = (metrics["timing_s/step"] ?? 0) - spent;
  return [...phases, { name: "other", seconds: other }].filter(({ seconds }) => seconds > 0);
}

/** The run so far. */
export interface RunState {
  readonly step: number;
  readonly metrics: Metrics;
  /** The latest value of every metric: validation is not measured in every step. */
  readonly latest: Metrics;
  /** The step of the last validation. */
  readonly validated: number | undefined;
  /** Seconds of each step, of the last few. */
  readonly seconds: readonly number[];
  /** Of all steps of this process. */
  readonly elapsed: number;
  /** For the small curves; the last few. */
  readonly rewards: readonly number[];
  readonly successes: readonly number[];
}

export const EMPTY_RUN: RunState = {
  step: 0,
  metrics: {},
  latest: {},
  validated: undefined,
  seconds: [],
  elapsed: 0,
  rewards: [],
  successes: [],
};

/** How many steps the small curves and the estimate of the time left look back. */
const LOOK_BACK = 24;

export function advance(run: RunState, step: number, metrics: Metrics): RunState {
  const seconds = metrics["timing_s/step"] ?? 0;
  const followed = (values: readonly number[], value: number | undefined) =>
    value === undefined || !Number.isFinite(value) ? values : [...values, value].slice(-LOOK_BACK);
  return {
    step,
    metrics,
    latest: { ...run.latest, ...metrics },
    validated: firstOf(metrics, VALIDATION.names) === undefined ? run.validated : step,
    seconds: seconds > 0 ? followed(run.seconds, seconds) : run.seconds,
    elapsed: run.elapsed + seconds,
    rewards: followed(run.rewards, firstOf(metrics, REWARD.names)),
    successes: followed(run.successes, firstOf(metrics, SUCCESS.names)),
  };
}

/** From the last steps' time; undefined as long as nothing was measured. */
export function secondsLeft({ seconds, step }: RunState, totalSteps: number): number | undefined {
  if (seconds.length === 0) return undefined;
  const mean = seconds.reduce((sum, value) => sum + value, 0) / seconds.length;
  return mean * Math.max(0, totalSteps - step);
}
