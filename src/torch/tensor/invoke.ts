/**
 * @file The short way from a typed method to the native door.
 *
 * Operators are looked up at their first use and then known by index. The functions by number of
 * arguments exist because this is the hot path: no arrays, no spreading.
 */
import { type Handle, native } from "../native.ts";
import { wrap } from "./core.ts";
import type { Tensor } from "./tensor.ts";

export class Operator {
  /** With its namespace, and its overload after a dot: `aten::add.Tensor`. */
  readonly name: string;
  private resolved = -1;

  constructor(name: string) {
    this.name = name;
  }

  get index(): number {
    return this.resolved >= 0 ? this.resolved : this.resolve();
  }

  private resolve(): number {
    const [name, overload = ""] = this.name.split(".") as [string, string?];
    this.resolved = native.findOperator(name, overload);
    if (this.resolved < 0) throw new Error(`this libtorch has no operator ${this.name}`);
    return this.resolved;
  }
}

/** An ATen operator by its name without the namespace: `add.Tensor`. */
export function aten(name: string): Operator {
  return new Operator(`aten::${name}`);
}

/** One of our own operators (native/): `rms_norm`. */
export function openmanus(name: string): Operator {
  return new Operator(`openmanus::${name}`);
}

export function invoke1(operator: Operator, a: unknown): Tensor {
  return wrap(native.call(operator.index, a) as Handle);
}

export function invoke2(operator: Operator, a: unknown, b: unknown): Tensor {
  return wrap(native.call(operator.index, a, b) as Handle);
}

export function invoke3(operator: Operator, a: unknown, b: unknown, c: unknown): Tensor {
  return wrap(native.call(operator.index, a, b, c) as Handle);
}

export function invoke(operator: Operator, ...values: unknown[]): Tensor {
  return wrap(native.call(operator.index, ...values) as Handle);
}

/** For operators with several tensor results, or a list of tensors as their only one. */
export function invokeMany(operator: Operator, ...values: unknown[]): Tensor[] {
  return (native.call(operator.index, ...values) as Handle[]).map(wrap);
}

/** For in-place operators, whose result is the tensor that the caller already has. */
export function invokeInPlace(operator: Operator, ...values: unknown[]): void {
  native.call(operator.index, ...values);
}
