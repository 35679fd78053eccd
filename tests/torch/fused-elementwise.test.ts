/**
 * @file rmsNorm, rotary and swiglu against their twins and against differences.
 */
import { describe, expect, it } from "vitest";
import {
  type Dtype,
  grad,
  noGrad,
  rmsNorm,
  rotary,
  stock,
  swiglu,
  swigluJoined,
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
  Samples,
  type Tolerance,
} from "./support/twins.ts";

const TOLERANCES: [Dtype, Tolerance][] = [
  ["float64", { forward: 1e-14, backward: 1e-13 }],
  ["float32", { forward: 1e-6, backward: 2e-6 }],
  // One rounding to 8 bits may fall to the other side.
  ["bfloat16", { forward: 8e-3, backward: 1e-2 }],
];

// Whole vectors, parts of one, few numbers per row, and rows of more dimensions.
const SHAPES = [[5, 7], [3, 4, 33], [200, 256], [64], [6, 3]];

const norm: Operation = ([x, weight]) => rmsNorm(x!, weight!, 1e-6);
const gated: Operation = ([gate, up]) => swiglu(gate!, up!);
const rotated =
  (angles: Tensor): Operation =>
  ([x]) =>
    rotary(x!, angles.cos(), angles.sin());
const rotatedTwin =
  (angles: Tensor): Operation =>
  ([x]) =>
    stock.rotary(x!, angles.cos(), angles.sin());

describe.each(TOLERANCES)("%s", (dtype, tolerance) => {
  const angleDtype = dtype === "float64" ? "float64" : "float32";

  it.each(SHAPES.map((shape) => ({ shape })))("rmsNorm of $shape", ({ shape }) => {
    tidy(() => {
      const samples = new Samples();
      const inputs = [samples.leaf(shape, dtype), samples.leaf([shape.at(-1)!], dtype)];
      expectTwins(norm, ([x, w]) => stock.rmsNorm(x!, w!, 1e-6), inputs, tolerance);
    });
  });

  it.each(SHAPES.map((shape) => ({ shape })))("swiglu of $shape", ({ shape }) => {
    tidy(() => {
      const samples = new Samples();
      const inputs = [samples.leaf(shape, dtype), samples.leaf(shape, dtype)];
      expectTwins(gated, ([g, u]) => stock.swiglu(g!, u!), inputs, tolerance);
    });
  });

  it("swiglu of the halves of one tensor", () => {
    tidy(() => {
      const joined = new Samples().leaf([3, 5, 40], dtype);
      const halves =
        (operation: Operation): Operation =>
        ([x]) =>
          operation(x!.chunk(2, -1));
      const twin: Operation = ([g, u]) => stock.swiglu(g!, u!);
      expectTwins(halves(gated), halves(twin), [joined], tolerance);
    });
  });

  it.each([[5, 14], [3, 4, 66], [200, 512], [64], [6, 2], [0, 8]].map((shape) => ({ shape })))(
    "swigluJoined of $shape",
    ({ shape }) => {
      tidy(() => {
        const inputs = [new Samples().leaf(shape, dtype)];
        const twin: Operation = ([x]) => stock.swigluJoined(x!);
        expectTwins(([x]) => swigluJoined(x!), twin, inputs, tolerance);
      });
    },
  );

  it.each([2, 6, 32, 128])("rotary with head_dim %i", (headDim) => {
    tidy(() => {
      const samples = new Samples();
      const angles = samples.values([9, headDim / 2], angleDtype, 3);
      const inputs = [samples.leaf([9, 3, headDim], dtype)];
      expectTwins(rotated(angles), rotatedTwin(angles), inputs, tolerance);
    });
  });

  it("rotary of views: some heads of a packed tensor, tokens and heads exchanged", () => {
    tidy(() => {
      const samples = new Samples();
      const angles = samples.values([9, 4], angleDtype, 3);
      for (const view of [
        (x: Tensor) => x.narrow(1, 1, 3),
        (x: Tensor) => x.narrow(1, 0, 9).transpose(0, 1).narrow(0, 0, 9),
        (x: Tensor) => x.narrow(1, 0, 2).flip([2]).transpose(1, 2).transpose(1, 2),
      ])
        expectTwins(
          ([x]) => rotated(angles)([view(x!)]),
          ([x]) => rotatedTwin(angles)([view(x!)]),
          [samples.leaf([9, 9, 8], dtype)],
          tolerance,
        );
    });
  });
});

describe("gradients are those of numerical differences", () => {
  it("rmsNorm", () => {
    tidy(() => {
      const samples = new Samples(2);
      const inputs = [samples.leaf([4, 3, 5], "float64"), samples.leaf([5], "float64")];
      expectNumericalGradients(norm, inputs);
    });
  });

  it("swiglu", () => {
    tidy(() => {
      const samples = new Samples(3);
      expectNumericalGradients(gated, [
        samples.leaf([4, 5], "float64", 3),
        samples.leaf([4, 5], "float64"),
      ]);
    });
  });

  it("rotary", () => {
    tidy(() => {
      const samples = new Samples(4);
      const angles = samples.values([4, 3], "float64", 3);
      expectNumericalGradients(rotated(angles), [samples.leaf([4, 2, 6], "float64")]);
    });
  });
});

