/**
 * @file Log-probabilities and entropies from hidden states, against the twin and differences.
 */
import { describe, expect, it } from "vitest";
import {
  type Dtype,
  grad,
  noGrad,
  randint,
  stock,
  type Tensor,
  tensor,
  tidy,
  tokenLogprob,
  zeros,
} from "../../src/torch/index.ts";
import {
  expectDeterministic,
  expectNumericalGradients,
  expectTwins,
  type Operation,
  Samples,
} from "./support/twins.ts";

interface Setting {
  tokens: number;
  hidden: number;
  vocab: number;
  temperature?: number;
  /** Of the hidden states; keeps logits in the range of a model's. */
  scale?: number;
}

function operations(
  targets: Tensor,
  options: { temperature?: number; entropy?: boolean } = {},
): [Operation, Operation] {
  const results = ({ logprob, entropy }: { logprob: Tensor; entropy: Tensor | null }) =>
    entropy === null ? [logprob] : [logprob, entropy];
  return [
    ([h, w]) => results(tokenLogprob(h!, w!, targets, options)),
    ([h, w]) => results(stock.tokenLogprob(h!, w!, targets, options)),
  ];
}

function targetsOf({ tokens, vocab }: Setting, samples: Samples): Tensor {
  return randint(0, vocab, [tokens], samples.generator);
}

function compare(
  setting: Setting,
  dtypes: [Dtype, Dtype],
  tolerance: { forward: number; backward: number },
  entropy = true,
): void {
  tidy(() => {
    const samples = new Samples();
    const { tokens, hidden, vocab, scale = 1 / Math.sqrt(setting.hidden) } = setting;
    const inputs = [
      samples.leaf([tokens, hidden], dtypes[0], scale),
      samples.leaf([vocab, hidden], dtypes[1]),
    ];
    const options = { temperature: setting.temperature ?? 1, entropy };
    expectTwins(...operations(targetsOf(setting, samples), options), inputs, tolerance);
  });
}

const SETTINGS: Setting[] = [
  { tokens: 1, hidden: 1, vocab: 2 },
  { tokens: 7, hidden: 5, vocab: 11, temperature: 0.7 },
  // Just more than a block of tokens and of words, and hidden sizes that are no whole vectors.
  { tokens: 130, hidden: 77, vocab: 1000 },
  { tokens: 300, hidden: 300, vocab: 517, temperature: 1.3 },
  // Several chunks of tokens, and of words.
  { tokens: 1100, hidden: 32, vocab: 300 },
  { tokens: 20, hidden: 64, vocab: 9000, temperature: 0.9 },
];
const titled = SETTINGS.map((setting) => ({
  setting,
  title: `${setting.tokens} × ${setting.hidden} × ${setting.vocab}`,
}));

describe("agrees with the twin", () => {
  it.each(titled)("float32 $title", ({ setting }) => {
    compare(setting, ["float32", "float32"], { forward: 2e-6, backward: 1e-5 });
  });

  it.each(titled)("float64 $title", ({ setting }) => {
    compare(setting, ["float64", "float64"], { forward: 1e-13, backward: 1e-12 });
  });

  it.each(titled)("without the entropy $title", ({ setting }) => {
    compare(setting, ["float32", "float32"], { forward: 2e-6, backward: 1e-5 }, false);
  });

  it.each<[Dtype, Dtype]>([
    ["bfloat16", "bfloat16"],
    ["bfloat16", "float32"],
    ["float32", "bfloat16"],
  ])("hidden %s, weight %s", (hidden, weight) => {
    for (const setting of SETTINGS.slice(2, 5))
      compare(setting, [hidden, weight], { forward: 1e-5, backward: 2e-3 });
  });

  it("logits that are too large to be kept for backward", () => {
    const setting = { tokens: 1300, hidden: 8, vocab: 40_000, temperature: 1.1 };
    compare(setting, ["float32", "float32"], { forward: 2e-6, backward: 1e-5 }, false);
  });

  it("bfloat16 gradients that are summed in several rounds", () => {
    const setting = { tokens: 9000, hidden: 1024, vocab: 140 };
    compare(setting, ["bfloat16", "bfloat16"], { forward: 1e-5, backward: 5e-3 });
  });
});

