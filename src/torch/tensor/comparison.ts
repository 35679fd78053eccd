/**
 * @file Comparisons and logic: results are bool tensors.
 */
import { ArithmeticTensor, type Operand } from "./arithmetic.ts";
import { TensorCore } from "./core.ts";
import { aten, invoke, invoke1, invoke2, type Operator } from "./invoke.ts";
import type { Tensor } from "./tensor.ts";

interface Comparison {
  tensor: Operator;
  scalar: Operator;
}

function comparison(name: string): Comparison {
  return { tensor: aten(`${name}.Tensor`), scalar: aten(`${name}.Scalar`) };
}

const op = {
  eq: comparison("eq"),
  ne: comparison("ne"),
  lt: comparison("lt"),
  le: comparison("le"),
  gt: comparison("gt"),
  ge: comparison("ge"),
  logicalAnd: aten("logical_and"),
  logicalOr: aten("logical_or"),
  logicalXor: aten("logical_xor"),
  logicalNot: aten("logical_not"),
  isnan: aten("isnan"),
  isinf: aten("isinf"),
  isfinite: aten("isfinite"),
  isclose: aten("isclose"),
};

function compare(operator: Comparison, a: TensorCore, b: Operand): Tensor {
  return b instanceof TensorCore
    ? invoke2(operator.tensor, a.handle, b.handle)
    : invoke2(operator.scalar, a.handle, b);
}

export class ComparisonTensor extends ArithmeticTensor {
  eq(other: Operand): Tensor {
    return compare(op.eq, this, other);
  }

  ne(other: Operand): Tensor {
    return compare(op.ne, this, other);
  }

  lt(other: Operand): Tensor {
    return compare(op.lt, this, other);
  }

  le(other: Operand): Tensor {
    return compare(op.le, this, other);
  }

  gt(other: Operand): Tensor {
    return compare(op.gt, this, other);
  }

  ge(other: Operand): Tensor {
    return compare(op.ge, this, other);
  }

  logicalAnd(other: TensorCore): Tensor {
    return invoke2(op.logicalAnd, this.handle, other.handle);
  }

  logicalOr(other: TensorCore): Tensor {
    return invoke2(op.logicalOr, this.handle, other.handle);
  }

  logicalXor(other: TensorCore): Tensor {
    return invoke2(op.logicalXor, this.handle, other.handle);
  }

  logicalNot(): Tensor {
    return invoke1(op.logicalNot, this.handle);
  }

  isnan(): Tensor {
    return invoke1(op.isnan, this.handle);
  }

  isinf(): Tensor {
    return invoke1(op.isinf, this.handle);
  }

  isfinite(): Tensor {
    return invoke1(op.isfinite, this.handle);
  }

  /** |this − other| ≤ absolute + relative · |other| */
  isclose(other: TensorCore, relative?: number, absolute?: number, equalNan?: boolean): Tensor {
    return invoke(op.isclose, this.handle, other.handle, relative, absolute, equalNan);
  }
}
