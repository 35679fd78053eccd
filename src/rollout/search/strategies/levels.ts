/**
 * @file Level by level: every node that is kept gets children, and of all of them the best few are kept.
 *
 * beam: the likeliest under the policy. tree_of_thoughts: those that the judge values most. graph_of_thoughts: the
 * same, and episodes that have come to the same state (the same anchor) are one, however they came there.
 */
import { backUp, byPlace, logProbability, type Node, resultOf } from "../tree.ts";
import { hasWon, type Search, type Strategy } from "./strategy.ts";

type Rank = (search: Search, node: Node) => number | Promise<number>;

const likelihood: Rank = (_, { line }) => logProbability(line.turns);
const judged: Rank = (search, node) => search.judgedValue(node);

function levels(rank: Rank, merges: boolean): Strategy {
  return async (search) => {
    const { tree, settings } = search;
    let level: readonly Node[] = [tree.root];
    /** States that were there before: to come back is no progress. */
    const known = new Set([tree.root.line.observation.anchor]);
    while (level.length > 0 && tree.budget.isLeft) {
      const grown = await Promise.all(level.map((node) => tree.expand(node, settings.branches)));
      const found = grown.flat().sort(byPlace);
      for (const node of found) if (node.line.status) backUp(node, resultOf(node.line));
      if (hasWon(tree)) return;
      const open = found.filter(({ line }) => line.status === undefined);
      const candidates = merges ? open.filter((node) => isNewState(node, known)) : open;
      const ranked = await Promise.all(
        candidates.map(async (node) => ({ node, rank: await rank(search, node) })),
      );
      ranked.sort((a, b) => b.rank - a.rank || byPlace(a.node, b.node));
      level = ranked.slice(0, settings.width).map(({ node }) => node);
    }
  };
}

function isNewState({ line }: Node, known: Set<string>): boolean {
  const { anchor } = line.observation;
  if (known.has(anchor)) return false;
  known.add(anchor);
  return true;
}

export const beam = levels(likelihood, false);
export const treeOfThoughts = levels(judged, false);
export const graphOfThoughts = levels(judged, true);
