/**
 * @file Reductions over dimensions, and what runs along one: cumulative sums, sorting, softmax.
 */
import { ComparisonTensor } from "./comparison.ts";
import type { Dtype } from "./core.ts";
import { aten, invoke, invoke1, invoke2, invokeMany, type Operator } from "./invoke.ts";
import type { Tensor } from "./tensor.ts";

/** One dimension or several; negative counts from the last. Left out: all. */
export type Dimensions = number | readonly number[];

const op = {
  sum: aten("sum.dim_IntList"),
  mean: aten("mean.dim"),
  variance: aten("var.correction"),
  standardDeviation: aten("std.correction"),
  amax: aten("amax"),
  amin: aten("amin"),
  argmax: aten("argmax"),
  argmin: aten("argmin"),
  product: aten("prod.dim_int"),
  productOfAll: aten("prod"),
  any: aten("any.dim"),
  anyOfAll: aten("any"),
  all: aten("all.dim"),
  allOfAll: aten("all"),
  logsumexp: aten("logsumexp"),
  norm: aten("linalg_vector_norm"),
  max: aten("max.dim"),
  min: aten("min.dim"),
  cumsum: aten("cumsum"),
  cumprod: aten("cumprod"),
  softmax: aten("softmax.int"),
  logSoftmax: aten("log_softmax.int"),
  topk: aten("topk"),
  sort: aten("sort.stable"),
};

/** Values along a dimension, and where they were. */
export interface ValuesAndIndices {
  values: Tensor;
  indices: Tensor;
}

function valuesAndIndices(operator: Operator, ...values: unknown[]): ValuesAndIndices {
  const [found, indices] = invokeMany(operator, ...values) as [Tensor, Tensor];
  return { values: found, indices };
}

function list(dim: Dimensions | undefined): readonly number[] | null {
  if (dim === undefined) return null;
  return typeof dim === "number" ? [dim] : dim;
}

export class ReductionTensor extends ComparisonTensor {
  sum(dim?: Dimensions, keepdim = false, dtype?: Dtype): Tensor {
    return invoke(op.sum, this.handle, list(dim), keepdim, dtype);
  }

  mean(dim?: Dimensions, keepdim = false, dtype?: Dtype): Tensor {
    return invoke(op.mean, this.handle, list(dim), keepdim, dtype);
  }

  /** Variance; correction 1 is the unbiased estimate, 0 the population's. */
  var(dim?: Dimensions, correction = 1, keepdim = false): Tensor {
    return invoke(op.variance, this.handle, list(dim), correction, keepdim);
  }

  /** Standard deviation; correction as in `var`. */
  std(dim?: Dimensions, correction = 1, keepdim = false): Tensor {
    return invoke(op.standardDeviation, this.handle, list(dim), correction, keepdim);
  }

  /** Largest values. */
  amax(dim?: Dimensions, keepdim = false): Tensor {
    return invoke(op.amax, this.handle, list(dim) ?? [], keepdim);
  }

  /** Smallest values. */
  amin(dim?: Dimensions, keepdim = false): Tensor {
    return invoke(op.amin, this.handle, list(dim) ?? [], keepdim);
  }

  argmax(dim?: number, keepdim = false): Tensor {
    return invoke(op.argmax, this.handle, dim, keepdim);
  }

  argmin(dim?: number, keepdim = false): Tensor {
    return invoke(op.argmin, this.handle, dim, keepdim);
  }

  /** Largest values along a dimension and their places. */
  max(dim: number, keepdim = false): ValuesAndIndices {
    return valuesAndIndices(op.max, this.handle, dim, keepdim);
  }

  /** Smallest values along a dimension and their places. */
  min(dim: number, keepdim = false): ValuesAndIndices {
    return valuesAndIndices(op.min, this.handle, dim, keepdim);
  }

  prod(dim?: number, keepdim = false): Tensor {
    return dim === undefined
      ? invoke1(op.productOfAll, this.handle)
      : invoke(op.product, this.handle, dim, keepdim);
  }

  any(dim?: number, keepdim = false): Tensor {
    return dim === undefined
      ? invoke1(op.anyOfAll, this.handle)
      : invoke(op.any, this.handle, dim, keepdim);
  }

  all(dim?: number, keepdim = false): Tensor {
    return dim === undefined
      ? invoke1(op.allOfAll, this.handle)
      : invoke(op.all, this.handle, dim, keepdim);
  }

  logsumexp(dim: Dimensions, keepdim = false): Tensor {
    return invoke(op.logsumexp, this.handle, list(dim), keepdim);
  }

  /** The p-norm of all elements or along dimensions. */
  norm(order = 2, dim?: Dimensions, keepdim = false): Tensor {
    return invoke(op.norm, this.handle, order, list(dim), keepdim);
  }

  cumsum(dim: number): Tensor {
    return invoke2(op.cumsum, this.handle, dim);
  }

  cumprod(dim: number): Tensor {
    return invoke2(op.cumprod, this.handle, dim);
  }

  softmax(dim: number, dtype?: Dtype): Tensor {
    return invoke(op.softmax, this.handle, dim, dtype);
  }

  logSoftmax(dim: number, dtype?: Dtype): Tensor {
    return invoke(op.logSoftmax, this.handle, dim, dtype);
  }

  /** The k largest along a dimension, in falling order. */
  topk(k: number, dim = -1, largest = true, sorted = true): ValuesAndIndices {
    return valuesAndIndices(op.topk, this.handle, k, dim, largest, sorted);
  }

  /** Sorted along a dimension; equal values keep their order. */
  sort(dim = -1, descending = false): ValuesAndIndices {
    return valuesAndIndices(op.sort, this.handle, true, dim, descending);
  }
}
