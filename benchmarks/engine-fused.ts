/**
 * @file The fused operators and their stock twins at the size of a small model's training step: 16
 * sequences of 512 tokens, hidden 256, 8 heads, 4 key/value heads, vocabulary 4096.
 */
import * as torch from "../src/torch/index.ts";

const SEQUENCES = 16;
const LENGTH = 512;
const TOKENS = SEQUENCES * LENGTH;
const HIDDEN = 256;
const HEADS = 8;
const KEY_VALUE_HEADS = 4;
const HEAD = HIDDEN / HEADS;
const INTERMEDIATE = 704;
const VOCABULARY = 4096;

export interface FusedCase {
  name: string;
  /** Forward and backward, everything freed. */
  fused: () => void;
  stock: () => void;
}

/** Forward, backward with a given gradient, gradients forgotten. */
function pass(inputs: readonly torch.Tensor[], forward: () => torch.Tensor[]): void {
  torch.tidy(() => {
    const outputs = forward();
    torch.backward(outputs, {
      gradients: outputs.map((output) => torch.onesLike(output.detach())),
    });
    for (const input of inputs) input.grad = null;
  });
}

export function fusedCases(): FusedCase[] {
  const generator = new torch.Generator(1);
  const leaf = (shape: number[]) => torch.randn(shape, generator, { requiresGrad: true });
  return [
    attention(leaf),
    feedForward(leaf),
    tokenLogprob(leaf, generator),
    small(leaf, generator),
    adamw(generator),
  ];
}

type Leaf = (shape: number[]) => torch.Tensor;

/** The twin everyone writes: one batch of full score matrices. */
function batchedAttention(
  query: torch.Tensor,
  key: torch.Tensor,
  value: torch.Tensor,
  mask: torch.Tensor,
) {
  const batch = (x: torch.Tensor, heads: number) =>
    x.view([SEQUENCES, LENGTH, heads, HEAD]).transpose(1, 2);
  const group = HEADS / KEY_VALUE_HEADS;
  const repeated = (x: torch.Tensor) => batch(x, KEY_VALUE_HEADS).repeatInterleave(group, 1);
  const scores = batch(query, HEADS)
    .matmul(repeated(key).transpose(2, 3))
    .mul(HEAD ** -0.5);
  return scores.add(mask).softmax(-1).matmul(repeated(value)).transpose(1, 2);
}

function attention(leaf: Leaf): FusedCase {
  const query = leaf([TOKENS, HEADS, HEAD]);
  const key = leaf([TOKENS, KEY_VALUE_HEADS, HEAD]);
  const value = leaf([TOKENS, KEY_VALUE_HEADS, HEAD]);
  const cumulative = torch.arange(0, TOKENS + 1, LENGTH);
  const mask = torch.full([LENGTH, LENGTH], Number.NEGATIVE_INFINITY).triu(1);
  const inputs = [query, key, value];
  return {
    name: "attention",
    fused: () => pass(inputs, () => [torch.attention(query, key, value, cumulative)]),
    stock: () => pass(inputs, () => [batchedAttention(query, key, value, mask)]),
  };
}

function feedForward(leaf: Leaf): FusedCase {
  const x = leaf([TOKENS, HIDDEN]);
  const weights = {
    norm: leaf([HIDDEN]),
    gateUp: leaf([2 * INTERMEDIATE, HIDDEN]),
    down: leaf([HIDDEN, INTERMEDIATE]),
  };
  const run = (room: Pick<typeof torch, "feedForward">) => () =>
    pass([x, ...Object.values(weights)], () => [room.feedForward(x, weights, 1e-6)]);
  return { name: "feed-forward block", fused: run(torch), stock: run(torch.stock) };
}

function tokenLogprob(leaf: Leaf, generator: torch.Generator): FusedCase {
  const hidden = leaf([TOKENS, HIDDEN]);
  const weight = leaf([VOCABULARY, HIDDEN]);
  const targets = torch.randint(0, VOCABULARY, [TOKENS], generator);
  const stock = () => {
    const logprobs = hidden.linear(weight).logSoftmax(-1);
    const chosen = logprobs.gather(1, targets.unsqueeze(1)).squeeze(1);
    return [chosen, logprobs.exp().mul(logprobs).sum(-1).neg()];
  };
  const fused = () => {
    const { logprob, entropy } = torch.tokenLogprob(hidden, weight, targets);
    return [logprob, entropy];
  };
  return {
    name: "log-probability + entropy",
    fused: () => pass([hidden, weight], fused),
    stock: () => pass([hidden, weight], stock),
  };
}

function small(leaf: Leaf, generator: torch.Generator): FusedCase {
  const x = leaf([TOKENS, HIDDEN]);
  const weight = leaf([HIDDEN]);
  const queries = leaf([TOKENS, HEADS, HEAD]);
  const keys = leaf([TOKENS, KEY_VALUE_HEADS, HEAD]);
  const angles = torch.rand([TOKENS, HEAD / 2], generator);
  const [cos, sin] = [angles.cos(), angles.sin()];
  const gate = leaf([TOKENS, INTERMEDIATE]);
  const up = leaf([TOKENS, INTERMEDIATE]);
  const inputs = [x, weight, queries, keys, gate, up];
  const run = (room: Pick<typeof torch, "rmsNorm" | "rotary" | "swiglu">) => () =>
    pass(inputs, () => [
      room.rmsNorm(x, weight, 1e-6),
      room.rotary(queries, cos, sin),
      room.rotary(keys, cos, sin),
      room.swiglu(gate, up),
    ]);
  return { name: "RMSNorm + rotary + SwiGLU", fused: run(torch), stock: run(torch.stock) };
}

/** Over the tensors of the small model: 6 layers, 5.5 million numbers. */
function adamw(generator: torch.Generator): FusedCase {
  const shapes = Array.from({ length: 6 }, () => [
    [512, HIDDEN],
    [HIDDEN, HIDDEN],
    [2 * INTERMEDIATE, HIDDEN],
    [HIDDEN, INTERMEDIATE],
    [HIDDEN],
    [HIDDEN],
  ]).flat();
  const all = () => [[VOCABULARY, HIDDEN], ...shapes].map((shape) => torch.randn(shape, generator));
  const [parameters, gradients] = [all(), all()];
  const moments = () => parameters.map((parameter) => torch.zerosLike(parameter));
  const [first, second] = [moments(), moments()];
  const options = {
    lr: 1e-4,
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    weightDecay: 0.01,
    step: 10,
  };
  const run = (room: Pick<typeof torch, "adamwStep">) => () =>
    torch.tidy(() => room.adamwStep(parameters, gradients, first, second, options));
  return { name: "AdamW (5.5 M numbers)", fused: run(torch), stock: run(torch.stock) };
}
