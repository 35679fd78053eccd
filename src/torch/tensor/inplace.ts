/**
 * @file Operators that write to the tensor itself (the trailing underscore is libtorch's sign for
 * it). On a leaf that requires gradients they need a `noGrad` around them.
 */
import type { Generator } from "../generator.ts";
import type { Operand } from "./arithmetic.ts";
import { TensorCore } from "./core.ts";
import { type Indices, lowerIndices } from "./indexing.ts";
import { aten, invokeInPlace } from "./invoke.ts";
import { NetworkTensor } from "./network.ts";

const op = {
  copy: aten("copy_"),
  zero: aten("zero_"),
  fill: aten("fill_.Scalar"),
  addTensor: aten("add_.Tensor"),
  addScalar: aten("add_.Scalar"),
  subTensor: aten("sub_.Tensor"),
  subScalar: aten("sub_.Scalar"),
  mulTensor: aten("mul_.Tensor"),
  mulScalar: aten("mul_.Scalar"),
  divTensor: aten("div_.Tensor"),
  divScalar: aten("div_.Scalar"),
  clamp: aten("clamp_"),
  sqrt: aten("sqrt_"),
  exp: aten("exp_"),
  lerp: aten("lerp_.Scalar"),
  addcmul: aten("addcmul_"),
  addcdiv: aten("addcdiv_"),
  maskedFill: aten("masked_fill_.Scalar"),
  indexPut: aten("index_put_"),
  indexAdd: aten("index_add_"),
  indexCopy: aten("index_copy_"),
  scatter: aten("scatter_.src"),
  scatterAdd: aten("scatter_add_"),
  normal: aten("normal_"),
  uniform: aten("uniform_"),
  bernoulli: aten("bernoulli_.float"),
};

export class InPlaceTensor extends NetworkTensor {
  /** Takes over the values of another tensor, broadcast and converted as needed. */
  copy_(source: TensorCore): this {
    invokeInPlace(op.copy, this.handle, source.handle);
    return this;
  }

  zero_(): this {
    invokeInPlace(op.zero, this.handle);
    return this;
  }

  fill_(value: number): this {
    invokeInPlace(op.fill, this.handle, value);
    return this;
  }

  add_(other: Operand, alpha?: number): this {
    if (other instanceof TensorCore) invokeInPlace(op.addTensor, this.handle, other.handle, alpha);
    else invokeInPlace(op.addScalar, this.handle, other, alpha);
    return this;
  }

  sub_(other: Operand, alpha?: number): this {
    if (other instanceof TensorCore) invokeInPlace(op.subTensor, this.handle, other.handle, alpha);
    else invokeInPlace(op.subScalar, this.handle, other, alpha);
    return this;
  }

  mul_(other: Operand): this {
    if (other instanceof TensorCore) invokeInPlace(op.mulTensor, this.handle, other.handle);
    else invokeInPlace(op.mulScalar, this.handle, other);
    return this;
  }

  div_(other: Operand): this {
    if (other instanceof TensorCore) invokeInPlace(op.divTensor, this.handle, other.handle);
    else invokeInPlace(op.divScalar, this.handle, other);
    return this;
  }

  clamp_(minimum: number | null, maximum: number | null = null): this {
    invokeInPlace(op.clamp, this.handle, minimum, maximum);
    return this;
  }

  sqrt_(): this {
    invokeInPlace(op.sqrt, this.handle);
    return this;
  }

  exp_(): this {
    invokeInPlace(op.exp, this.handle);
    return this;
  }

  /** this + weight · (end − this) */
  lerp_(end: TensorCore, weight: number): this {
    invokeInPlace(op.lerp, this.handle, end.handle, weight);
    return this;
  }

  addcmul_(a: TensorCore, b: TensorCore, value?: number): this {
    invokeInPlace(op.addcmul, this.handle, a.handle, b.handle, value);
    return this;
  }

  addcdiv_(a: TensorCore, b: TensorCore, value?: number): this {
    invokeInPlace(op.addcdiv, this.handle, a.handle, b.handle, value);
    return this;
  }

  maskedFill_(mask: TensorCore, value: number): this {
    invokeInPlace(op.maskedFill, this.handle, mask.handle, value);
    return this;
  }

  indexPut_(indices: Indices, values: TensorCore, accumulate?: boolean): this {
    invokeInPlace(op.indexPut, this.handle, lowerIndices(indices), values.handle, accumulate);
    return this;
  }

  indexAdd_(dim: number, index: TensorCore, source: TensorCore): this {
    invokeInPlace(op.indexAdd, this.handle, dim, index.handle, source.handle);
    return this;
  }

  indexCopy_(dim: number, index: TensorCore, source: TensorCore): this {
    invokeInPlace(op.indexCopy, this.handle, dim, index.handle, source.handle);
    return this;
  }

  scatter_(dim: number, index: TensorCore, source: TensorCore): this {
    invokeInPlace(op.scatter, this.handle, dim, index.handle, source.handle);
    return this;
  }

  scatterAdd_(dim: number, index: TensorCore, source: TensorCore): this {
    invokeInPlace(op.scatterAdd, this.handle, dim, index.handle, source.handle);
    return this;
  }

  normal_(generator: Generator, mean = 0, standardDeviation = 1): this {
    invokeInPlace(op.normal, this.handle, mean, standardDeviation, generator.handle);
    return this;
  }

  uniform_(generator: Generator, from = 0, to = 1): this {
    invokeInPlace(op.uniform, this.handle, from, to, generator.handle);
    return this;
  }

  /** Ones with a probability, zeros otherwise. */
  bernoulli_(generator: Generator, probability: number): this {
    invokeInPlace(op.bernoulli, this.handle, probability, generator.handle);
    return this;
  }
}
