/**
 * @file The same computation with and without checkpointed segments, to be compared.
 */
import { afterEach, expect } from "vitest";
import {
  checkpoint,
  Generator,
  memory,
  randn,
  type Tensor,
  tidy,
} from "../../../src/torch/index.ts";
import { expectNumbers } from "./values.ts";

/** Runs a segment: as it is, or checkpointed. */
export type Run = <Outputs extends Tensor | Tensor[]>(
  segment: (...inputs: Tensor[]) => Outputs,
  inputs: readonly Tensor[],
  generators?: readonly Generator[],
) => Outputs;

export const plainly: Run = (segment, inputs) => segment(...inputs);
export const checkpointed: Run = (segment, inputs, generators = []) =>
  checkpoint(segment, inputs, { generators });

/** Leaves from a seed: [4, 4] matrices, the same for both ways. */
export function leaves(count: number): Tensor[] {
  const generator = new Generator(11);
  return Array.from({ length: count }, () => randn([4, 4], generator).mul(0.7).requiresGrad_());
}

type LossOf = (run: Run, leaves: Tensor[]) => Tensor;

/** The loss and every leaf's gradient. */
function results(run: Run, count: number, lossOf: LossOf): Float64Array[] {
  return tidy(() => {
    const all = leaves(count);
    const loss = lossOf(run, all);
    loss.backward();
    return [loss, ...all.map((leaf) => leaf.grad!)].map((each) => each.toNumbers());
  });
}

export function expectSame(count: number, lossOf: LossOf): void {
  expectClose(count, 0, lossOf);
}

export function expectClose(count: number, tolerance: number, lossOf: LossOf): void {
  const want = results(plainly, count, lossOf);
  const got = results(checkpointed, count, lossOf);
  for (const [i, values] of want.entries()) {
    expect(values.some((value) => value !== 0)).toBe(true);
    expectNumbers(got[i]!, values, tolerance);
  }
}

export const layer = (weight: Tensor) => (x: Tensor) => x.mm(weight).tanh();

/** Every test of a file leaves as many tensors as it found. */
export function expectNoTensorsLeft(): void {
  const before = memory();
  afterEach(() => expect(memory()).toEqual(before));
}
