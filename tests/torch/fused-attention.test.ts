/**
 * @file Packed causal attention against its twin and against differences.
 */
import { describe, expect, it } from "vitest";
import {
  attention,
  cat,
  type Dtype,
  grad,
  noGrad,
  stock,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import {
  expectDeterministic,
  expectNumericalGradients,
  expectTwins,
  type Operation,
  relativeDifference,
  Samples,
} from "./support/twins.ts";

interface Setting {
  lengths: number[];
  heads: number;
  keyHeads: number;
  headDim: number;
  window?: number;
  /** The run that each goes on from. */
  parents?: number[];
}

const SETTINGS: Setting[] = [
  // Lengths of no, one, less than a block, exactly a block, just more, several blocks.
  { lengths: [130, 64, 65, 1, 0, 200], heads: 8, keyHeads: 4, headDim: 32 },
  { lengths: [300], heads: 4, keyHeads: 4, headDim: 64 },
  { lengths: [40, 40, 40], heads: 6, keyHeads: 1, headDim: 16 },
  { lengths: [300, 77], heads: 6, keyHeads: 2, headDim: 128, window: 70 },
  { lengths: [257, 3], heads: 4, keyHeads: 1, headDim: 40, window: 2 },
  { lengths: [257, 3], heads: 4, keyHeads: 2, headDim: 7, window: 100 },
  { lengths: [400], heads: 2, keyHeads: 1, headDim: 16, window: 64 },
  { lengths: [5, 1, 0, 9], heads: 2, keyHeads: 1, headDim: 1, window: 1000 },
  // Runs that go on from others: a prompt and its replies, deeper ones, some that are empty, several trees.
  { lengths: [200, 30, 1, 97], parents: [-1, 0, 0, 0], heads: 6, keyHeads: 2, headDim: 32 },
  {
    ...{ lengths: [80, 90, 5, 0, 40, 73, 20, 150], parents: [-1, 0, 1, 1, 3, 0, -1, 6] },
    ...{ heads: 4, keyHeads: 1, headDim: 16 },
  },
  {
    ...{ lengths: [80, 90, 5, 0, 40, 73, 20, 150], parents: [-1, 0, 1, 1, 3, 0, -1, 6] },
    ...{ heads: 4, keyHeads: 4, headDim: 24, window: 60 },
  },
  { lengths: [3, 2, 4], parents: [-1, 0, 0], heads: 2, keyHeads: 1, headDim: 5, window: 3 },
];

function cumulative(lengths: readonly number[], dtype: Dtype = "int64"): Tensor {
  let total = 0;
  return tensor([0, ...lengths.map((length) => (total += length))], { dtype });
}

function tokensOf({ lengths }: Setting): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}

function leaves(setting: Setting, dtype: Dtype, samples = new Samples()): Tensor[] {
  const { heads, keyHeads, headDim } = setting;
  return [heads, keyHeads, keyHeads].map((count) =>
    samples.leaf([tokensOf(setting), count, headDim], dtype),
  );
}

function both({ lengths, window, parents }: Setting): [Operation, Operation] {
  const boundaries = cumulative(lengths);
  const options = {
    ...(window !== undefined && { window }),
    ...(parents && { parents: tensor(parents, { dtype: "int64" }) }),
  };
  return [
    ([q, k, v]) => attention(q!, k!, v!, boundaries, options),
    ([q, k, v]) => stock.attention(q!, k!, v!, boundaries, options),
  ];
}

const title = ({ lengths, heads, keyHeads, headDim, window, parents }: Setting) =>
  `[${lengths}]${parents ? ` behind [${parents}]` : ""} × ${heads}/${keyHeads} × ${headDim}` +
  (window ? `, window ${window}` : "");
const titled = SETTINGS.map((setting) => ({ setting, title: title(setting) }));

describe("agrees with the twin", () => {
  it.each(titled)("float32 $title", ({ setting }) => {
    tidy(() => {
      const tolerance = { forward: 2e-6, backward: 4e-6 };
      expectTwins(...both(setting), leaves(setting, "float32"), tolerance);
    });
  });

  it.each(titled)("float64 $title", ({ setting }) => {
    tidy(() => {
      const tolerance = { forward: 1e-14, backward: 1e-13 };
      expectTwins(...both(setting), leaves(setting, "float64"), tolerance);
    });
  });

  it.each(titled)("bfloat16 $title", ({ setting }) => {
    tidy(() => {
      const tolerance = { forward: 1e-3, backward: 1e-2 };
      expectTwins(...both(setting), leaves(setting, "bfloat16"), tolerance);
    });
  });
});

