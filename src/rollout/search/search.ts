/**
 * @file An episode that is searched for: a strategy grows a tree of lines within a budget. What comes out is the best
 * line, an episode like any other, the other lines that came to an end, and what the tree knows (findings.ts).
 */
import type { Environment } from "../../environments/index.ts";
import { deriveSeed } from "../../torch/index.ts";
import { type EpisodeOptions, inEpisode, trajectoryOf } from "../episode.ts";
import type { Policy } from "../policies/policy.ts";
import type { SearchAccount, Trajectory } from "../trajectory.ts";
import { type BudgetOptions, createBudget } from "./budget.ts";
import { type Findings, findingsOf, NO_FINDINGS } from "./findings.ts";
import { type Judge, likelihoodJudge, modelJudge, scoreJudge } from "./judge.ts";
import { strategyOf, unknownStrategy } from "./registry.ts";
import type { StrategySettings } from "./strategies/strategy.ts";
import { byPlace, createTree, type Node, resultOf, type Tree } from "./tree.ts";

export interface SearchOptions extends Partial<StrategySettings> {
  /** A name of the registry; not `sample`, which is no search. */
  readonly strategy: string;
  /** Default: none but the strategy's own end; `mcts` needs one. */
  readonly budget?: BudgetOptions | undefined;
  /** Default: score. */
  readonly judge?: JudgeName | Judge | undefined;
}

/** The world's score, how likely the policy finds what it does, or what the model says when it is asked. */
export type JudgeName = "score" | "likelihood" | "model";

export const SEARCH_DEFAULTS: StrategySettings = {
  branches: 4,
  width: 8,
  hopeless: 0,
  exploration: 1,
  widening: 1,
  selection: "puct",
  evaluation: "rollout",
};

export interface Searched extends Findings {
  /** The best line first, then the others that came to an end, in the order in which they were found. */
  readonly episodes: readonly Trajectory[];
}

export interface SearchEpisodeOptions extends EpisodeOptions {
  readonly search: SearchOptions;
  /** Environments for branches, in worlds that cannot be cloned. */
  readonly fresh: () => Environment;
  /** Takes back what a branch held. */
  readonly discard: (environment: Environment) => void;
}

/** What makes no sense together; undefined: nothing. */
export function searchProblem({
  strategy,
  budget = {},
}: Pick<SearchOptions, "strategy" | "budget">): string | undefined {
  if (strategy === "sample") return '"sample" is no search: episodes are played once';
  if (!strategyOf(strategy)) return unknownStrategy(strategy);
  if (strategy === "mcts" && Object.values(budget).every((limit) => limit === undefined))
    return "mcts goes on until its budget is spent: give it one (tokens, states or seconds)";
  return undefined;
}

/** Never rejects, as episodes do not: what went wrong is the status of its first episode. */
export async function searchEpisode(options: SearchEpisodeOptions): Promise<Searched> {
  const { search, seed, fresh, discard } = options;
  const begun = performance.now();
  const strategy = strategyOf(search.strategy);
  const problem = searchProblem(search);
  if (problem || !strategy) throw new RangeError(`search: ${problem}`);
  const settings = { ...SEARCH_DEFAULTS, ...search };
  const judge = judgeOf(search.judge, options.policy);
  let found: Findings = NO_FINDINGS;
  let others: readonly Trajectory[] = [];
  let account: SearchAccount | undefined;
  const best = await inEpisode(options, async (line, signal) => {
    const budget = createBudget(search.budget ?? {});
    const tree = createTree({ line, seed, budget, fresh, discard });
    try {
      const judgedValue = async (node: Node, isBlind = false) => {
        if (node.value !== undefined) return node.value;
        const isKnown = node.line.status === "won" && !isBlind;
        const judged = isKnown ? { value: 1 } : await judge.judge(node.line, signal);
        budget.spend({ tokens: judged.tokens ?? 0 });
        node.value = judged.value;
        return judged.value;
      };
      await strategy({ tree, settings, judge, judgedValue });
      const nodes = [...tree.nodes].sort(byPlace);
      const leaf = await toTheEnd(options, tree, bestNode(nodes, judge));
      found = findingsOf(nodes);
      const ended = nodes.filter((node) => node !== leaf && node.line.status);
      const seconds = (performance.now() - begun) / 1000;
      others = ended.map((node, i) => branchEpisode(options, node, i + 1, seconds));
      const { tokens, states } = budget;
      account = { strategy: search.strategy, tokens, states, finished: ended.length + 1 };
      return leaf.line;
    } finally {
      tree.close();
    }
  });
  return { episodes: [account ? { ...best, search: account } : best, ...others], ...found };
}

function judgeOf(judge: SearchOptions["judge"] = "score", policy: Policy): Judge {
  if (typeof judge !== "string") return judge;
  if (judge === "score") return scoreJudge;
  if (judge === "likelihood") return likelihoodJudge;
  if (judge === "model") return modelJudge(policy);
  throw new RangeError(
    `search: there is no judge "${judge as string}". There are score, likelihood and model.`,
  );
}

/** Won before all others; then by the judge's value, the world's score, and how far it has come. */
function bestNode(nodes: readonly Node[], judge: Judge): Node {
  const leaves = nodes.filter(({ children }) => children.length === 0);
  const rank = ({ line, value, depth }: Node): readonly number[] => [
    judge === scoreJudge && line.status === "won" ? 1 : 0,
    value ?? resultOf(line),
    resultOf(line),
    depth,
  ];
  const isAbove = (a: readonly number[], b: readonly number[]) => {
    const first = a.findIndex((number, i) => number !== b[i]);
    return first >= 0 && a[first]! > b[first]!;
  };
  return leaves.reduce((best, node) => (isAbove(rank(node), rank(best)) ? node : best));
}

/** The chosen line is an episode: it is played to its end, whatever is left of the budget. */
async function toTheEnd(
  { seed, id, fresh, discard }: SearchEpisodeOptions,
  tree: Tree,
  node: Node,
): Promise<Node> {
  if (node.line.status) return node;
  const line = await node.line.fork(`${id}/end`, fresh);
  try {
    while (!line.status) {
      await line.play(deriveSeed(seed, "end", line.turns.length));
      tree.budget.spend({ tokens: line.turns.at(-1)?.reply.ids.length ?? 0, states: 1 });
    }
  } finally {
    line.end();
    discard(line.environment);
  }
  return { ...node, line };
}

function branchEpisode(
  options: SearchEpisodeOptions,
  { line }: Node,
  place: number,
  seconds: number,
): Trajectory {
  const member = options.member + place;
  const id = `${options.group}#${member}`;
  return {
    ...trajectoryOf({ ...options, id, member }, line, { status: line.status! }, seconds),
    // Its cost is the best line's.
    search: { strategy: options.search.strategy, tokens: 0, states: 0, finished: 0 },
  };
}
