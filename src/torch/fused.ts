/**
 * @file The hot paths of training as operators of our own (native/fused), each with its own
 * backward: less memory and several times less time than the same in libtorch's operators.
 *
 * They run on the CPU. Elsewhere these functions take their twins from stock.ts, and what would need much memory
 * there from devices/, so that callers need not know the difference. float32, float64, bfloat16 and float16 come in; short floats are summed in
 * float32. First derivatives only: for second ones use the twins.
 */
import { attentionElsewhere } from "./devices/attention.ts";
import { adamwStepElsewhere, chunkedLogprob } from "./devices/chunked.ts";
import * as stock from "./stock.ts";
import {
  invoke,
  invoke1,
  invoke2,
  invoke3,
  invokeInPlace,
  invokeMany,
  openmanus,
} from "./tensor/invoke.ts";
import type { Tensor } from "./tensor/tensor.ts";

export { stock };

const op = {
  rmsNorm: openmanus("rms_norm"),
  linear: openmanus("linear"),
  rotary: openmanus("rotary"),
  swiglu: openmanus("swiglu"),
  swigluJoined: openmanus("swiglu_joined"),
  feedForward: openmanus("feed_forward"),
  attention: openmanus("attention"),
  tokenLogprob: openmanus("token_logprob"),
  adamwStep: openmanus("adamw_"),
};

function onCpu(x: Tensor): boolean {
  return x.device === "cpu";
}

/**
 * x / √(mean(x²) + epsilon) · weight over the last dimension. In bfloat16 the normalised values are
 * rounded before the weight multiplies them, as Hugging Face's models do.
 */
export function rmsNorm(x: Tensor, weight: Tensor, epsilon: number): Tensor {
  if (!onCpu(x)) return stock.rmsNorm(x, weight, epsilon);
  return invoke3(op.rmsNorm, x.handle, weight.handle, epsilon);
}

export interface LinearOptions {
  /** [out] */
  bias?: Tensor | null;
  /** Added to the result, [rows, out]. */
  residual?: Tensor | null;
}

/**
 * x [rows, in] through a matrix [out, in]. Many rows in float32 or float64 are shared out to the threads,
 * the same parts whatever their number; everything else is libtorch's own product.
 */
export function linear(x: Tensor, weight: Tensor, options: LinearOptions = {}): Tensor {
  if (!onCpu(x)) return stock.linear(x, weight, options);
  const { bias, residual } = options;
  return invoke(op.linear, x.handle, weight.handle, bias?.handle ?? null, residual?.handle ?? null);
}

/**
 * Rotary position embedding, Hugging Face's layout: the two halves (a, b) of a head become
 * (a cos − b sin, b cos + a sin). x is [tokens, heads, head_dim], cos and sin float32
 * [tokens, head_dim / 2], without gradients.
 */
export function rotary(x: Tensor, cos: Tensor, sin: Tensor): Tensor {
  if (!onCpu(x)) return stock.rotary(x, cos, sin);
  return invoke3(op.rotary, x.handle, cos.handle, sin.handle);
}

/** silu(gate) · up; the two may be halves of one matrix product. */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  if (!onCpu(gate)) return stock.swiglu(gate, up);
  return invoke2(op.swiglu, gate.handle, up.handle);
}

/** swiglu of one tensor whose last dimension is gate and up, one after the other. */
export function swigluJoined(gateUp: Tensor): Tensor {
  if (!onCpu(gateUp)) return stock.swigluJoined(gateUp);
  return invoke1(op.swigluJoined, gateUp.handle);
}

/** The weights of a feed-forward block: norm [hidden], gateUp [2 features, hidden], down [hidden, features]. */
export interface FeedForwardWeights {
  norm: Tensor;
  gateUp: Tensor;
  down: Tensor;
}

/**
 * x + down(silu(gate) · up) of rmsNorm(x), x [rows, hidden]. Many rows in float32 or float64 go through
 * small weights block by block, and what is between the products never leaves the caches; everything else
 * is the three operators it stands for, one after the other.
 */
export function feedForward(x: Tensor, weights: FeedForwardWeights, epsilon: number): Tensor {
  if (!onCpu(x)) return stock.feedForward(x, weights, epsilon);
  const { norm, gateUp, down } = weights;
  return invoke(op.feedForward, x.handle, norm.handle, gateUp.handle, down.handle, epsilon);
}

