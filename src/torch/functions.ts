/**
 * @file Functions of several tensors that are nobody's method.
 */

import { zerosLike } from "./creation.ts";
import type { Generator } from "./generator.ts";
import type { Operand } from "./tensor/arithmetic.ts";
import { TensorCore } from "./tensor/core.ts";
import { aten, invoke, invoke2, invoke3 } from "./tensor/invoke.ts";
import type { Tensor } from "./tensor/tensor.ts";

const op = {
  cat: aten("cat"),
  stack: aten("stack"),
  where: aten("where.self"),
  whereScalarSelf: aten("where.ScalarSelf"),
  whereScalarOther: aten("where.ScalarOther"),
  whereScalars: aten("where.Scalar"),
  einsum: aten("einsum"),
  searchsorted: aten("searchsorted.Tensor"),
};

function handles(tensors: readonly Tensor[]): number[] {
  return tensors.map((tensor) => tensor.handle);
}

/** Joins tensors along a dimension that they have. */
export function cat(tensors: readonly Tensor[], dim = 0): Tensor {
  return invoke2(op.cat, handles(tensors), dim);
}

/** Joins tensors of one shape along a new dimension. */
export function stack(tensors: readonly Tensor[], dim = 0): Tensor {
  return invoke2(op.stack, handles(tensors), dim);
}

/** Elements of a where the condition is true, of b elsewhere. */
export function where(condition: Tensor, a: Operand, b: Operand): Tensor {
  const first = a instanceof TensorCore ? a.handle : a;
  const second = b instanceof TensorCore ? b.handle : b;
  const operator =
    a instanceof TensorCore
      ? b instanceof TensorCore
        ? op.where
        : op.whereScalarOther
      : b instanceof TensorCore
        ? op.whereScalarSelf
        : op.whereScalars;
  return invoke3(operator, condition.handle, first, second);
}

/** Sums of products by index letters: `einsum("bqd,bkd->bqk", [q, k])`. */
export function einsum(equation: string, tensors: readonly Tensor[]): Tensor {
  return invoke(op.einsum, equation, handles(tensors));
}

/** Where each value would be inserted into sorted boundaries to keep them sorted. */
export function searchSorted(sorted: Tensor, values: Tensor, right = false): Tensor {
  return invoke(op.searchsorted, sorted.handle, values.handle, false, right);
}

/** Zeroes elements with a probability and scales the others up; the mask comes from the generator. */
export function dropout(x: Tensor, probability: number, generator: Generator): Tensor {
  if (!(probability >= 0 && probability < 1))
    throw new RangeError(`dropout: expected a probability in [0, 1), got ${probability}`);
  if (probability === 0) return x;
  const mask = zerosLike(x).bernoulli_(generator, 1 - probability);
  return x.mul(mask).mul(1 / (1 - probability));
}
