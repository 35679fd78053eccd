/**
 * @file Whether the right kind of thing was bought: by search query, category and the nouns of the
 * titles.
 */

import { strip } from "../../python-text.ts";
import type { Goal } from "../goal.ts";
import type { Product } from "../product.ts";

/** The nouns of a title, in order, in lower case. Repetitions stay. */
export type NounFinder = (title: string) => readonly string[];

export interface TypeReward {
  /** The factor of the whole reward: 1, 0.5, 0.1 or 0. */
  readonly factor: number;
  readonly queryMatch: boolean;
  readonly categoryMatch: boolean;
  /** The share of the wanted title's nouns that the bought one has. */
  readonly titleScore: number;
}

/** A title without nouns scores this. */
const NO_NOUNS = 0.2;

export function typeReward(bought: Product, goal: Goal, nouns: NounFinder): TypeReward {
  const queryMatch = bought.query === goal.query;
  const levels = levelsOf(bought.productCategory);
  const common = [...levelsOf(goal.productCategory)].filter((level) => levels.has(level));
  const categoryMatch = common.length >= 2;
  const titleScore = titleScoreOf(nouns(bought.title), nouns(goal.name));
  let factor = queryMatch || categoryMatch || titleScore > 0.2 ? 1 : 0.5;
  if (titleScore < 0.1) factor = 0.1;
  if (titleScore === 0) factor = 0;
  return { factor, queryMatch, categoryMatch, titleScore };
}

function levelsOf(productCategory: string): Set<string> {
  return new Set(productCategory.split("›").map(strip));
}

/** Common nouns are counted once, the wanted title's as often as they occur. */
function titleScoreOf(bought: readonly string[], wanted: readonly string[]): number {
  if (wanted.length === 0) return NO_NOUNS;
  const had = new Set(bought);
  return [...new Set(wanted)].filter((noun) => had.has(noun)).length / wanted.length;
}
