/**
 * @file Depth first, backing up: one episode is played on as long as the judge does not call it hopeless; then, or when
 * it has ended without a win, the search goes back to the deepest node that has a reply left to draw.
 *
 * A reply that leads into a state in which the search was before (the same anchor) is backed out of as well: its
 * episodes are those that were tried from there. When no node has a reply left and there is budget, each gets as many
 * again: a policy that is sure of itself says other things only if it is asked often.
 */
import { backUp, type Node, pathTo, resultOf } from "../tree.ts";
import { hasWon, type Strategy } from "./strategy.ts";

export const dfsdt: Strategy = async ({ tree, settings, judgedValue }) => {
  const known = new Set([tree.root.line.observation.anchor]);
  let branches = settings.branches;
  const isOpen = ({ draws, line }: Node) => draws < branches && line.status === undefined;
  let at: Node = tree.root;
  /** Nodes that were gone on with; others were given up. */
  const entered: Node[] = [at];
  while (tree.budget.isLeft) {
    if (!isOpen(at)) {
      const back = pathTo(at).findLast(isOpen) ?? entered.findLast(isOpen);
      if (!back && !tree.budget.isLimited) return;
      if (!back) branches += settings.branches;
      at = back ?? tree.root;
      continue;
    }
    const before = tree.nodes.length;
    const [next] = await tree.expand(at, 1);
    if (!next) return;
    // Drawn again, it is no new branch.
    if (next.number < before) continue;
    if (next.line.status) {
      backUp(next, resultOf(next.line));
      if (hasWon(tree)) return;
      continue;
    }
    const { anchor } = next.line.observation;
    const isKnown = known.has(anchor);
    known.add(anchor);
    if (isKnown || (await judgedValue(next)) < settings.hopeless) continue;
    entered.push(next);
    at = next;
  }
};
