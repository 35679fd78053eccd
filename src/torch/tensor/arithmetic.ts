/**
 * @file Arithmetic on tensors, element by element, with broadcasting.
 */
import { TensorCore } from "./core.ts";
import { aten, invoke, invoke1, invoke2, invoke3 } from "./invoke.ts";
import type { Tensor } from "./tensor.ts";

/** The other side of an operator: a tensor, or a number that stands for one. */
export type Operand = TensorCore | number;

const op = {
  addTensor: aten("add.Tensor"),
  addScalar: aten("add.Scalar"),
  subTensor: aten("sub.Tensor"),
  subScalar: aten("sub.Scalar"),
  mulTensor: aten("mul.Tensor"),
  mulScalar: aten("mul.Scalar"),
  divTensor: aten("div.Tensor"),
  divScalar: aten("div.Scalar"),
  divTensorMode: aten("div.Tensor_mode"),
  divScalarMode: aten("div.Scalar_mode"),
  remainderTensor: aten("remainder.Tensor"),
  remainderScalar: aten("remainder.Scalar"),
  powTensor: aten("pow.Tensor_Tensor"),
  powScalar: aten("pow.Tensor_Scalar"),
  reverseSubtract: aten("rsub.Scalar"),
  neg: aten("neg"),
  abs: aten("abs"),
  sign: aten("sign"),
  square: aten("square"),
  reciprocal: aten("reciprocal"),
  sqrt: aten("sqrt"),
  rsqrt: aten("rsqrt"),
  exp: aten("exp"),
  expm1: aten("expm1"),
  log: aten("log"),
  log1p: aten("log1p"),
  sin: aten("sin"),
  cos: aten("cos"),
  tanh: aten("tanh"),
  erf: aten("erf"),
  floor: aten("floor"),
  ceil: aten("ceil"),
  round: aten("round"),
  trunc: aten("trunc"),
  clamp: aten("clamp"),
  clampTensor: aten("clamp.Tensor"),
  minimum: aten("minimum"),
  maximum: aten("maximum"),
  lerpScalar: aten("lerp.Scalar"),
  lerpTensor: aten("lerp.Tensor"),
  addcmul: aten("addcmul"),
  addcdiv: aten("addcdiv"),
  nanToNum: aten("nan_to_num"),
};

export class ArithmeticTensor extends TensorCore {
  /** this + alpha · other */
  add(other: Operand, alpha?: number): Tensor {
    return other instanceof TensorCore
      ? invoke3(op.addTensor, this.handle, other.handle, alpha)
      : invoke3(op.addScalar, this.handle, other, alpha);
  }

  /** this − alpha · other */
  sub(other: Operand, alpha?: number): Tensor {
    return other instanceof TensorCore
      ? invoke3(op.subTensor, this.handle, other.handle, alpha)
      : invoke3(op.subScalar, this.handle, other, alpha);
  }

  /** other − this */
  rsub(other: number): Tensor {
    return invoke2(op.reverseSubtract, this.handle, other);
  }

  mul(other: Operand): Tensor {
    return other instanceof TensorCore
      ? invoke2(op.mulTensor, this.handle, other.handle)
      : invoke2(op.mulScalar, this.handle, other);
  }

  /** True division, or with a rounding mode (`floor`, `trunc`) integer division. */
  div(other: Operand, rounding?: "floor" | "trunc"): Tensor {
    if (rounding !== undefined)
      return other instanceof TensorCore
        ? invoke3(op.divTensorMode, this.handle, other.handle, rounding)
        : invoke3(op.divScalarMode, this.handle, other, rounding);
    return other instanceof TensorCore
      ? invoke2(op.divTensor, this.handle, other.handle)
      : invoke2(op.divScalar, this.handle, other);
  }

  /** The remainder with the sign of the divisor, as in Python. */
  remainder(other: Operand): Tensor {
    return other instanceof TensorCore
      ? invoke2(op.remainderTensor, this.handle, other.handle)
      : invoke2(op.remainderScalar, this.handle, other);
  }

  pow(exponent: Operand): Tensor {
    return exponent instanceof TensorCore
      ? invoke2(op.powTensor, this.handle, exponent.handle)
      : invoke2(op.powScalar, this.handle, exponent);
  }

  neg(): Tensor {
    return invoke1(op.neg, this.handle);
  }

  abs(): Tensor {
    return invoke1(op.abs, this.handle);
  }

  sign(): Tensor {
    return invoke1(op.sign, this.handle);
  }

  square(): Tensor {
    return invoke1(op.square, this.handle);
  }

  reciprocal(): Tensor {
    return invoke1(op.reciprocal, this.handle);
  }

  sqrt(): Tensor {
    return invoke1(op.sqrt, this.handle);
  }

  /** 1 / √this */
  rsqrt(): Tensor {
    return invoke1(op.rsqrt, this.handle);
  }

  exp(): Tensor {
    return invoke1(op.exp, this.handle);
  }

  /** e^this − 1, exact near 0. */
  expm1(): Tensor {
    return invoke1(op.expm1, this.handle);
  }

  log(): Tensor {
    return invoke1(op.log, this.handle);
  }

  /** log(1 + this), exact near 0. */
  log1p(): Tensor {
    return invoke1(op.log1p, this.handle);
  }

  sin(): Tensor {
    return invoke1(op.sin, this.handle);
  }

  cos(): Tensor {
    return invoke1(op.cos, this.handle);
  }

  tanh(): Tensor {
    return invoke1(op.tanh, this.handle);
  }

  erf(): Tensor {
    return invoke1(op.erf, this.handle);
  }

  floor(): Tensor {
    return invoke1(op.floor, this.handle);
  }

  ceil(): Tensor {
    return invoke1(op.ceil, this.handle);
  }

  /** To the nearest integer, halves to even. */
  round(): Tensor {
    return invoke1(op.round, this.handle);
  }

  trunc(): Tensor {
    return invoke1(op.trunc, this.handle);
  }

  /** Limits values to [minimum, maximum]; null leaves a side open. */
  clamp(minimum: number | null, maximum: number | null = null): Tensor {
    return invoke3(op.clamp, this.handle, minimum, maximum);
  }

  /** `clamp` with limits per element. */
  clampTensor(minimum: TensorCore | null, maximum: TensorCore | null = null): Tensor {
    return invoke3(op.clampTensor, this.handle, minimum?.handle, maximum?.handle);
  }

  /** The smaller of both, element by element. */
  minimum(other: TensorCore): Tensor {
    return invoke2(op.minimum, this.handle, other.handle);
  }

  /** The larger of both, element by element. */
  maximum(other: TensorCore): Tensor {
    return invoke2(op.maximum, this.handle, other.handle);
  }

  /** this + weight · (end − this) */
  lerp(end: TensorCore, weight: Operand): Tensor {
    return weight instanceof TensorCore
      ? invoke3(op.lerpTensor, this.handle, end.handle, weight.handle)
      : invoke3(op.lerpScalar, this.handle, end.handle, weight);
  }

  /** this + value · a · b */
  addcmul(a: TensorCore, b: TensorCore, value?: number): Tensor {
    return invoke(op.addcmul, this.handle, a.handle, b.handle, value);
  }

  /** this + value · a / b */
  addcdiv(a: TensorCore, b: TensorCore, value?: number): Tensor {
    return invoke(op.addcdiv, this.handle, a.handle, b.handle, value);
  }

  /** Replaces NaN and the infinities. */
  nanToNum(nan?: number, positiveInfinity?: number, negativeInfinity?: number): Tensor {
    return invoke(op.nanToNum, this.handle, nan, positiveInfinity, negativeInfinity);
  }
}
