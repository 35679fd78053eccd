/**
 * @file Monte Carlo tree search. Select: down from the root, by UCT or, with the policy's own probabilities, PUCT, to a
 * node that may have another child. Expand: a reply is drawn there. Evaluate: by an episode that is played to its end,
 * or by the judge. Back up: the result counts on the whole way.
 *
 * How many replies a node has drawn grows with the root of its visits (progressive widening): replies are texts, and
 * never exhausted. What is played for an evaluation stays in the tree, so that later selections may branch off anywhere
 * in it. What was drawn is never drawn for nothing.
 */
import { backUp, meanResult, type Node, resultOf } from "../tree.ts";
import { hasWon, type Search, type Strategy, type StrategySettings } from "./strategy.ts";

/** Selections one after the other that found nothing to play. */
const MOST_IDLE = 100;

export const mcts: Strategy = async (search) => {
  const { tree } = search;
  let idle = 0;
  while (tree.budget.isLeft && !hasWon(tree) && idle < MOST_IDLE) {
    const spent = tree.budget.states;
    const leaf = await simulate(search);
    backUp(leaf, await worthOf(search, leaf));
    idle = tree.budget.states > spent ? 0 : idle + 1;
  }
};

/** Selects, expands and, where results are played for, plays on. */
async function simulate({ tree, settings }: Search): Promise<Node> {
  let node = tree.root;
  while (!node.line.status) {
    if (node.draws < allowedDraws(node, settings)) {
      const before = tree.nodes.length;
      const [next] = await tree.expand(node, 1);
      if (!next) return node;
      if (next.number >= before)
        return settings.evaluation === "rollout" ? tree.playOut(next) : next;
      node = next;
    } else node = bestChild(node, settings);
  }
  return node;
}

async function worthOf({ judgedValue, settings }: Search, node: Node): Promise<number> {
  return node.line.status || settings.evaluation === "rollout"
    ? resultOf(node.line)
    : judgedValue(node);
}

function allowedDraws({ visits }: Node, { widening }: StrategySettings): number {
  return Math.max(1, Math.ceil(widening * Math.sqrt(visits)));
}

export function bestChild(
  node: Node,
  { exploration, selection }: Pick<StrategySettings, "exploration" | "selection">,
): Node {
  const worth = (child: Node) => {
    const mean = meanResult(child) ?? meanResult(node) ?? 0;
    const bonus =
      selection === "uct"
        ? Math.sqrt(Math.log(Math.max(node.visits, 1)) / Math.max(child.visits, 1))
        : (child.drawn / node.draws) * (Math.sqrt(node.visits) / (1 + child.visits));
    return mean + exploration * bonus;
  };
  return node.children.reduce((best, child) => (worth(child) > worth(best) ? child : best));
}
