/**
 * @file Watches a run, iteration by iteration, and says when an alarm begins, gets worse, and is over. Its state is small and
 * plain, and part of a checkpoint: a run that goes on raises what the undisturbed one would.
 */
import type { Metrics } from "../../monitoring/index.ts";
import type { Alarm, AlarmName, AlarmOptions, Reading, Seen, Solved } from "./alarm.ts";
import { LEARNING } from "./learning.ts";
import { PLAYING } from "./playing.ts";
import { REWARDS } from "./rewards.ts";
import { UPDATES } from "./updates.ts";

/** Every alarm by its name. */
export const ALARMS: Readonly<Record<AlarmName, Alarm>> = {
  ...PLAYING,
  ...LEARNING,
  ...REWARDS,
  ...UPDATES,
};
export const ALARM_NAMES = Object.keys(ALARMS) as readonly AlarmName[];

export interface RaisedAlarm {
  /** The iteration in which it began. */
  readonly since: number;
  /** How bad it was when it was said last. */
  readonly level: number;
  /** Iterations without it. */
  readonly quiet: number;
}

export interface AlarmState {
  readonly first: readonly Reading[];
  readonly recent: readonly Reading[];
  readonly startValidation: Solved | null;
  readonly raised: Readonly<Partial<Record<AlarmName, RaisedAlarm>>>;
}

export interface AlarmEvent {
  readonly name: AlarmName;
  readonly kind: "begins" | "worse" | "over";
  readonly iteration: number;
  /** The numbers; empty where it is over. */
  readonly evidence: string;
  /** For people: what it is, what it means and what to try. */
  readonly text: string;
}

export interface Watched {
  readonly state: AlarmState;
  readonly events: readonly AlarmEvent[];
  /** `alarm/NAME`: 1 while it is raised. */
  readonly metrics: Metrics;
  /** Serious alarms that began, or got worse, in this iteration. */
  readonly serious: readonly AlarmEvent[];
}

/** Iterations that are remembered, and how many of the beginning. */
const REMEMBERED = 12;
const FIRST = 3;
/** It is over when it was not there for so many iterations: one that comes and goes is said once. */
const QUIET = 3;
const WORSE = 2;

export const NO_ALARMS: AlarmState = { first: [], recent: [], startValidation: null, raised: {} };

/** What alarms read of an iteration. */
const READ =
  /^(?:episode\/(?:count|success_rate|well_formed_ratio|taken_action_ratio|context_full_ratio)|response_length\/(?:clip|loop)_ratio|group\/.+|frac_reward_zero_std|reward_std|rewards\/.+|critic\/score\/mean|(?:actor|critic)\/grad_norm|actor\/(?:entropy|ppo_kl)|training\/(?:fallen_rollouts|usable_episodes|bad_updates|rollout_logprob_diff_max)|rollout_corr\/k3_kl)$/;

function readingOf(metrics: Metrics): Reading {
  return Object.fromEntries(
    Object.entries(metrics).filter(([name, value]) => Number.isFinite(value) && READ.test(name)),
  );
}

function validationOf(metrics: Metrics): Solved | undefined {
  const { "val/success_rate": rate, "val/episodes": episodes } = metrics;
  if (rate === undefined || episodes === undefined) return undefined;
  return { won: Math.round(rate * episodes), episodes };
}

/** Iteration 0 is the validation before the first: it is only remembered. `details`: what is known besides the numbers. */
export function watchAlarms(
  before: AlarmState,
  iteration: number,
  metrics: Metrics,
  options: AlarmOptions,
  details: Readonly<Partial<Record<AlarmName, string>>> = {},
): Watched {
  const validation = validationOf(metrics);
  const startValidation = before.startValidation ?? validation ?? null;
  if (iteration === 0)
    return { state: { ...before, startValidation }, events: [], metrics: {}, serious: [] };
  const now = readingOf(metrics);
  const first = before.first.length < FIRST ? [...before.first, now] : before.first;
  const recent = [...before.recent, now].slice(-REMEMBERED);
  const seen: Seen = {
    ...{ now, first, validation, options },
    upTo: (count) => recent.slice(-count),
    last: (count) => (recent.length < count ? undefined : recent.slice(-count)),
    // The first validation is no news to itself.
    startValidation: before.startValidation ?? undefined,
  };
  const raised: Partial<Record<AlarmName, RaisedAlarm>> = {};
  const events: AlarmEvent[] = [];
  const serious: AlarmEvent[] = [];
  for (const name of ALARM_NAMES) {
    if (options.ignored.includes("all") || options.ignored.includes(name)) continue;
    const known = before.raised[name];
    const isSilent = name === "validation_below_start" && validation === undefined;
    // Nothing is known of it until the next validation.
    const found = isSilent ? undefined : ALARMS[name].check(seen);
    if (found) {
      const kind = !known ? "begins" : found.level >= WORSE * known.level ? "worse" : undefined;
      raised[name] = {
        since: known?.since ?? iteration,
        level: kind ? found.level : known!.level,
        quiet: 0,
      };
      if (!kind) continue;
      const event = eventOf(name, kind, iteration, [found.text, details[name]].filter(Boolean));
      events.push(event);
      if (ALARMS[name].grade !== "notice" && !found.isSmall) serious.push(event);
    } else if (known) {
      const quiet = isSilent ? known.quiet : known.quiet + 1;
      if (quiet < QUIET) raised[name] = { ...known, quiet };
      else events.push(eventOf(name, "over", iteration, []));
    }
  }
  return {
    state: { first, recent, startValidation, raised },
    events,
    metrics: Object.fromEntries(ALARM_NAMES.map((name) => [`alarm/${name}`, raised[name] ? 1 : 0])),
    serious,
  };
}

function eventOf(
  name: AlarmName,
  kind: AlarmEvent["kind"],
  iteration: number,
  evidence: readonly (string | undefined)[],
): AlarmEvent {
  const told = evidence.join("; ");
  const { means, tries } = ALARMS[name];
  const text =
    kind === "over"
      ? `alarm ${name} is over`
      : `alarm ${name}${kind === "worse" ? " gets worse" : ""}: ${told}. That is: ${means}. Try: ${tries}.`;
  return { name, kind, iteration, evidence: told, text };
}

/** After going back to an earlier checkpoint: what the run began with stays, what was just seen is no longer so. */
export function forgetRecent(state: AlarmState): AlarmState {
  return { ...state, recent: [], raised: {} };
}
