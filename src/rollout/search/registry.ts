/**
 * @file Strategies by name.
 */
import { nearest } from "../../spelling/index.ts";
import { bestOfN } from "./strategies/best-of-n.ts";
import { dfsdt } from "./strategies/dfsdt.ts";
import { beam, graphOfThoughts, treeOfThoughts } from "./strategies/levels.ts";
import { mcts } from "./strategies/mcts.ts";
import type { Strategy } from "./strategies/strategy.ts";

const STRATEGIES: Readonly<Record<string, Strategy>> = {
  best_of_n: bestOfN,
  beam,
  tree_of_thoughts: treeOfThoughts,
  graph_of_thoughts: graphOfThoughts,
  dfsdt,
  mcts,
};

/** Beside them `sample`: one episode, no search. */
export const strategyNames: readonly string[] = ["sample", ...Object.keys(STRATEGIES)];

/** Undefined: there is none of that name, or it is `sample`. */
export function strategyOf(name: string): Strategy | undefined {
  return Object.hasOwn(STRATEGIES, name) ? STRATEGIES[name] : undefined;
}

export function unknownStrategy(name: string): string {
  const meant = nearest(name, strategyNames);
  return (
    `there is no strategy "${name}"${meant ? `; did you mean ${meant}?` : "."} ` +
    `There are ${strategyNames.join(", ")}`
  );
}
