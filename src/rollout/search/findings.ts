/**
 * @file What a searched tree knows beside its best line: which of two replies at the same place led further (for step-wise
 * preferences), and what states were worth (for a critic).
 */
import type { Turn } from "../trajectory.ts";
import { meanResult, type Node } from "./tree.ts";

/** Two episodes that are the same but for their last turn. */
export interface StepPreference<Some = Turn> {
  readonly chosen: readonly Some[];
  readonly rejected: readonly Some[];
  /** By how much the mean result of the first was larger. */
  readonly margin: number;
}

/** A state, told by the turns that led to it. */
export interface StateValue<Some = Turn> {
  readonly turns: readonly Some[];
  /** Mean result of the episodes that went through it, 0 to 1. */
  readonly value: number;
  readonly visits: number;
}

export interface Findings<Some = Turn> {
  readonly preferences: readonly StepPreference<Some>[];
  readonly values: readonly StateValue<Some>[];
}

export const NO_FINDINGS: Findings = { preferences: [], values: [] };

export function findingsOf(nodes: readonly Node[]): Findings {
  const values = nodes.flatMap((node) => {
    const value = meanResult(node);
    return value === undefined || node.line.turns.length === 0
      ? []
      : [{ turns: node.line.turns, value, visits: node.visits }];
  });
  return { preferences: nodes.flatMap(preferenceAt), values };
}

/** The best child against the worst, where they differ. */
function preferenceAt({ children }: Node): StepPreference[] {
  const known = children.flatMap((node) => {
    const mean = meanResult(node);
    return mean === undefined ? [] : [{ node, mean }];
  });
  if (known.length < 2) return [];
  const best = known.reduce((a, b) => (b.mean > a.mean ? b : a));
  const worst = known.reduce((a, b) => (b.mean < a.mean ? b : a));
  const margin = best.mean - worst.mean;
  if (margin <= 0) return [];
  return [{ chosen: best.node.line.turns, rejected: worst.node.line.turns, margin }];
}
