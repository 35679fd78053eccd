/**
 * @file The fused AdamW step against its twin and against the formula.
 */
import { describe, expect, it } from "vitest";
import {
  type AdamWStep,
  adamwStep,
  type Dtype,
  noGrad,
  setThreads,
  stock,
  type Tensor,
  threads,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { relativeDifference, Samples } from "./support/twins.ts";
import { bytesOf } from "./support/values.ts";

const OPTIONS: AdamWStep = {
  lr: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  step: 1,
  gradientScale: 0.5,
};

// Less than a vector, parts of one, more than one piece of work, nothing.
const SHAPES = [[1], [7], [40_000], [3, 5, 11], [0]];

interface State {
  parameters: Tensor[];
  first: Tensor[];
  second: Tensor[];
}

function initial(dtype: Dtype): State {
  const samples = new Samples();
  const wide = dtype === "float64" ? "float64" : "float32";
  return {
    parameters: SHAPES.map((shape) => samples.leaf(shape, dtype)),
    first: SHAPES.map((shape) => zeros(shape, { dtype: wide })),
    second: SHAPES.map((shape) => zeros(shape, { dtype: wide })),
  };
}

function run(update: typeof adamwStep, dtype: Dtype, steps: number, gradientDtype = dtype): State {
  const state = initial(dtype);
  const samples = new Samples(2);
  for (let step = 1; step <= steps; step++) {
    const gradients = SHAPES.map((shape) => samples.values(shape, gradientDtype));
    const { parameters, first, second } = state;
    update(parameters, gradients, first, second, { ...OPTIONS, step });
  }
  return state;
}

const all = ({ parameters, first, second }: State) => [...parameters, ...first, ...second];

describe("agrees with the twin after 20 steps", () => {
  it.each<[Dtype, Dtype, number]>([
    ["float64", "float64", 1e-14],
    ["float32", "float32", 5e-7],
    ["bfloat16", "bfloat16", 1e-3],
    ["bfloat16", "float32", 1e-3],
  ])("%s with %s gradients", (dtype, gradientDtype, tolerance) => {
    tidy(() => {
      const got = all(run(adamwStep, dtype, 20, gradientDtype));
      const want = all(run(stock.adamwStep, dtype, 20, gradientDtype));
      for (const [i, tensor] of got.entries()) {
        expect(tensor.dtype).toBe(want[i]!.dtype);
        expect(relativeDifference(tensor, want[i]!)).toBeLessThanOrEqual(tolerance);
      }
    });
  });
});

it("is the formula", () => {
  tidy(() => {
    const { parameters, first, second } = initial("float64");
    const before = parameters[1]!.toNumbers();
    const gradients = SHAPES.map((shape) => new Samples(3).values(shape, "float64"));
    adamwStep(parameters, gradients, first, second, { ...OPTIONS, step: 3 });
    const g = gradients[1]!.toNumbers().map((value) => value * 0.5);
    const expected = before.map((value, i) => {
      const [m, v] = [0.1 * g[i]!, 0.05 * g[i]! ** 2];
      const update = m / (1 - 0.9 ** 3) / (Math.sqrt(v / (1 - 0.95 ** 3)) + 1e-8);
      return value * (1 - 1e-2 * 0.1) - 1e-2 * update;
    });
    const got = parameters[1]!.toNumbers();
    for (const [i, value] of expected.entries()) expect(got[i]).toBeCloseTo(value, 13);
  });
});

it("takes parameters and gradients that are not contiguous", () => {
  tidy(() => {
    const samples = new Samples(4);
    const start = samples.values([30, 20]);
    const gradient = samples.values([20, 30]).t();
    const step = (parameter: Tensor, update: typeof adamwStep) => {
      const [first, second] = [zeros([20, 30]).t(), zeros([30, 20])];
      update([parameter], [gradient], [first], [second], OPTIONS);
      return [parameter, first, second];
    };
    const got = step(start.t().contiguous().t(), adamwStep);
    const want = step(start.clone(), stock.adamwStep);
    for (const [i, tensor] of got.entries())
      expect(relativeDifference(tensor, want[i]!)).toBeLessThan(5e-7);
  });
});

it("is deterministic, whatever the number of threads", () => {
  const bits = () => tidy(() => all(run(adamwStep, "float32", 3)).map(bytesOf));
  const before = threads();
  const first = bits();
  try {
    for (const count of [1, 3, before]) {
      setThreads(count);
      expect(bits()).toEqual(first);
    }
  } finally {
    setThreads(before);
  }
});

it("works on leaves that require gradients, and a graph that saved one notices", () => {
  tidy(() => {
    const { parameters, first, second } = initial("float32");
    const loss = parameters[1]!.mul(parameters[1]!).sum();
    const gradients = parameters.map((parameter) => noGrad(() => parameter.mul(2)));
    adamwStep(parameters, gradients, first, second, OPTIONS);
    expect(parameters[1]!.isLeaf && parameters[1]!.requiresGrad).toBe(true);
    expect(() => loss.backward()).toThrow(/modified by an inplace operation/);
  });
});

it("no tensors are fine", () => {
  adamwStep([], [], [], [], OPTIONS);
});

describe("errors come before anything is changed", () => {
  const p = () => zeros([4]);
  it.each<[string, Tensor[][], Partial<AdamWStep>, RegExp]>([
    ["counts", [[p(), p()], [p()], [p()], [p()]], {}, /got 2 parameters, 1 gradients/],
    ["shapes", [[p()], [zeros([5])], [p()], [p()]], {}, /parameter 0 is \[4\].*is \[5\]/],
    ["moments", [[p()], [p()], [p().to("float64")], [p()]], {}, /must be Float, got Double/],
    ["gradients", [[p()], [p().to("bfloat16")], [p()], [p()]], {}, /Float and BFloat16/],
    ["integers", [[p().to("int64")], [p()], [p()], [p()]], {}, /must be float32/],
    ["step", [[p()], [p()], [p()], [p()]], { step: 0 }, /counts from 1, got 0/],
    ["beta", [[p()], [p()], [p()], [p()]], { beta1: 1 }, /\[0, 1\), got 1/],
  ])("%s", (_, [parameters, gradients, first, second], options, message) => {
    const wrong = () =>
      adamwStep(parameters!, gradients!, first!, second!, { ...OPTIONS, ...options });
    expect(wrong).toThrow(message);
  });
});
