/**
 * @file The registry of estimators by name, and the diagnostics.
 */
import { describe, expect, it } from "vitest";
import {
  advantageEstimator,
  advantageEstimators,
  batchMetrics,
  explainedVariance,
  groupMetrics,
  groupSizeMetrics,
  reduceMetrics,
  varianceProxyMetrics,
} from "../../src/algorithms/index.ts";
import { pack } from "./batches.ts";

describe("the registry", () => {
  it("knows its names", () => {
    expect(() => advantageEstimator("gropo")).toThrow(
      /Unknown advantage estimator gropo; expected one of gae, grpo/,
    );
    expect(() => advantageEstimator("toString")).toThrow(/Unknown/);
  });

  it.each([
    ["gae", "values"],
    ["grpo", "groups"],
    ["remax", "baselines"],
    ["optimal_token_baseline", "groups"],
    ["gigpo", "groups"],
  ] as const)("%s says when a batch has no %s", (name, field) => {
    const { rows, values } = pack([[1]]);
    expect(() => advantageEstimators[name].estimate({ rows, rewards: values })).toThrow(
      new RegExp(`${name} needs .*the batch has no ${field}`),
    );
    const once = { episodeStatistics: "trajectories" } as const;
    const batch = { rows, rewards: values, groups: [0] };
    expect(() => advantageEstimators.grpo.estimate(batch, once)).toThrow(/no trajectories/);
  });
});

describe("diagnostics", () => {
  const { rows, values } = pack([[1, null, 3], [2], [null]]);

  it("describe a batch by verl's names", () => {
    const metrics = batchMetrics({
      rows,
      scores: values,
      rewards: values,
      advantages: values,
      returns: values,
      values: Float64Array.from([1, 0, 2, 3, 0]),
      responseLengths: [3, 1, 0],
      maximumResponseLength: 3,
      promptLengths: [2, 4, 4],
      maximumPromptLength: 4,
      turns: [2, 3],
      toolCalls: [0],
    });
    expect(metrics).toMatchObject({
      "critic/score/mean": 3,
      "critic/rewards/max": 4,
      "critic/rewards/min": 2,
      "critic/advantages/mean": 2,
      "critic/returns/max": 3,
      "critic/values/min": 1,
      "critic/vf_explained_var": expect.closeTo(1 - 1 / 1, 4),
      "response_length/mean": 4 / 3,
      "response_length/clip_ratio": 1 / 3,
      "response_length_non_aborted/min": 1,
      "response/aborted_ratio": expect.closeTo(1 / 3, 12),
      "prompt_length/clip_ratio": 2 / 3,
      "num_turns/max": 3,
      "tool_call_counts/mean": 0,
    });
    expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
    expect(batchMetrics({ rows: pack([[null]]).rows, scores: new Float64Array(1) })).toEqual({});
  });

  it("explained variance is 1 for a critic that knows, 0 for one that says the mean", () => {
    const returns = [1, 5, 3];
    const name = "critic/vf_explained_var";
    expect(explainedVariance(returns, returns)[name]).toBe(1);
    expect(explainedVariance(returns, [3, 3, 3])[name]).toBeCloseTo(0, 4);
    expect(explainedVariance([1], [1])).toEqual({});
  });

  it("describe groups", () => {
    const scores = Float64Array.from([1, 1, 0, 2, 5]);
    expect(groupMetrics(scores, ["a", "a", "b", "b", "c"])).toEqual({
      reward_std: expect.closeTo(Math.SQRT2 / 3, 12),
      frac_reward_zero_std: 2 / 3,
      "group/size/mean": expect.closeTo(5 / 3, 12),
      "group/size/max": 2,
      "group/size/min": 1,
      "group/singleton_fraction": 1 / 3,
    });
    expect(groupSizeMetrics("step_group", [])).toEqual({});
  });

  it("the variance proxy is power minus signal", () => {
    const input = {
      rows,
      advantages: Float64Array.from([2, 9, 2, 1, 9]),
      oldLogprobs: new Float64Array(5).fill(Math.log(0.5)),
      squaredProbabilities: new Float64Array(5).fill(0.5),
    };
    const metrics = varianceProxyMetrics({ ...input, gradientNorm: 0.5 });
    // W is 0.5 per trained token: 1 and 0.5; A² is 4 and 1.
    expect(metrics).toEqual({
      "variance_proxy/proxy1_signal_strength": 0.25,
      "variance_proxy/proxy2_total_power": expect.closeTo((4 * 1 + 1 * 0.5) / 2, 12),
      "variance_proxy/proxy3_pure_noise": expect.closeTo(2.25 - 0.25, 12),
      "variance_proxy/expected_a_squared": expect.closeTo(2.5, 12),
      "variance_proxy/expected_w": expect.closeTo(0.75, 12),
    });
    const twice = { ...input, importanceWeights: new Float64Array(5).fill(2) };
    const weighted = varianceProxyMetrics(twice);
    expect(weighted["variance_proxy/proxy2_total_power"]).toBeCloseTo(4 * 2.25, 12);
    expect(weighted["variance_proxy/expected_w"]).toBeCloseTo(4 * 0.75, 12);
    expect(weighted).not.toHaveProperty(["variance_proxy/proxy3_pure_noise"]);
  });

  it("are reduced by their names", () => {
    expect(
      reduceMetrics([{ "a/max": 1, "b/min": 4, c: 1 }, { "a/max": 3, "b/min": 2, c: 2 }, { c: 6 }]),
    ).toEqual({ "a/max": 3, "b/min": 2, c: 3 });
  });
});