describe("rmsNorm", () => {
  it("rounds in Hugging Face's order: bfloat16 differs from the twin in at most 6 of 6144 values", () => {
    tidy(() => {
      const samples = new Samples(5);
      const [x, weight] = [samples.values([64, 96], "bfloat16"), samples.values([96], "bfloat16")];
      const different = rmsNorm(x, weight, 1e-6).ne(stock.rmsNorm(x, weight, 1e-6));
      // The mean may be summed in another order, which can move a value across a rounding boundary.
      expect(different.sum().item()).toBeLessThanOrEqual(6);
    });
  });

  it("takes a float32 weight for bfloat16", () => {
    tidy(() => {
      const samples = new Samples(6);
      const inputs = [samples.leaf([40, 96], "bfloat16"), samples.leaf([96], "float32")];
      const twin: Operation = ([x, w]) => stock.rmsNorm(x!, w!, 1e-6);
      expectTwins(norm, twin, inputs, { forward: 4e-3, backward: 1e-2 });
    });
  });

  it("gives a gradient only to what wants one", () => {
    tidy(() => {
      const samples = new Samples(7);
      const [x, weight] = [samples.leaf([4, 8]), samples.values([8])];
      const y = rmsNorm(x, weight, 1e-6);
      expect(grad(y, [x], { gradients: [y.detach()] })[0]!.shape).toEqual([4, 8]);
      expect(noGrad(() => rmsNorm(x, weight, 1e-6)).requiresGrad).toBe(false);
    });
  });
});

it("all are deterministic, whatever the number of threads", () => {
  tidy(() => {
    const samples = new Samples(8);
    expectDeterministic(norm, [samples.leaf([500, 160]), samples.leaf([160])]);
    expectDeterministic(gated, [samples.leaf([500, 160]), samples.leaf([500, 160])]);
    expectDeterministic(rotated(samples.values([500, 16])), [samples.leaf([500, 4, 32])]);
  });
});

it("no rows and zeros and large numbers are fine", () => {
  tidy(() => {
    const weight = new Samples().leaf([8]);
    expect(rmsNorm(zeros([0, 8]), weight, 1e-6).shape).toEqual([0, 8]);
    const none = zeros([0, 8], { requiresGrad: true });
    const gradients = grad(rmsNorm(none, weight, 1e-6).sum(), [none, weight]);
    expect(gradients.map((g) => g!.shape)).toEqual([[0, 8], [8]]);
    expect(gradients[1]!.abs().sum().item()).toBe(0);
    expect(swiglu(zeros([0, 8]), zeros([0, 8])).shape).toEqual([0, 8]);
    expect(rotary(zeros([0, 2, 8]), zeros([0, 4]), zeros([0, 4])).shape).toEqual([0, 2, 8]);
    expect(
      rmsNorm(zeros([2, 8]), weight, 1e-6)
        .abs()
        .sum()
        .item(),
    ).toBe(0);
    const gate = tensor([-1e30, -1e4, -90, -1, 0, 1, 90, 1e4]);
    const silu = swiglu(gate, gate.mul(0).add(1)).toNumbers();
    const exact = [-0, -0, -90 * Math.exp(-90), -1 / (1 + Math.E), 0, Math.E / (1 + Math.E)];
    for (const [i, value] of [...exact, 90, 1e4].entries())
      expect(Math.abs(silu[i]! - value)).toBeLessThanOrEqual(1e-7 * Math.max(1, Math.abs(value)));
  });
});

it("NaN stays NaN", () => {
  tidy(() => {
    const x = tensor([[1, Number.NaN, 3, 4]]);
    expect(
      rmsNorm(x, tensor([1, 1, 1, 1]), 1e-6)
        .isnan()
        .all()
        .item(),
    ).toBe(1);
    expect(swiglu(x, x).isnan().toArray()).toEqual([[false, true, false, false]]);
    expect(swiglu(x.to("bfloat16"), x.to("bfloat16")).isnan().sum().item()).toBe(1);
  });
});

it("second derivatives are an error that says so", () => {
  tidy(() => {
    const samples = new Samples();
    const [x, weight] = [samples.leaf([4, 8]), samples.leaf([8])];
    expect(() => grad(rmsNorm(x, weight, 1e-6).sum(), [x], { createGraph: true })).toThrow(
      /second derivatives.*not implemented/,
    );
  });
});

describe("errors say what was expected and what came", () => {
  const x = () => zeros([4, 3, 8]);
  it.each<[string, () => Tensor, RegExp]>([
    ["weight", () => rmsNorm(x(), zeros([7]), 1e-6), /weight must be \[8\].*\[4, 3, 8\].*\[7\]/],
    ["integers", () => rmsNorm(x().to("int64"), zeros([8]), 1e-6), /float32.*got Long/],
    ["scalar", () => rmsNorm(tensor(1), zeros([1]), 1e-6), /at least one dimension/],
    ["gate", () => swiglu(x(), zeros([4, 3, 7])), /same shape.*\[4, 3, 8\] and \[4, 3, 7\]/],
    ["joined", () => swigluJoined(zeros([4, 7])), /gate and up.*\[4, 7\]/],
    ["dtypes", () => swiglu(x(), x().to("bfloat16")), /float32.*Float and BFloat16/],
    ["heads", () => rotary(zeros([4, 8]), zeros([4, 4]), zeros([4, 4])), /head_dim.*\[4, 8\]/],
    ["odd", () => rotary(zeros([4, 2, 7]), zeros([4, 3]), zeros([4, 3])), /even head_dim/],
    ["angles", () => rotary(x(), zeros([4, 8]), zeros([4, 4])), /= \[4, 4\], got \[4, 8\]/],
    [
      "angles' gradient",
      () => rotary(x(), zeros([4, 4], { requiresGrad: true }), zeros([4, 4])),
      /no gradient/,
    ],
  ])("%s", (_, wrong, message) => {
    tidy(() => expect(wrong).toThrow(message));
  });
});