it("gradients are those of numerical differences", () => {
  tidy(() => {
    const samples = new Samples(2);
    const setting = { tokens: 6, hidden: 5, vocab: 9 };
    const inputs = [samples.leaf([6, 5], "float64"), samples.leaf([9, 5], "float64")];
    const targets = targetsOf(setting, samples);
    expectNumericalGradients(operations(targets, { temperature: 0.8 })[0], inputs);
  });
});

it("is deterministic, whatever the number of threads", () => {
  tidy(() => {
    const samples = new Samples(3);
    const setting = { tokens: 300, hidden: 48, vocab: 3000 };
    const inputs = [samples.leaf([300, 48], "float32", 0.2), samples.leaf([3000, 48])];
    expectDeterministic(operations(targetsOf(setting, samples))[0], inputs);
  });
});

it("a token's numbers do not depend on the others", () => {
  tidy(() => {
    const samples = new Samples(4);
    const [h, w] = [samples.values([300, 40], "float32", 0.3), samples.values([2500, 40])];
    const targets = targetsOf({ tokens: 300, hidden: 40, vocab: 2500 }, samples);
    const all = tokenLogprob(h, w, targets);
    for (const at of [0, 17, 128, 299]) {
      const one = tokenLogprob(h.narrow(0, at, 1), w, targets.narrow(0, at, 1));
      expect(one.logprob.item()).toBe(all.logprob.select(0, at).item());
      expect(one.entropy.item()).toBe(all.entropy.select(0, at).item());
    }
  });
});

it("gives gradients only to what wants them, and for what they are asked", () => {
  tidy(() => {
    const samples = new Samples(5);
    const [h, w] = [samples.leaf([50, 24]), samples.leaf([400, 24])];
    const targets = targetsOf({ tokens: 50, hidden: 24, vocab: 400 }, samples);
    const both = tokenLogprob(h, w, targets);
    const all = grad(both.logprob.sum(), [h, w], { retainGraph: true }) as Tensor[];
    const same = (got: Tensor | null | undefined, want: Tensor) =>
      expect(got!.sub(want).abs().sum().item()).toBe(0);
    same(grad(tokenLogprob(h, w.detach(), targets).logprob.sum(), [h])[0], all[0]!);
    same(grad(tokenLogprob(h.detach(), w, targets).logprob.sum(), [w])[0], all[1]!);
    // An entropy with coefficient zero is no entropy.
    same(grad(both.logprob.sum().add(both.entropy.sum().mul(0)), [h])[0], all[0]!);
    const alone = tokenLogprob(h, w, targets, { entropy: false });
    expect(alone.entropy).toBe(null);
    same(grad(alone.logprob.sum(), [w])[0], all[1]!);
    // The entropy alone.
    const twin = stock.tokenLogprob(h, w, targets).entropy!;
    const [got, want] = [tokenLogprob(h, w, targets).entropy, twin].map(
      (entropy) => grad(entropy.sum(), [h])[0]!,
    ) as [Tensor, Tensor];
    expect(got.sub(want).norm().item()).toBeLessThan(1e-5 * want.norm().item());
    expect(noGrad(() => tokenLogprob(h, w, targets)).logprob.requiresGrad).toBe(false);
  });
});

it("backward twice gives the same twice: kept logits stay as they are", () => {
  tidy(() => {
    const samples = new Samples();
    const inputs = [samples.leaf([200, 32]), samples.leaf([300, 32])];
    const targets = randint(0, 300, [200], samples.generator);
    const { logprob, entropy } = tokenLogprob(inputs[0]!, inputs[1]!, targets);
    const loss = logprob.add(entropy).sum();
    const once = grad(loss, inputs, { retainGraph: true }) as Tensor[];
    const again = grad(loss, inputs) as Tensor[];
    for (const [i, gradient] of again.entries())
      expect(gradient.toNumbers()).toEqual(once[i]!.toNumbers());
  });
});

