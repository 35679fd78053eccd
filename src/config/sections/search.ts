/**
 * @file `env.search.*`: whether episodes are searched for, how, and what that may cost.
 */
import { z } from "zod";
import { SEARCH_DEFAULTS, strategyNames } from "../../rollout/index.ts";
import { count, positive, section, setting } from "../setting.ts";

export const search = section({
  strategy: setting(
    z.enum(strategyNames as [string, ...string[]]).default("sample"),
    "How an episode is found in eval, rollouts and training (validations of a training play plainly): sample: it is " +
      "played once; best_of_n: whole episodes; beam, tree_of_thoughts, graph_of_thoughts: level by level; dfsdt: depth " +
      "first; mcts: Monte Carlo tree search. In a training the members of a group are lines of one search.",
  ),
  branches: setting(
    count.default(SEARCH_DEFAULTS.branches),
    "Replies that are drawn at a node; of best_of_n: episodes at once.",
  ),
  width: setting(
    count.default(SEARCH_DEFAULTS.width),
    "Nodes of a level that are gone on with; of best_of_n: episodes.",
  ),
  hopeless: setting(
    z.number().min(0).max(1).default(SEARCH_DEFAULTS.hopeless),
    "dfsdt: below this value of the judge a branch is given up.",
  ),
  exploration: setting(
    z.number().nonnegative().default(SEARCH_DEFAULTS.exploration),
    "mcts: c of UCT or PUCT.",
  ),
  widening: setting(
    positive.default(SEARCH_DEFAULTS.widening),
    "mcts: a node that was visited n times may have drawn this × √n replies.",
  ),
  selection: setting(
    z.enum(["uct", "puct"]).default(SEARCH_DEFAULTS.selection),
    "mcts: children are chosen by counts alone, or with the policy's own probabilities.",
  ),
  evaluation: setting(
    z.enum(["rollout", "judge"]).default(SEARCH_DEFAULTS.evaluation),
    "mcts: a new node is worth what an episode gets that is played on from it, or what the judge says.",
  ),
  judge: setting(
    z.enum(["score", "likelihood", "model", "reward_model", "critic"]).default("score"),
    "Who values unfinished episodes, and chooses among finished ones: the world's score, the policy's own probability, " +
      "the model, which is asked, a reward model, or a run's critic.",
  ),
  judge_path: setting(
    z.string().optional(),
    "The judge reward_model: a folder that openmanus-rl reward-model made; critic: RUN/checkpoints/step-…/critic.",
  ),
  judge_scale: setting(
    positive.default(10),
    "The judge critic: the return of an episode that is as good as won (10, where the world gives that for a win).",
  ),
  budget_tokens: setting(count.optional(), "Drawn tokens of one search at most."),
  budget_states: setting(count.optional(), "Turns that one search may play."),
  budget_seconds: setting(
    positive.optional(),
    "Time of one search; with it results depend on the machine.",
  ),
});
