/**
 * @file The gradient's signal and noise, without a second backward pass.
 *
 *   W_i = Σ_t (1 − 2π_t + Σ_v π_v²)         (×ρ̄_t² with importance weights)      A_i = mean_t A
 *   proxy1_signal_strength  ‖mean gradient‖², from the gradient's norm
 *   proxy2_total_power      mean A²·W       (×mean_t(ρ̄)² and W without ρ̄² with importance weights)
 *   proxy3_pure_noise       (proxy2 − proxy1) / (N − 1), at least 0
 *   expected_a_squared      mean A²          expected_w  mean W
 *
 * N: rows with trained tokens. proxy1 and proxy3 are left out when the norm is not known.
 *
 * Source: verl compute_variance_proxy_metrics.
 */
import { checkTokens, type Numbers, type Rows, trainedTokens } from "../rows.ts";
import { moments } from "../statistics.ts";

export interface VarianceProxyInput {
  rows: Rows;
  /** [tokens] */
  advantages: Numbers;
  /** [tokens] */
  oldLogprobs: Numbers;
  /** [tokens] See `sumOfSquaredProbabilities`. */
  squaredProbabilities: Numbers;
  /** [tokens] */
  importanceWeights?: Numbers | undefined;
  /** Before clipping: actor/grad_norm. */
  gradientNorm?: number | undefined;
}

export function varianceProxyMetrics(input: VarianceProxyInput): Record<string, number> {
  const { rows, advantages, oldLogprobs, squaredProbabilities, importanceWeights } = input;
  const who = "varianceProxyMetrics";
  checkTokens(who, "the advantage", advantages, rows);
  checkTokens(who, "the log-probability", oldLogprobs, rows);
  checkTokens(who, "the sum of squared probabilities", squaredProbabilities, rows);
  if (importanceWeights) checkTokens(who, "the importance weight", importanceWeights, rows);
  const lengths = trainedTokens(rows);
  const squares: number[] = [];
  const energies: number[] = [];
  const powers: number[] = [];
  for (let row = 0; row < lengths.length; row++) {
    const length = lengths[row]!;
    if (length === 0) continue;
    let advantage = 0;
    let plain = 0;
    let energy = 0;
    let weightSum = 0;
    for (let token = rows.offsets[row]!; token < rows.offsets[row + 1]!; token++) {
      if (rows.mask[token] !== 1) continue;
      const norm = 1 - 2 * Math.exp(oldLogprobs[token]!) + squaredProbabilities[token]!;
      const weight = importanceWeights ? importanceWeights[token]! : 1;
      advantage += advantages[token]! / length;
      weightSum += weight;
      plain += norm;
      energy += norm * weight ** 2;
    }
    squares.push(advantage ** 2);
    energies.push(energy);
    powers.push((weightSum / length) ** 2 * advantage ** 2 * Math.max(0, plain));
  }
  if (squares.length === 0) return {};
  const power = moments(powers).mean;
  const metrics: Record<string, number> = {
    "variance_proxy/proxy2_total_power": power,
    "variance_proxy/expected_a_squared": moments(squares).mean,
    "variance_proxy/expected_w": moments(energies).mean,
  };
  if (input.gradientNorm !== undefined) {
    const signal = input.gradientNorm ** 2;
    metrics["variance_proxy/proxy1_signal_strength"] = signal;
    if (squares.length > 1)
      metrics["variance_proxy/proxy3_pure_noise"] =
        Math.max(0, power - signal) / (squares.length - 1);
  }
  return metrics;
}
