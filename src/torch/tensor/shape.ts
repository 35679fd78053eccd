/**
 * @file The same elements in another shape: views where possible, copies where said.
 */
import type { Device, Dtype, TensorCore } from "./core.ts";
import { aten, invoke, invoke1, invoke2, invoke3, invokeMany } from "./invoke.ts";
import { ReductionTensor } from "./reduction.ts";
import type { Tensor } from "./tensor.ts";

const op = {
  view: aten("view"),
  viewDtype: aten("view.dtype"),
  reshape: aten("reshape"),
  transpose: aten("transpose.int"),
  permute: aten("permute"),
  t: aten("t"),
  squeeze: aten("squeeze.dim"),
  unsqueeze: aten("unsqueeze"),
  expand: aten("expand"),
  repeat: aten("repeat"),
  repeatInterleave: aten("repeat_interleave.self_int"),
  repeatInterleaveTensor: aten("repeat_interleave.self_Tensor"),
  flatten: aten("flatten.using_ints"),
  narrow: aten("narrow"),
  select: aten("select.int"),
  slice: aten("slice.Tensor"),
  split: aten("split.Tensor"),
  splitSizes: aten("split_with_sizes"),
  chunk: aten("chunk"),
  unbind: aten("unbind.int"),
  contiguous: aten("contiguous"),
  clone: aten("clone"),
  detach: aten("detach"),
  alias: aten("alias"),
  toDtype: aten("to.dtype"),
  toDevice: aten("to.device"),
  flip: aten("flip"),
  roll: aten("roll"),
  tril: aten("tril"),
  triu: aten("triu"),
  diagonal: aten("diagonal"),
  pad: aten("constant_pad_nd"),
};

export class ShapeTensor extends ReductionTensor {
  /** Another shape over the same memory; one size may be −1. */
  view(shape: readonly number[]): Tensor {
    return invoke2(op.view, this.handle, shape);
  }

  /** The same bytes read as another dtype. */
  viewAs(dtype: Dtype): Tensor {
    return invoke2(op.viewDtype, this.handle, dtype);
  }

  /** Another shape; copies where a view cannot do it. */
  reshape(shape: readonly number[]): Tensor {
    return invoke2(op.reshape, this.handle, shape);
  }

  transpose(a: number, b: number): Tensor {
    return invoke3(op.transpose, this.handle, a, b);
  }

  permute(dims: readonly number[]): Tensor {
    return invoke2(op.permute, this.handle, dims);
  }

  /** The transpose of a matrix. */
  t(): Tensor {
    return invoke1(op.t, this.handle);
  }

  squeeze(dim: number): Tensor {
    return invoke2(op.squeeze, this.handle, dim);
  }

  unsqueeze(dim: number): Tensor {
    return invoke2(op.unsqueeze, this.handle, dim);
  }

  /** Repeats dimensions of size 1 without copying; −1 keeps a size. */
  expand(shape: readonly number[]): Tensor {
    return invoke2(op.expand, this.handle, shape);
  }

  /** Copies of the whole, side by side per dimension. */
  repeat(counts: readonly number[]): Tensor {
    return invoke2(op.repeat, this.handle, counts);
  }

  /** Each element several times in a row; counts may differ per element. */
  repeatInterleave(counts: number | TensorCore, dim?: number): Tensor {
    return typeof counts === "number"
      ? invoke3(op.repeatInterleave, this.handle, counts, dim)
      : invoke3(op.repeatInterleaveTensor, this.handle, counts.handle, dim);
  }

  flatten(startDim?: number, endDim?: number): Tensor {
    return invoke3(op.flatten, this.handle, startDim, endDim);
  }

  /** `length` entries of a dimension from `start`, as a view. */
  narrow(dim: number, start: number, length: number): Tensor {
    return invoke(op.narrow, this.handle, dim, start, length);
  }

  /** One entry of a dimension, as a view without that dimension. */
  select(dim: number, index: number): Tensor {
    return invoke3(op.select, this.handle, dim, index);
  }

  /** Entries start to end (not included) of a dimension, as a view. */
  slice(dim: number, start?: number, end?: number, step?: number): Tensor {
    return invoke(op.slice, this.handle, dim, start, end, step);
  }

  /** Pieces of one size (the last may be smaller), or of the sizes given. */
  split(sizes: number | readonly number[], dim = 0): Tensor[] {
    return invokeMany(
      typeof sizes === "number" ? op.split : op.splitSizes,
      this.handle,
      sizes,
      dim,
    );
  }

  /** At most that many pieces of about equal size. */
  chunk(count: number, dim = 0): Tensor[] {
    return invokeMany(op.chunk, this.handle, count, dim);
  }

  /** The entries of a dimension as tensors. */
  unbind(dim = 0): Tensor[] {
    return invokeMany(op.unbind, this.handle, dim);
  }

  contiguous(): Tensor {
    return invoke1(op.contiguous, this.handle);
  }

  clone(): Tensor {
    return invoke1(op.clone, this.handle);
  }

  /** The same memory without history: gradients stop here. */
  detach(): Tensor {
    return invoke1(op.detach, this.handle);
  }

  /** Another tensor over the same memory with the same history. */
  alias(): Tensor {
    return invoke1(op.alias, this.handle);
  }

  /** Another dtype; the same memory if it already has it. */
  to(dtype: Dtype): Tensor {
    return invoke2(op.toDtype, this.handle, dtype);
  }

  /** Another device, and another dtype on the way. */
  toDevice(device: Device, dtype: Dtype = this.dtype): Tensor {
    return invoke3(op.toDevice, this.handle, device, dtype);
  }

  flip(dims: readonly number[]): Tensor {
    return invoke2(op.flip, this.handle, dims);
  }

  roll(shifts: number, dim: number): Tensor {
    return invoke3(op.roll, this.handle, [shifts], [dim]);
  }

  /** The lower triangle, zeros above. */
  tril(diagonal?: number): Tensor {
    return invoke2(op.tril, this.handle, diagonal);
  }

  /** The upper triangle, zeros below. */
  triu(diagonal?: number): Tensor {
    return invoke2(op.triu, this.handle, diagonal);
  }

  diagonal(offset?: number): Tensor {
    return invoke2(op.diagonal, this.handle, offset);
  }

  /** Constant values around: [before last, after last, before second to last, …]. */
  pad(widths: readonly number[], value?: number): Tensor {
    return invoke3(op.pad, this.handle, widths, value);
  }
}
