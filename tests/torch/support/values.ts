/**
 * @file Comparing tensors with nested arrays that plain JavaScript computed.
 */
import { expect } from "vitest";
import type { Dtype, Tensor } from "../../../src/torch/index.ts";

export type Plain = number | boolean | readonly Plain[];

export function shapeOf(values: Plain): number[] {
  return Array.isArray(values)
    ? [values.length, ...(values.length > 0 ? shapeOf(values[0] as Plain) : [])]
    : [];
}

export function flat(values: Plain): number[] {
  return Array.isArray(values) ? values.flatMap((value) => flat(value as Plain)) : [Number(values)];
}

/** Applies a function to every number of nested arrays. */
export function mapPlain(values: Plain, f: (value: number) => number): Plain {
  return Array.isArray(values)
    ? values.map((value) => mapPlain(value as Plain, f))
    : f(Number(values));
}

/** Values `from`, `from` + 1, … in a shape. */
export function counting(shape: readonly number[], from = 0): Plain {
  let next = from;
  const build = (depth: number): Plain =>
    depth === shape.length ? next++ : Array.from({ length: shape[depth]! }, () => build(depth + 1));
  return build(0);
}

export interface Expectation {
  dtype?: Dtype;
  /** Only needed for tensors without elements, whose nested arrays do not show it. */
  shape?: readonly number[];
  /** Largest |got − want| / max(1, |want|); 0 asks for the same numbers. */
  tolerance?: number;
}

export function expectTensor(got: Tensor, want: Plain, options: Expectation = {}): void {
  expect(got.shape).toEqual(options.shape ?? shapeOf(want));
  if (options.dtype) expect(got.dtype).toBe(options.dtype);
  expectNumbers(got.toNumbers(), flat(want), options.tolerance ?? 0);
}

export function expectNumbers(
  got: ArrayLike<number>,
  want: ArrayLike<number>,
  tolerance: number,
): void {
  expect(got.length).toBe(want.length);
  for (let i = 0; i < want.length; i++) {
    const [a, b] = [got[i]!, want[i]!];
    if (Object.is(a, b) || (a === b && tolerance === 0)) continue;
    const error = Math.abs(a - b) / Math.max(1, Math.abs(b));
    if (!(error <= tolerance))
      throw new Error(
        `value ${i}: got ${a}, expected ${b} (off by ${error}, allowed ${tolerance})`,
      );
  }
}

/** The bits of a tensor's values, for comparisons that allow no difference at all. */
export function bytesOf(tensor: Tensor): string {
  const values = tensor.toTypedArray();
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString("hex");
}
