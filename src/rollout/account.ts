/**
 * @file What happened in a rollout, counted.
 */
import { addFaults, type FaultCounts } from "./faults/kinds.ts";
import { type EpisodeStatus, isTrainable, sampledTokens, type Trajectory } from "./trajectory.ts";

export interface RolloutAccount {
  readonly episodes: number;
  /** How many ended how. */
  readonly statuses: Readonly<Partial<Record<EpisodeStatus, number>>>;
  /** Episodes that are not the agent's doing and are left out of batches. */
  readonly leftOut: number;
  /** Beginnings over again after errors. */
  readonly retries: number;
  /** Faults of the world that came when their episodes were over; left out where there were none. */
  readonly lateFaults?: number;
  /** Faults by their kind, those of episodes that were begun again included; left out where there were none. */
  readonly faults?: FaultCounts;
  /** The first few errors, for people. */
  readonly errors: readonly string[];
  readonly turns: number;
  /** Tokens that were drawn. */
  readonly sampledTokens: number;
  readonly seconds: number;
}

const SHOWN_ERRORS = 5;

/** `late`: faults that came when their episodes were over. */
export function accountOf(
  all: readonly Trajectory[],
  seconds: number,
  late: { readonly count: number; readonly told: readonly string[] } = { count: 0, told: [] },
  faults: FaultCounts = {},
): RolloutAccount {
  const statuses: Partial<Record<EpisodeStatus, number>> = {};
  for (const { status } of all) statuses[status] = (statuses[status] ?? 0) + 1;
  const failed = all.filter(({ error, status }) => error !== undefined && status !== "aborted");
  return {
    episodes: all.length,
    statuses,
    leftOut: all.filter((trajectory) => !isTrainable(trajectory)).length,
    retries: all.reduce((sum, { attempts }) => sum + attempts - 1, 0),
    ...(late.count > 0 && { lateFaults: late.count }),
    ...(Object.keys(faults).length > 0 && { faults }),
    errors: [
      ...failed.map(({ id, status, error }) => `${id}: ${status}: ${error}`),
      ...late.told.map((sentence) => `after its end: ${sentence}`),
    ].slice(0, SHOWN_ERRORS),
    turns: all.reduce((sum, { turns }) => sum + turns.length, 0),
    sampledTokens: all.reduce((sum, one) => sum + (one.search?.tokens ?? sampledTokens(one)), 0),
    seconds,
  };
}

/** The accounts of several rollouts as one. */
export function mergeAccounts(accounts: readonly RolloutAccount[]): RolloutAccount {
  const sum = (value: (account: RolloutAccount) => number) =>
    accounts.reduce((total, account) => total + value(account), 0);
  const late = sum(({ lateFaults = 0 }) => lateFaults);
  const faults = addFaults(accounts.map((account) => account.faults ?? {}));
  const statuses: Partial<Record<EpisodeStatus, number>> = {};
  for (const account of accounts)
    for (const [status, count] of Object.entries(account.statuses) as [EpisodeStatus, number][])
      statuses[status] = (statuses[status] ?? 0) + count;
  return {
    episodes: sum(({ episodes }) => episodes),
    statuses,
    leftOut: sum(({ leftOut }) => leftOut),
    retries: sum(({ retries }) => retries),
    ...(late > 0 && { lateFaults: late }),
    ...(Object.keys(faults).length > 0 && { faults }),
    errors: accounts.flatMap(({ errors }) => errors).slice(0, SHOWN_ERRORS),
    turns: sum(({ turns }) => turns),
    sampledTokens: sum(({ sampledTokens: tokens }) => tokens),
    seconds: sum(({ seconds }) => seconds),
  };
}
