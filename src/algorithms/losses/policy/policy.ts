/**
 * @file What all policy losses share: inputs, the importance weights of rollout and training, the way
 * from losses per token to one loss, and metrics.
 *
 *   loss = Σ_t w_t · ρ̄_t · L_t        w: aggregation.ts     ρ̄: importance weights, if any
 *
 * Metrics are this micro-batch's share of the mini-batch's (token-means.ts): they add up over
 * micro-batches and ranks, as the losses themselves.
 */
import { type Generator, type Tensor, tidy } from "../../../torch/index.ts";
import { checkRows, type Rows } from "../../rows.ts";
import { type AggregationInput, type AggregationMode, aggregate } from "../aggregation.ts";
import { maskedInput, type TokenValues } from "../packed.ts";
import { tokenMeans } from "../token-means.ts";

export interface PolicyLossInput extends AggregationInput {
  /** [tokens] Log-probabilities of the sampled tokens, with gradients. */
  logprobs: Tensor;
  /** [tokens] The same before the update. For a first update on fresh samples: logprobs.detach(). */
  oldLogprobs: TokenValues;
  /** [tokens] */
  advantages: TokenValues;
  /** [tokens] Weights between rollout and training: mismatch/weights.ts. */
  importanceWeights?: TokenValues | undefined;
  /** Is shown the losses of the tokens [tokens], weighted but not aggregated, and the values whose means are metrics. */
  onTokens?: ((losses: Tensor, values: Readonly<Record<string, Tensor>>) => void) | undefined;
}

export interface PolicyLossOptions {
  /** ε of the clip, both sides. Default 0.2. */
  clipRatio?: number | undefined;
  /** ε below; default clipRatio. */
  clipRatioLow?: number | undefined;
  /** ε above; default clipRatio. Larger than below is DAPO's clip-higher. */
  clipRatioHigh?: number | undefined;
  /** c of the dual clip, above 1. Default 3. */
  clipRatioC?: number | undefined;
  /** SAPO's temperature where the advantage is positive. Default 1. */
  tauPositive?: number | undefined;
  /** SAPO's temperature elsewhere. Default 1.05. */
  tauNegative?: number | undefined;
  /** Clip-Cov: share of tokens cut out. Default 2e-4. */
  clipCovRatio?: number | undefined;
  /** Clip-Cov: only covariances above this. Default 1. */
  clipCovLow?: number | undefined;
  /** Clip-Cov: only covariances below this. Default 5. */
  clipCovHigh?: number | undefined;
  /** KL-Cov: share of tokens held back. Default 2e-4. */
  klCovRatio?: number | undefined;
  /** KL-Cov: how strongly. Default 1. */
  klCovCoefficient?: number | undefined;
  /** Clip-Cov chooses at random. */
  generator?: Generator | undefined;
}

/** A loss's inputs, 0 under mask 0. */
export interface PolicyTerms {
  rows: Rows;
  /** [tokens] */
  logprobs: Tensor;
  /** [tokens] */
  advantages: Tensor;
  /** [tokens] logprobs − oldLogprobs: Δ, the logarithm of the ratio. */
  logRatio: Tensor;
}

export interface TokenLosses {
  /** [tokens] */
  losses: Tensor;
  /** Values per token whose means are metrics. */
  metrics: Record<string, Tensor>;
}

export interface PolicyLossKind {
  /** For one of one's own: what messages call it. */
  name?: string;
  /** Set where the paper fixes how tokens are put together; the input's aggregation is then ignored. */
  aggregation?: AggregationMode;
  /**
   * Whether a row whose advantages are all 0 has no loss, and no part in the loss of other rows: then it need
   * not be computed. Default false.
   */
  needsSignal?: boolean;
  tokenLosses(terms: PolicyTerms, options: PolicyLossOptions): TokenLosses;
  /** How importance weights enter. Default: each token's loss times its weight. */
  weigh?(losses: Tensor, weights: Tensor, rows: Rows): Tensor;
}

export interface LossAndMetrics {
  /** A scalar with gradients. */
  loss: Tensor;
  metrics: Record<string, number>;
}

export function computePolicyLoss(
  name: string,
  kind: PolicyLossKind,
  input: PolicyLossInput,
  options: PolicyLossOptions,
): LossAndMetrics {
  const { rows } = input;
  checkRows(name, rows);
  return tidy(() => {
    const logprobs = maskedInput(name, "the log-probability", input.logprobs, rows);
    const masked = (what: string, values: TokenValues) =>
      maskedInput(name, what, values, rows, logprobs).detach();
    const old = masked("the old log-probability", input.oldLogprobs);
    const advantages = masked("the advantage", input.advantages);
    const terms = { rows, logprobs, advantages, logRatio: logprobs.sub(old) };
    let { losses, metrics } = kind.tokenLosses(terms, options);
    if (input.importanceWeights) {
      const weights = masked("the importance weight", input.importanceWeights);
      losses = kind.weigh ? kind.weigh(losses, weights, rows) : losses.mul(weights);
    }
    input.onTokens?.(losses, metrics);
    const aggregation = kind.aggregation ?? input.aggregation;
    const loss = aggregate(losses, { ...input, aggregation });
    return { loss, metrics: { "actor/pg_loss": loss.item(), ...tokenMeans(metrics, input) } };
  });
}

/** The clip range of a loss. */
export function clipRange(options: PolicyLossOptions): { low: number; high: number } {
  const { clipRatio = 0.2, clipRatioLow = clipRatio, clipRatioHigh = clipRatio } = options;
  if (!(clipRatioLow >= 0 && clipRatioLow <= 1 && clipRatioHigh >= 0))
    throw new RangeError(
      `The clip range is ${clipRatioLow} below and ${clipRatioHigh} above; expected 0 to 1 below ` +
        "and 0 or more above (0.2 is usual).",
    );
  return { low: clipRatioLow, high: clipRatioHigh };
}
