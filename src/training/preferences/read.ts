/**
 * @file Where pairs come from: the folder of a rollout or a run (its groups of episodes, and what searches found), a file
 * of episodes, of findings, or of preferences.
 */
import { statSync } from "node:fs";
import { basename } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import type { Chat } from "../../models/index.ts";
import {
  FINDINGS_FILE,
  findingsFileIn,
  readFindings,
  readTrajectories,
  type SearchFindings,
  type Trajectory,
} from "../../rollout/index.ts";
import { requireTokensOf, requireTokensOfFindings } from "../sft/fingerprints.ts";
import { hasTrajectories, readRows, requirePlace } from "../sft/rows.ts";
import { pairsOfEpisodes } from "./groups.ts";
import { type Pair, pairOf } from "./pairs.ts";
import { pairOfRow } from "./preferences-file.ts";

/** Which pairs of a folder: of whole episodes, of single steps that a search compared, or both. */
export type PairSource = "all" | "episodes" | "steps";

export interface PairOptions {
  /** Default: all. */
  readonly pairs?: PairSource | undefined;
  /** Pairs of episodes that one group gives at most. Default 8. */
  readonly pairsPerGroup?: number | undefined;
}

export function pairsIn({ episodes, findings, rows }: Sources, options: PairOptions = {}): Pair[] {
  const { pairs: wanted = "all" } = options;
  const pairs = [
    ...(wanted === "steps" ? [] : pairsOfEpisodes(episodes, options.pairsPerGroup)),
    ...(wanted === "episodes" ? [] : pairsOfFindings(findings)),
    ...rows,
  ];
  if (pairs.length > 0) return pairs;
  throw new OptionError(
    `data: there are no pairs in it. Of ${episodes.length} episodes none did better than another of the same task in the ` +
      "same iteration (play several of each: rollout --episodes 8, at a temperature above 0); of " +
      `${findings.length} searches none compared two steps (rollout --search mcts)`,
  );
}

/** Step by step: the reply that led further against the one that did not, after the same turns. */
export function pairsOfFindings(findings: readonly SearchFindings[]): Pair[] {
  return findings.flatMap(({ task, context, preferences }) =>
    preferences.flatMap(
      ({ chosen, rejected, margin }) =>
        pairOf(task, { context, turns: chosen }, { context, turns: rejected }, margin) ?? [],
    ),
  );
}

export interface Sources {
  readonly episodes: readonly Trajectory[];
  readonly findings: readonly SearchFindings[];
  readonly rows: readonly Pair[];
}

/** Episodes that a program has. */
export function sourcesOf(episodes: readonly Trajectory[], chat: Chat): Sources {
  for (const episode of episodes) requireTokensOf(chat, episode, "data");
  return { episodes, findings: [], rows: [] };
}

/** Everything of a place that can be learned from, checked for the tokenizer. */
export async function sourcesIn(path: string, chat: Chat): Promise<Sources> {
  requirePlace(path);
  const isFolder = statSync(path).isDirectory();
  const episodes = isFolder || hasEpisodes(path) ? [...readTrajectories(path)] : [];
  for (const episode of episodes) requireTokensOf(chat, episode, path);
  const file = isFolder ? findingsFileIn(path) : isFindings(path) ? path : undefined;
  const findings = file === undefined ? [] : readFindings(file);
  for (const found of findings) requireTokensOfFindings(chat, found, file!);
  const isRows = !isFolder && episodes.length === 0 && findings.length === 0;
  const rows = isRows ? await readRows(path) : [];
  return { episodes, findings, rows: rows.map(({ row, place }) => pairOfRow(row, chat, place)) };
}

function hasEpisodes(path: string): boolean {
  return !isFindings(path) && hasTrajectories(path);
}

function isFindings(path: string): boolean {
  return basename(path) === FINDINGS_FILE;
}
