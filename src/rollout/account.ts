/**
 * @file What happened in a rollout, counted.
 */
import { type EpisodeStatus, isTrainable, sampledTokens, type Trajectory } from "./trajectory.ts";

export interface RolloutAccount {
  readonly episodes: number;
  /** How many ended how. */
  readonly statuses: Readonly<Partial<Record<EpisodeStatus, number>>>;
  /** Episodes that are not the agent's doing and are left out of batches. */
  readonly leftOut: number;
  /** Beginnings over again after errors. */
  readonly retries: number;
  /** The first few errors, for people. */
  readonly errors: readonly string[];
  readonly turns: number;
  /** Tokens that were drawn. */
  readonly sampledTokens: number;
  readonly seconds: number;
}

const SHOWN_ERRORS = 5;

export function accountOf(all: readonly Trajectory[], seconds: number): RolloutAccount {
  const statuses: Partial<Record<EpisodeStatus, number>> = {};
  for (const { status } of all) statuses[status] = (statuses[status] ?? 0) + 1;
  const failed = all.filter(({ error, status }) => error !== undefined && status !== "aborted");
  return {
    episodes: all.length,
    statuses,
    leftOut: all.filter((trajectory) => !isTrainable(trajectory)).length,
    retries: all.reduce((sum, { attempts }) => sum + attempts - 1, 0),
    errors: failed
      .slice(0, SHOWN_ERRORS)
      .map(({ id, status, error }) => `${id}: ${status}: ${error}`),
    turns: all.reduce((sum, { turns }) => sum + turns.length, 0),
    sampledTokens: all.reduce((sum, trajectory) => sum + sampledTokens(trajectory), 0),
    seconds,
  };
}

/** The accounts of several rollouts as one. */
export function mergeAccounts(accounts: readonly RolloutAccount[]): RolloutAccount {
  const sum = (value: (account: RolloutAccount) => number) =>
    accounts.reduce((total, account) => total + value(account), 0);
  const statuses: Partial<Record<EpisodeStatus, number>> = {};
  for (const account of accounts)
    for (const [status, count] of Object.entries(account.statuses) as [EpisodeStatus, number][])
      statuses[status] = (statuses[status] ?? 0) + count;
  return {
    episodes: sum(({ episodes }) => episodes),
    statuses,
    leftOut: sum(({ leftOut }) => leftOut),
    retries: sum(({ retries }) => retries),
    errors: accounts.flatMap(({ errors }) => errors).slice(0, SHOWN_ERRORS),
    turns: sum(({ turns }) => turns),
    sampledTokens: sum(({ sampledTokens: tokens }) => tokens),
    seconds: sum(({ seconds }) => seconds),
  };
}
