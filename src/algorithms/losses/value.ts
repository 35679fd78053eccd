/**
 * @file The critic's loss, with clipping around the values before the update.
 *
 *   L = ½·max( (v − R)², (clip(v, V − ε, V + ε) − R)² )       ε 0.5
 *
 * Source: Schulman et al. 2017 (as in OpenAI's baselines); verl compute_value_loss.
 */
import { type Tensor, tidy, where } from "../../torch/index.ts";
import { checkRows } from "../rows.ts";
import { type AggregationInput, aggregate } from "./aggregation.ts";
import { maskedInput, type TokenValues } from "./packed.ts";
import type { LossAndMetrics } from "./policy/policy.ts";
import { tokenMeans } from "./token-means.ts";

export interface ValueLossInput extends AggregationInput {
  /** [tokens] The critic's values, with gradients. */
  values: Tensor;
  /** [tokens] The same before the update. */
  oldValues: TokenValues;
  /** [tokens] */
  returns: TokenValues;
}

export interface ValueLossOptions {
  /** ε; Infinity does not clip. Default 0.5. */
  clipRange?: number | undefined;
}

export function valueLoss(input: ValueLossInput, options: ValueLossOptions = {}): LossAndMetrics {
  const { rows } = input;
  const { clipRange = 0.5 } = options;
  if (!(clipRange >= 0))
    throw new RangeError(`valueLoss: the clip range is ${clipRange}, expected 0 or more`);
  checkRows("valueLoss", rows);
  return tidy(() => {
    const values = maskedInput("valueLoss", "the value", input.values, rows);
    const old = maskedInput("valueLoss", "the old value", input.oldValues, rows, values).detach();
    const returns = maskedInput("valueLoss", "the return", input.returns, rows, values).detach();
    const clippedValues = Number.isFinite(clipRange)
      ? values.clampTensor(old.sub(clipRange), old.add(clipRange))
      : values;
    const unclipped = values.sub(returns).square();
    const clipped = clippedValues.sub(returns).square();
    // Not `maximum`, which shares the gradient where both are equal: exactly at a bound the clamp's
    // own gradient there depends on libtorch's version.
    const larger = where(clipped.gt(unclipped), clipped, unclipped);
    const loss = aggregate(larger.mul(0.5), input);
    return {
      loss,
      metrics: {
        "critic/vf_loss": loss.item(),
        ...tokenMeans(
          { "critic/vf_clipfrac": clipped.gt(unclipped), "critic/vpred_mean": values },
          input,
        ),
      },
    };
  });
}
