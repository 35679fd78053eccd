/**
 * @file The fused operators' twins, written with libtorch's own operators: for devices where the
 * fused ones do not run, for second derivatives, and for the tests that compare the two.
 */
import { noGrad } from "./autograd.ts";
import { arange } from "./creation.ts";
import { cat } from "./functions.ts";
import type {
  AdamWStep,
  AttentionOptions,
  FeedForwardWeights,
  LinearOptions,
  TokenLogprob,
  TokenLogprobOptions,
} from "./fused.ts";
import { tidy } from "./lifetime.ts";
import type { Tensor } from "./tensor/tensor.ts";

/** Short floats are computed in float32, as the fused operators do. */
function widen(x: Tensor): Tensor {
  return x.dtype === "bfloat16" || x.dtype === "float16" ? x.to("float32") : x;
}

export function rmsNorm(x: Tensor, weight: Tensor, epsilon: number): Tensor {
  const wide = widen(x);
  const normalised = wide.mul(wide.square().mean(-1, true).add(epsilon).rsqrt());
  return weight.mul(normalised.to(x.dtype)).to(x.dtype);
}

export function linear(x: Tensor, weight: Tensor, options: LinearOptions = {}): Tensor {
  const product = x.linear(weight, options.bias);
  return options.residual ? options.residual.add(product) : product;
}

export function rotary(x: Tensor, cos: Tensor, sin: Tensor): Tensor {
  const wide = widen(x);
  const [first, second] = wide.chunk(2, -1) as [Tensor, Tensor];
  const turned = cat([second.neg(), first], -1);
  const overHeads = (angles: Tensor) => cat([angles, angles], -1).unsqueeze(1).to(wide.dtype);
  return wide
    .mul(overHeads(cos))
    .add(turned.mul(overHeads(sin)))
    .to(x.dtype);
}

export function swiglu(gate: Tensor, up: Tensor): Tensor {
  return gate.silu().mul(up);
}

export function swigluJoined(gateUp: Tensor): Tensor {
  const half = gateUp.size(-1) / 2;
  const [gate, up] = gateUp.split([half, half], -1);
  return swiglu(gate!, up!);
}

export function feedForward(x: Tensor, weights: FeedForwardWeights, epsilon: number): Tensor {
  const joined = linear(rmsNorm(x, weights.norm, epsilon), weights.gateUp);
  return linear(swigluJoined(joined), weights.down, { residual: x });
}

export function attention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  cumulativeLengths: Tensor,
  options: AttentionOptions = {},
): Tensor {
  const boundaries = Array.from(cumulativeLengths.toNumbers());
  const sequences = boundaries
    .slice(1)
    .map((end, i) => ({ start: boundaries[i]!, length: end - boundaries[i]! }))
    .filter(({ length }) => length > 0);
  if (sequences.length === 0) return query.clone();
  const scale = options.scale ?? 1 / Math.sqrt(query.size(-1));
  if (options.parents)
    return attendTrees(query, key, value, boundaries, options.parents, scale, options.window);
  const sameLength = sequences.every(({ length }) => length === sequences[0]!.length);
  // Sequences of one length are a batch; others are taken one by one.
  const batches = sameLength
    ? [{ start: 0, length: query.size(0), count: sequences.length }]
    : sequences.map((sequence) => ({ ...sequence, count: 1 }));
  const outputs = batches.map(({ start, length, count }) => {
    const part = (x: Tensor) =>
      x.narrow(0, start, length).reshape([count, length / count, ...x.shape.slice(1)]);
    return attendBatch(part(query), part(key), part(value), scale, options.window);
  });
  return outputs.length === 1 ? outputs[0]! : cat(outputs, 0);
}

/** Each run by itself, with the keys and values of all that it goes on from before its own. */
function attendTrees(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  boundaries: readonly number[],
  parents: Tensor,
  scale: number,
  window: number | undefined,
): Tensor {
  const from = parents.toNumbers();
  const outputs: Tensor[] = [];
  for (let run = 0; run < boundaries.length - 1; run++) {
    const path: number[] = [];
    for (let at = run; at >= 0; at = from[at]!) path.unshift(at);
    const part = (x: Tensor, at: number) =>
      x.narrow(0, boundaries[at]!, boundaries[at + 1]! - boundaries[at]!);
    const whole = (x: Tensor) => cat(path.map((at) => part(x, at))).unsqueeze(0);
    const own = part(query, run).unsqueeze(0);
    if (own.size(1) > 0) outputs.push(attendBatch(own, whole(key), whole(value), scale, window));
  }
  return cat(outputs);
}

/**
 * query is [batch, tokens, heads, head_dim], the last tokens of those of the keys; the result
 * [batch · tokens, heads, head_dim].
 */
function attendBatch(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  scale: number,
  window: number | undefined,
): Tensor {
  const [, tokens, heads, headDim] = query.shape as [number, number, number, number];
  const keys = key.size(1);
  const groupSize = heads / key.size(2);
  const q = widen(query).transpose(1, 2);
  const k = widen(key).transpose(1, 2).repeatInterleave(groupSize, 1);
  const v = widen(value).transpose(1, 2).repeatInterleave(groupSize, 1);
  const positions = arange(0, keys, 1, { device: query.device });
  const distance = positions
    .narrow(0, keys - tokens, tokens)
    .unsqueeze(1)
    .sub(positions.unsqueeze(0));
  let hidden = distance.lt(0);
  if (window !== undefined) hidden = hidden.logicalOr(distance.ge(window));
  const scores = q.matmul(k.transpose(2, 3)).mul(scale).maskedFill(hidden, -Infinity);
  const output = scores.softmax(-1).matmul(v); // [batch, heads, tokens, head_dim]
  return output.transpose(1, 2).reshape([-1, heads, headDim]).to(query.dtype);
}

export function tokenLogprob(
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  options: TokenLogprobOptions = {},
): TokenLogprob {
  const logits = widen(hidden)
    .linear(widen(weight))
    .div(options.temperature ?? 1);
  const logprobs = logits.logSoftmax(-1); // [tokens, vocab]
  const logprob = logprobs.gather(1, targets.unsqueeze(1)).squeeze(1);
  if (options.entropy === false) return { logprob, entropy: null };
  return { logprob, entropy: logprobs.exp().mul(logprobs).sum(-1).neg() };
}

export function adamwStep(
  parameters: readonly Tensor[],
  gradients: readonly Tensor[],
  firstMoments: readonly Tensor[],
  secondMoments: readonly Tensor[],
  { lr, beta1, beta2, epsilon, weightDecay, step, gradientScale = 1 }: AdamWStep,
): void {
  const stepSize = lr / (1 - beta1 ** step);
  const correction = Math.sqrt(1 - beta2 ** step);
  noGrad(() => {
    for (const [i, parameter] of parameters.entries())
      tidy(() => {
        const first = firstMoments[i]!;
        const second = secondMoments[i]!;
        const gradient = gradients[i]!.to(first.dtype).mul(gradientScale);
        first.lerp_(gradient, 1 - beta1);
        second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
        const denominator = second.sqrt().div_(correction).add_(epsilon);
        const update = (values: Tensor) =>
          values.mul_(1 - lr * weightDecay).addcdiv_(first, denominator, -stepSize);
        if (parameter.dtype === first.dtype) update(parameter);
        else parameter.copy_(update(parameter.to(first.dtype)));
      });
  });
}
