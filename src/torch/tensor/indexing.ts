/**
 * @file Picking elements by index or mask, and writing to them.
 */
import type { TensorCore } from "./core.ts";
import { aten, invoke, invoke1, invoke2, invoke3 } from "./invoke.ts";
import { ShapeTensor } from "./shape.ts";
import type { Tensor } from "./tensor.ts";

/** One index per dimension; null takes the whole dimension. */
export type Indices = readonly (TensorCore | null)[];

const op = {
  gather: aten("gather"),
  indexSelect: aten("index_select"),
  index: aten("index.Tensor"),
  indexPut: aten("index_put"),
  indexAdd: aten("index_add"),
  scatter: aten("scatter.src"),
  scatterValue: aten("scatter.value"),
  scatterAdd: aten("scatter_add"),
  maskedFill: aten("masked_fill.Scalar"),
  maskedSelect: aten("masked_select"),
  nonzero: aten("nonzero"),
  take: aten("take"),
};

export class IndexingTensor extends ShapeTensor {
  /** out[i][j] = this[i][index[i][j]] along the last or another dimension. */
  gather(dim: number, index: TensorCore): Tensor {
    return invoke3(op.gather, this.handle, dim, index.handle);
  }

  /** Entries of a dimension, in the order of a 1-D index. */
  indexSelect(dim: number, index: TensorCore): Tensor {
    return invoke3(op.indexSelect, this.handle, dim, index.handle);
  }

  /** Advanced indexing: `x.index([rows, columns])`. */
  index(indices: Indices): Tensor {
    return invoke2(op.index, this.handle, lowerIndices(indices));
  }

  /** A copy with the values at the indices replaced, or added to. */
  indexPut(indices: Indices, values: TensorCore, accumulate?: boolean): Tensor {
    return invoke(op.indexPut, this.handle, lowerIndices(indices), values.handle, accumulate);
  }

  /** A copy with rows added at a 1-D index. */
  indexAdd(dim: number, index: TensorCore, source: TensorCore): Tensor {
    return invoke(op.indexAdd, this.handle, dim, index.handle, source.handle);
  }

  /** A copy with out[i][index[i][j]] = source[i][j] (or one value). */
  scatter(dim: number, index: TensorCore, source: TensorCore | number): Tensor {
    return typeof source === "number"
      ? invoke(op.scatterValue, this.handle, dim, index.handle, source)
      : invoke(op.scatter, this.handle, dim, index.handle, source.handle);
  }

  /** Like `scatter`, adding to what is there. */
  scatterAdd(dim: number, index: TensorCore, source: TensorCore): Tensor {
    return invoke(op.scatterAdd, this.handle, dim, index.handle, source.handle);
  }

  /** A copy with one value where the mask is true. */
  maskedFill(mask: TensorCore, value: number): Tensor {
    return invoke3(op.maskedFill, this.handle, mask.handle, value);
  }

  /** The elements where the mask is true, in order. */
  maskedSelect(mask: TensorCore): Tensor {
    return invoke2(op.maskedSelect, this.handle, mask.handle);
  }

  /** The places of elements that are not zero: [count, dimensions]. */
  nonzero(): Tensor {
    return invoke1(op.nonzero, this.handle);
  }

  /** Elements by their place in the flattened tensor. */
  take(index: TensorCore): Tensor {
    return invoke2(op.take, this.handle, index.handle);
  }
}

export function lowerIndices(indices: Indices): (number | undefined)[] {
  return indices.map((index) => index?.handle);
}
