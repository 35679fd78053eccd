/**
 * @file Success rates with their intervals: of all episodes, and of each kind of task.
 *
 * Episodes that ended through no doing of the agent (errors of the world or the model, time limits,
 * aborts) are neither won nor lost: they are left out of rates and means, and counted.
 */
import {
  type EpisodeStatus,
  isValidTurn,
  TRAINABLE,
  type Trajectory,
  type ValidityRule,
} from "../rollout/index.ts";
import { type Interval, wilson } from "./intervals.ts";
import { isOfKind, kindsOf } from "./kinds.ts";

/** What of an episode rates are made of. */
export interface EpisodeFacts {
  /** The kind of its task. */
  readonly type: string | undefined;
  readonly status: EpisodeStatus;
  readonly won: boolean;
  readonly score: number;
  readonly reward: number;
  readonly turns: number;
  /** Turns whose action was valid. */
  readonly validTurns: number;
}

export function episodeFacts(trajectory: Trajectory, rule: ValidityRule = "both"): EpisodeFacts {
  const { task, status, won, score, reward, turns } = trajectory;
  const validTurns = turns.filter((turn) => isValidTurn(turn, rule)).length;
  return { type: task.type, status, won, score, reward, turns: turns.length, validTurns };
}

/** Rates and means of some episodes. */
export interface SuccessRow {
  readonly episodes: number;
  readonly won: number;
  readonly rate: number;
  /** 95 %, Wilson's. Members of a group share their task, so for groups it is too narrow. */
  readonly interval: Interval;
  /** Means over episodes; of no episode they are NaN, like the rate. */
  readonly score: number;
  readonly reward: number;
  readonly turns: number;
  /** The share of turns whose action was valid; NaN where there was none. */
  readonly validity: number;
}

export interface SuccessTable {
  readonly all: SuccessRow;
  /** By kind of task, in the order of their names; empty where the world has no kinds. */
  readonly types: readonly (SuccessRow & { readonly type: string })[];
  /** How many episodes ended how, those that are left out included. */
  readonly statuses: Readonly<Partial<Record<EpisodeStatus, number>>>;
  readonly leftOut: number;
}

export function successTable(
  trajectories: readonly Trajectory[],
  rule: ValidityRule = "both",
): SuccessTable {
  return successRates(trajectories.map((trajectory) => episodeFacts(trajectory, rule)));
}

export function successRates(episodes: readonly EpisodeFacts[]): SuccessTable {
  const played = episodes.filter(({ status }) => TRAINABLE.has(status));
  const statuses: Partial<Record<EpisodeStatus, number>> = {};
  for (const { status } of episodes) statuses[status] = (statuses[status] ?? 0) + 1;
  return {
    all: rowOf(played),
    types: kindsOf(played.map(({ type }) => type)).map((type) => ({
      type,
      ...rowOf(played.filter((episode) => isOfKind(episode.type, type))),
    })),
    statuses,
    leftOut: episodes.length - played.length,
  };
}

function rowOf(episodes: readonly EpisodeFacts[]): SuccessRow {
  const sum = (value: (episode: EpisodeFacts) => number) =>
    episodes.reduce((total, episode) => total + value(episode), 0);
  const count = episodes.length;
  const won = sum((episode) => Number(episode.won));
  const turns = sum((episode) => episode.turns);
  return {
    episodes: count,
    won,
    rate: won / count,
    interval: wilson(won, count),
    score: sum(({ score }) => score) / count,
    reward: sum(({ reward }) => reward) / count,
    turns: turns / count,
    validity: sum(({ validTurns }) => validTurns) / turns,
  };
}