export interface AttentionOptions {
  /** What scores are multiplied by; default 1 / √head_dim. */
  scale?: number;
  /** How many keys a query sees at most, itself included; default: all before it. */
  window?: number;
  /**
   * int64 or int32 [runs]: a run with a parent goes on where that one ends, and sees all that it sees; several
   * may go on from the same one. -1: it begins a sequence. Behind a run come all that go on from it. On the host.
   */
  parents?: Tensor;
}

/**
 * Causal attention over packed sequences; scores are never materialised. query is
 * [tokens, heads, head_dim], key and value [tokens, kv_heads, head_dim] where kv_heads divides heads;
 * all three may be views of one tensor. Run r has the tokens from cumulativeLengths[r] up to
 * cumulativeLengths[r + 1]: int64 or int32 [runs + 1], from 0 to tokens, always on the host. Without `parents`
 * each is a sequence.
 */
export function attention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  cumulativeLengths: Tensor,
  options: AttentionOptions = {},
): Tensor {
  if (!onCpu(query)) return attentionElsewhere(query, key, value, cumulativeLengths, options);
  return invoke(
    op.attention,
    query.handle,
    key.handle,
    value.handle,
    cumulativeLengths.handle,
    options.scale ?? 1 / Math.sqrt(query.size(-1)),
    options.window ?? -1,
    options.parents?.handle ?? null,
  );
}

export interface TokenLogprobOptions {
  /** Logits are divided by it; default 1. */
  temperature?: number;
  /** Whether the entropy is wanted; default true. */
  entropy?: boolean;
}

/** Both float32 [tokens] (float64 for float64). */
export interface TokenLogprob {
  logprob: Tensor;
  /** Of the whole distribution at each token; null if it was not wanted. */
  entropy: Tensor | null;
}

/**
 * Log-probabilities of the targets (int64 [tokens]) and entropies, from hidden states
 * [tokens, hidden] and the output matrix [vocab, hidden], with at most 64 MB of scratch at any size. The
 * [tokens, vocab] logits are kept for backward if they take less than 192 MB; else they never exist as a
 * whole, and backward computes them again.
 */
export function tokenLogprob(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  options?: TokenLogprobOptions & { entropy?: true },
): { logprob: Tensor; entropy: Tensor };
export function tokenLogprob(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  options: TokenLogprobOptions,
): TokenLogprob;
export function tokenLogprob(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  options: TokenLogprobOptions = {},
): TokenLogprob {
  if (!onCpu(hidden)) return chunkedLogprob(hidden, weight, targets, options);
  const { temperature = 1, entropy = true } = options;
  const [first, second] = invokeMany(
    op.tokenLogprob,
    hidden.handle,
    weight.handle,
    targets.handle,
    temperature,
    entropy,
  );
  if (entropy) return { logprob: first!, entropy: second! };
  second!.dispose(); // empty
  return { logprob: first!, entropy: null };
}

export interface AdamWStep {
  lr: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** Counts from 1. */
  step: number;
  /** Multiplies the gradients: clipping without a pass of its own. Default 1. */
  gradientScale?: number;
}

/**
 * One step of AdamW over many tensors, in place. Moments are float32 (float64 for float64
 * parameters) and as long as the parameters.
 */
export function adamwStep(
  parameters: readonly Tensor[],
  gradients: readonly Tensor[],
  firstMoments: readonly Tensor[],
  secondMoments: readonly Tensor[],
  options: AdamWStep,
): void {
  const lists = [parameters, gradients, firstMoments, secondMoments];
  if (lists.every((tensors) => tensors.length === 0)) return; // libtorch could not tell the device
  if (!parameters.every(onCpu)) {
    adamwStepElsewhere(parameters, gradients, firstMoments, secondMoments, options);
    return;
  }
  invokeInPlace(
    op.adamwStep,
    ...lists.map((tensors) => tensors.map((tensor) => tensor.handle)),
    options.lr,
    options.beta1,
    options.beta2,
    options.epsilon,
    options.weightDecay,
    options.step,
    options.gradientScale ?? 1,
  );
}
