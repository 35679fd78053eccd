/**
 * @file Comparing a fused operator with its stock twin, and its gradients with differences.
 */
import { expect } from "vitest";
import {
  type Dtype,
  Generator,
  grad,
  noGrad,
  randn,
  setThreads,
  type Tensor,
  threads,
  tidy,
} from "../../../src/torch/index.ts";
import { bytesOf } from "./values.ts";

export type Operation = (inputs: readonly Tensor[]) => Tensor | readonly Tensor[];

/** Random tensors of one seed. */
export class Samples {
  readonly generator: Generator;

  constructor(seed = 1) {
    this.generator = new Generator(seed);
  }

  /** A leaf that requires a gradient. */
  leaf(shape: readonly number[], dtype: Dtype = "float32", scale = 1): Tensor {
    return this.values(shape, dtype, scale).requiresGrad_();
  }

  values(shape: readonly number[], dtype: Dtype = "float32", scale = 1): Tensor {
    return randn(shape, this.generator, { dtype: "float64" }).mul(scale).to(dtype);
  }
}

function list(results: Tensor | readonly Tensor[]): readonly Tensor[] {
  return Array.isArray(results) ? results : [results as Tensor];
}

/** ‖got − want‖ / ‖want‖ (‖got‖ if want is zero). */
export function relativeDifference(got: Tensor, want: Tensor): number {
  return tidy(() => {
    const [a, b] = [got.detach().to("float64"), want.detach().to("float64")];
    const size = b.norm().item();
    return a.sub(b).norm().item() / (size > 0 ? size : 1);
  });
}

/** The gradients of the operation's results, weighted by numbers that depend only on their shape. */
export function gradientsOf(operation: Operation, inputs: readonly Tensor[]): Tensor[] {
  const outputs = list(operation(inputs)).filter((output) => output.requiresGrad);
  const samples = new Samples(99);
  const gradients = outputs.map((output) => samples.values(output.shape, output.dtype));
  const wanted = inputs.filter((input) => input.requiresGrad);
  return grad(outputs, wanted, { gradients }) as Tensor[];
}

export interface Tolerance {
  forward: number;
  backward: number;
}

/** Same results and gradients, with the same shapes and dtypes, within relative differences. */
export function expectTwins(
  fused: Operation,
  twin: Operation,
  inputs: readonly Tensor[],
  tolerance: Tolerance,
): void {
  tidy(() => {
    const got = list(fused(inputs));
    const want = list(twin(inputs));
    expectClose(got, want, tolerance.forward);
    const gradients = gradientsOf(fused, inputs);
    expectClose(gradients, gradientsOf(twin, inputs), tolerance.backward);
    const wanted = inputs.filter((input) => input.requiresGrad);
    expect(gradients.map(({ dtype }) => dtype)).toEqual(wanted.map(({ dtype }) => dtype));
  });
}

function expectClose(got: readonly Tensor[], want: readonly Tensor[], tolerance: number): void {
  expect(got.map(({ shape }) => shape)).toEqual(want.map(({ shape }) => shape));
  expect(got.map(({ dtype }) => dtype)).toEqual(want.map(({ dtype }) => dtype));
  for (const [i, tensor] of got.entries())
    expect(relativeDifference(tensor, want[i]!)).toBeLessThanOrEqual(tolerance);
}

/** Gradients against central differences, for float64 leaves of contiguous memory. */
export function expectNumericalGradients(operation: Operation, inputs: readonly Tensor[]): void {
  tidy(() => {
    const samples = new Samples(99);
    const weights = list(operation(inputs)).map((output) =>
      samples.values(output.shape, output.dtype),
    );
    const weighted = () =>
      tidy(() =>
        list(operation(inputs)).reduce((sum, y, i) => sum + y.mul(weights[i]!).sum().item(), 0),
      );
    const gradients = gradientsOf(operation, inputs);
    const wanted = inputs.filter((input) => input.requiresGrad);
    noGrad(() => {
      for (const [i, input] of wanted.entries()) {
        const values = input.detach().shareTypedArray() as Float64Array;
        const expected = values.map((value, at) => {
          const difference = [1e-5, -1e-5].map((step) => {
            values[at] = value + step;
            return weighted();
          });
          values[at] = value;
          return (difference[0]! - difference[1]!) / 2e-5;
        });
        const got = gradients[i]!.toNumbers();
        const error = Math.hypot(...got.map((value, at) => value - expected[at]!));
        expect(error / Math.hypot(...expected)).toBeLessThan(1e-8);
      }
    });
  });
}

/** The same bits every time, for every number of threads. */
export function expectDeterministic(operation: Operation, inputs: readonly Tensor[]): void {
  const bits = () =>
    tidy(() => [...list(operation(inputs)), ...gradientsOf(operation, inputs)].map(bytesOf));
  const before = threads();
  const first = bits();
  try {
    for (const count of [1, 2, 3, before]) {
      setThreads(count);
      expect(bits()).toEqual(first);
    }
  } finally {
    setThreads(before);
  }
}
