/**
 * @file Golden cases of masked statistics and of the estimators that need no steps.
 */
import {
  type Advantages,
  advantageEstimators,
  moments,
  type Numbers,
  type Rows,
  reinforcePlusPlus,
  whiten,
} from "../../../src/algorithms/index.ts";
import { compareNumbers } from "../compare.ts";
import { compareTokens, type GoldenCase, Inputs, type Report } from "./case.ts";

export function advantageCases(golden: GoldenCase): Report | undefined {
  return statistics(golden) ?? reinforceCases(golden) ?? estimators(golden);
}

function statistics({ name, in: fields, out }: GoldenCase): Report | undefined {
  if (!name.startsWith("masked_")) return undefined;
  const input = new Inputs(fields);
  const rows = input.rows();
  const values = input.matrix("values");
  const { mean, variance } = moments(values, rows.mask);
  if (name === "masked_mean")
    return { problems: compareNumbers("mean", [mean], [Number(out.mean)]) };
  if (name === "masked_var")
    return { problems: compareNumbers("var", [variance], [Number(out.var)]) };
  if (name === "masked_whiten")
    return { problems: compareTokens("out", whiten(values, rows.mask), out.out, rows) };
  return undefined;
}

/** The sum written out, without a recursion that could carry or drop anything. */
function plainReturns(rows: Rows, rewards: Numbers, gamma: number): Float64Array {
  const returns = new Float64Array(rewards.length);
  for (let row = 0; row + 1 < rows.offsets.length; row++) {
    const trained: number[] = [];
    for (let token = rows.offsets[row]!; token < rows.offsets[row + 1]!; token++)
      if (rows.mask[token] === 1) trained.push(token);
    for (const [i, token] of trained.entries())
      for (const [j, later] of trained.entries())
        if (j >= i) returns[token]! += gamma ** (j - i) * rewards[later]!;
  }
  return returns;
}

function reinforceCases({ name, in: fields, out }: GoldenCase): Report | undefined {
  if (!name.startsWith("reinforce_plus_plus") || name.includes("baseline")) return undefined;
  const input = new Inputs(fields);
  const rows = input.rows();
  const rewards = input.matrix(input.has("rewards") ? "rewards" : "token_level_rewards");
  const gamma = input.number("gamma", 1);
  const ours = reinforcePlusPlus({ rows, rewards }, { gamma });
  if (name.includes("bug_repro"))
    return {
      problems: compareTokens("returns", ours.returns, out.returns_correct, rows),
      remark: "the corrected values",
    };
  if (!name.includes("BUGGY"))
    return {
      problems: [
        ...compareTokens("returns", ours.returns, out.returns, rows),
        ...compareTokens("adv", ours.advantages, out.adv, rows),
      ],
    };
  // The file has only the wrong values: compare with a plain computation of the right ones.
  const expected = plainReturns(rows, rewards, gamma);
  const whitened = whiten(expected, rows.mask);
  return {
    problems: [
      ...compareNumbers("returns", Array.from(ours.returns), Array.from(expected)),
      ...compareNumbers("adv", Array.from(ours.advantages), Array.from(whitened)),
    ],
    remark: "a bug of the reference, compared with the plain sums instead",
  };
}

function estimators({ name, in: fields, out }: GoldenCase): Report | undefined {
  if (!Object.hasOwn(advantageEstimators, name) || name === "gigpo" || name === "hgpo")
    return undefined;
  const input = new Inputs(fields);
  const rows = input.rows();
  const optional = (field: string) => (input.has(field) ? input.matrix(field) : undefined);
  const estimator = advantageEstimators[name as keyof typeof advantageEstimators];
  const rewards = input.has("rewards") ? "rewards" : "token_level_rewards";
  const perToken = /^gae|remax|token_baseline/.test(name); // these look at rewards under the mask only
  const ours: Advantages = estimator.estimate(
    {
      rows,
      rewards: perToken ? input.matrix(rewards) : input.outcomeRewards(rewards),
      groups: input.has("group") ? input.list("group") : undefined,
      values: optional("values"),
      baselines: input.has("reward_baselines") ? input.numbers("reward_baselines") : undefined,
      oldLogprobs: optional("old_log_probs"),
      squaredProbabilities: optional("sum_pi_squared"),
      importanceWeights: optional("rollout_is_weights"),
    },
    {
      gamma: input.number("gamma", 1),
      lambda: input.number("lam", 1),
      // verl's rloo keeps the score of a group of one, its rloo_vectorized does not; ours, neither.
      singleton: name === "rloo" ? "score" : undefined,
      divideByDeviation: input.boolean("norm_adv_by_std_in_grpo", true),
      normalizer: input.number("f_norm", 1),
      zeroTail: input.has("handle_zero_tail") ? input.boolean("handle_zero_tail", true) : undefined,
    },
  );
  return {
    problems: [
      ...compareTokens("adv", ours.advantages, out.adv ?? out.advantages_masked, rows),
      ...["returns", "returns_masked"].flatMap((field) =>
        out[field] ? compareTokens(field, ours.returns, out[field], rows) : [],
      ),
    ],
    ...(name === "rloo" ? { remark: 'with singleton "score"' } : {}),
  };
}