describe("takes views", () => {
  const setting = SETTINGS[0]!;
  const { heads, keyHeads, headDim } = setting;
  const tolerance = { forward: 2e-6, backward: 4e-6 };
  const [fused, twin] = both(setting);

  it("of one packed tensor", () => {
    tidy(() => {
      const packed = new Samples().leaf([tokensOf(setting), heads + 2 * keyHeads, headDim]);
      const cut =
        (operation: Operation): Operation =>
        ([x]) =>
          operation(x!.split([heads, keyHeads, keyHeads], 1));
      expectTwins(cut(fused), cut(twin), [packed], tolerance);
    });
  });

  it("whose heads are not contiguous", () => {
    tidy(() => {
      const [q, k, v] = leaves(setting, "float32") as [Tensor, Tensor, Tensor];
      const strided = (x: Tensor) => x.detach().transpose(0, 2).contiguous().transpose(0, 2);
      const inputs = [strided(q), strided(k), strided(v)].map((x) => x.requiresGrad_());
      expect(inputs[0]!.strides[2]).not.toBe(1);
      expectTwins(fused, twin, inputs, tolerance);
    });
  });

  it("and gradients that are views", () => {
    tidy(() => {
      const inputs = leaves(setting, "float32");
      const summed =
        (operation: Operation): Operation =>
        (given) =>
          (operation(given) as Tensor).sum(); // its gradient is one number, expanded
      expectTwins(summed(fused), summed(twin), inputs, { forward: 1e-4, backward: 1e-5 });
    });
  });
});

it("gradients are those of numerical differences", () => {
  tidy(() => {
    for (const window of [undefined, 3]) {
      const setting = { lengths: [5, 1, 0, 7], heads: 4, keyHeads: 2, headDim: 3, window };
      const [fused] = both(setting as Setting);
      expectNumericalGradients(fused, leaves(setting as Setting, "float64", new Samples(5)));
    }
  });
});

it("is deterministic, whatever the number of threads", () => {
  tidy(() => {
    const [fused] = both(SETTINGS[0]!);
    expectDeterministic(fused, leaves(SETTINGS[0]!, "float32"));
    // One long sequence and one key head: more threads share it another way, with the same bits.
    const long = { lengths: [600], heads: 2, keyHeads: 1, headDim: 24 };
    expectDeterministic(both(long)[0], leaves(long, "float32"));
    const tree = { ...long, lengths: [300, 90, 150, 10], parents: [-1, 0, 1, 0] };
    expectDeterministic(both(tree)[0], leaves(tree, "float32"));
  });
});

it("gives gradients only to what wants them, and the same ones", () => {
  tidy(() => {
    const [fused] = both(SETTINGS[0]!);
    const inputs = leaves(SETTINGS[0]!, "float32");
    const all = grad((fused(inputs) as Tensor).square().sum(), inputs) as Tensor[];
    for (const [i, wanted] of inputs.entries()) {
      const others = inputs.map((input) => (input === wanted ? input : input.detach()));
      const [alone] = grad((fused(others) as Tensor).square().sum(), [wanted]);
      expect(alone!.sub(all[i]!).abs().sum().item()).toBe(0);
    }
    expect(noGrad(() => fused(inputs) as Tensor).requiresGrad).toBe(false);
  });
});

it("sequences do not see each other, and the future stays hidden", () => {
  tidy(() => {
    const samples = new Samples(6);
    const setting = { lengths: [10, 100], heads: 2, keyHeads: 1, headDim: 8 };
    const [q, k, v] = leaves(setting, "float32", samples) as [Tensor, Tensor, Tensor];
    const [fused] = both(setting);
    const before = (fused([q, k, v]) as Tensor).detach();
    const changed = noGrad(() => {
      const other = v.clone();
      other.narrow(0, 60, 1).fill_(1e6); // token 50 of the second sequence
      return fused([q, k, other]) as Tensor;
    });
    const difference = changed.sub(before).abs().sum([1, 2]).toNumbers();
    expect([...difference].slice(0, 60).every((value) => value === 0)).toBe(true);
    expect([...difference].slice(60).every((value) => value > 0)).toBe(true);
  });
});

it("a run that goes on sees exactly what a whole sequence sees, and adds to what it went on from", () => {
  tidy(() => {
    const parts = { prompt: 150, first: 40, second: 75 };
    const { prompt, first, second } = parts;
    const tree = { lengths: [prompt, first, second], heads: 4, keyHeads: 2, headDim: 16 };
    const [fused] = both({ ...tree, parents: [-1, 0, 0] });
    const [plain] = both({ ...tree, lengths: [prompt + first, prompt + second] });
    const inputs = leaves({ ...tree }, "float64", new Samples(9));
    const repeated = inputs.map((x) => {
      const [shared, one, other] = x.split(tree.lengths, 0);
      return cat([shared!, one!, shared!, other!], 0);
    });
    const output = fused(inputs) as Tensor;
    const whole = plain(repeated) as Tensor;
    const [shared, one, again, other] = whole.split([prompt, first, prompt, second], 0);
    const expected = cat([shared!, one!, other!], 0);
    expect(relativeDifference(output, expected)).toBeLessThan(1e-14);
    expect(relativeDifference(again!, shared!)).toBeLessThan(1e-14);
    const weights = new Samples(10).values([prompt + first + second, 4, 16], "float64");
    const gradients = grad(output.mul(weights).sum(), inputs, { retainGraph: true });
    const others = grad(expected.mul(weights).sum(), inputs);
    for (const [i, gradient] of gradients.entries())
      expect(relativeDifference(gradient!, others[i]!)).toBeLessThan(1e-13);
  });
});

