/**
 * @file A strategy: in which order the nodes of a tree are played, until one has won or the budget is spent.
 */
import type { Judge } from "../judge.ts";
import type { Node, Tree } from "../tree.ts";

export interface StrategySettings {
  /** Replies that are drawn at a node. */
  readonly branches: number;
  /** Nodes of a level that are gone on with; of `best_of_n`: episodes. */
  readonly width: number;
  /** Below this value of the judge a branch is given up (`dfsdt`). */
  readonly hopeless: number;
  /** How much is explored (`mcts`): c of UCT or PUCT. */
  readonly exploration: number;
  /** A node of `mcts` that was visited n times may have drawn this × √n replies. */
  readonly widening: number;
  /** How `mcts` chooses: by counts alone, or with the policy's own probabilities. */
  readonly selection: "uct" | "puct";
  /** What `mcts` takes for the worth of a new node: an episode that is played to its end, or the judge's word. */
  readonly evaluation: "rollout" | "judge";
}

export interface Search {
  readonly tree: Tree;
  readonly settings: StrategySettings;
  /** The judge's value of a node, asked once. Of a node that has won it is 1, unless the judge is not told (`isBlind`). */
  judgedValue(node: Node, isBlind?: boolean): Promise<number>;
  readonly judge: Judge;
}

export type Strategy = (search: Search) => Promise<void>;

/** Whether the search may end: the world itself has said that the task is solved. */
export function hasWon({ nodes }: Tree): boolean {
  return nodes.some(({ line }) => line.status === "won");
}