it("takes views", () => {
  tidy(() => {
    const samples = new Samples(6);
    const [h, w] = [samples.leaf([2, 90, 33]), samples.leaf([33, 500])];
    const targets = targetsOf({ tokens: 180, hidden: 33, vocab: 500 }, samples).reshape([90, 2]);
    const seen = targets.t().flatten(); // not contiguous before
    const [fused, twin] = operations(seen.to("int64"));
    const viewed =
      (operation: Operation): Operation =>
      ([x, y]) =>
        operation([x!.flatten(0, 1), y!.t()]);
    expectTwins(viewed(fused), viewed(twin), [h, w], { forward: 2e-6, backward: 1e-5 });
  });
});

it("logits far apart give exact zeros, never NaN", () => {
  tidy(() => {
    const h = tensor([[1000], [-1000], [0]], { requiresGrad: true });
    const w = tensor([[1], [0], [-1]], { requiresGrad: true });
    const { logprob, entropy } = tokenLogprob(h, w, tensor([0, 0, 0], { dtype: "int64" }));
    expect([...logprob.toNumbers()].map(Math.round)).toEqual([0, -2000, -1]);
    expect(entropy.toNumbers()[0]).toBe(0);
    expect(entropy.toNumbers()[2]).toBeCloseTo(Math.log(3), 6);
    for (const gradient of grad(logprob.sum().add(entropy.sum()), [h, w]))
      expect(gradient!.isfinite().all().item()).toBe(1);
  });
});

it("no tokens: no numbers, and zero gradients", () => {
  tidy(() => {
    const h = zeros([0, 8], { requiresGrad: true });
    const w = new Samples().leaf([10, 8]);
    const { logprob, entropy } = tokenLogprob(h, w, zeros([0], { dtype: "int64" }));
    expect([logprob.shape, entropy.shape]).toEqual([[0], [0]]);
    const [dh, dw] = grad(logprob.sum(), [h, w]) as [Tensor, Tensor];
    expect(dh.shape).toEqual([0, 8]);
    expect(dw.abs().sum().item()).toBe(0);
  });
});

describe("errors say what was expected and what came", () => {
  const h = () => zeros([3, 8]);
  const w = () => zeros([10, 8]);
  const ids = (...values: number[]) => tensor(values, { dtype: "int64" });
  it.each<[string, () => unknown, RegExp]>([
    [
      "hidden",
      () => tokenLogprob(zeros([1, 3, 8]), w(), ids(1, 2, 3)),
      /hidden must be.*\[1, 3, 8\]/,
    ],
    [
      "weight",
      () => tokenLogprob(h(), zeros([10, 7]), ids(1, 2, 3)),
      /\[vocab, 8\], got \[10, 7\]/,
    ],
    [
      "targets",
      () => tokenLogprob(h(), w(), ids(1, 2)),
      /int64 \[tokens\] = \[3\], got Long \[2\]/,
    ],
    ["int32", () => tokenLogprob(h(), w(), ids(1, 2, 3).to("int32")), /got Int/],
    ["too large", () => tokenLogprob(h(), w(), ids(1, 10, 3)), /target 10 of token 1.*of 10/],
    ["negative", () => tokenLogprob(h(), w(), ids(1, 2, -100)), /target -100 of token 2/],
    ["temperature", () => tokenLogprob(h(), w(), ids(1, 2, 3), { temperature: 0 }), /positive/],
    ["dtypes", () => tokenLogprob(h().to("float64"), w(), ids(1, 2, 3)), /Double and Float/],
  ])("%s", (_, wrong, message) => {
    tidy(() => expect(wrong).toThrow(message));
  });
});