it("takes a scale, int32 lengths, and scores beyond what exp can hold", () => {
  tidy(() => {
    const samples = new Samples(7);
    const setting = { lengths: [150], heads: 2, keyHeads: 2, headDim: 16 };
    const [q, k, v] = [60, 60, 1].map((scale) => samples.leaf([150, 2, 16], "float32", scale)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const boundaries = cumulative(setting.lengths, "int32");
    const options = { scale: 1, window: 50 };
    const output = attention(q, k, v, boundaries, options);
    expect(relativeDifference(output, stock.attention(q, k, v, boundaries, options))).toBeLessThan(
      1e-3,
    );
    for (const gradient of grad(output.sum(), [q, k, v]))
      expect(gradient!.isfinite().all().item()).toBe(1);
  });
});

it("nothing in, nothing out", () => {
  tidy(() => {
    for (const lengths of [[], [0], [0, 0]]) {
      const q = zeros([0, 4, 8], { requiresGrad: true });
      const k = zeros([0, 2, 8], { requiresGrad: true });
      const output = attention(q, k, k, cumulative(lengths));
      expect(output.shape).toEqual([0, 4, 8]);
      expect(grad(output.sum(), [q])[0]!.shape).toEqual([0, 4, 8]);
    }
  });
});

it("NaN stays NaN where it is seen", () => {
  tidy(() => {
    const [q, k, v] = [0, 1, 2].map(() => new Samples(8).values([20, 1, 8])) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    k.narrow(0, 12, 1).fill_(Number.NaN);
    const seen = attention(q, k, v, cumulative([20]))
      .isnan()
      .all(2)
      .toNumbers();
    expect([...seen]).toEqual(Array.from({ length: 20 }, (_, i) => (i < 12 ? 0 : 1)));
  });
});

describe("errors say what was expected and what came", () => {
  const q = () => zeros([6, 4, 8]);
  const k = () => zeros([6, 2, 8]);
  const one = () => cumulative([6]);
  const behind = (parents: number[]) =>
    attention(q(), k(), k(), cumulative([2, 2, 2]), {
      parents: tensor(parents, { dtype: "int64" }),
    });
  it.each<[string, () => Tensor, RegExp]>([
    ["query", () => attention(zeros([6, 8]), k(), k(), one()), /query must be.*got \[6, 8\]/],
    ["tokens", () => attention(q(), zeros([5, 2, 8]), k(), one()), /key must be.*\[5, 2, 8\]/],
    ["head_dim", () => attention(q(), zeros([6, 2, 9]), k(), one()), /\[6, kv_heads, 8\]/],
    [
      "value",
      () => attention(q(), k(), zeros([6, 4, 8]), one()),
      /value.*\[6, 2, 8\].*\[6, 4, 8\]/,
    ],
    ["heads", () => attention(q(), zeros([6, 3, 8]), zeros([6, 3, 8]), one()), /multiple.*\(3\)/],
    ["dtypes", () => attention(q(), k().to("bfloat16"), k(), one()), /Float, BFloat16, Float/],
    ["integers", () => attention(q().to("int64"), k(), k(), one()), /float32/],
    ["total", () => attention(q(), k(), k(), cumulative([5])), /tokens, 6, got 0 and 5/],
    [
      "order",
      () => attention(q(), k(), k(), tensor([0, 4, 2, 6], { dtype: "int64" })),
      /not decrease, got 4 before 2/,
    ],
    ["start", () => attention(q(), k(), k(), tensor([1, 6], { dtype: "int64" })), /begin with 0/],
    ["floats", () => attention(q(), k(), k(), tensor([0, 6])), /int64 or int32/],
    ["window", () => attention(q(), k(), k(), one(), { window: 0 }), /at least 1.*got 0/],
    ["parents", () => behind([-1, 0]), /parents must be.*\[3\], one for each run.*\[2\]/],
    ["itself", () => behind([-1, 1, 0]), /run 1 goes on from run 1; expected -1, or/],
    ["later", () => behind([-1, 2, 0]), /run 1 goes on from run 2/],
    ["another tree", () => behind([-1, -1, 0]), /run 2 goes on from run 0/],
    ["no run", () => behind([-2, 0, 0]), /run 0 goes on from run -2/],
    ["scale", () => attention(q(), k(), k(), one(), { scale: Number.NaN }), /scale.*finite/],
  ])("%s", (_, wrong, message) => {
    tidy(() => expect(wrong).toThrow(message));
  });
});
