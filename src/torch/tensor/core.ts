/**
 * @file What every tensor is: a handle, its facts, its values.
 *
 * The Tensor class is a chain of short classes, one per family of operators (arithmetic, reductions,
 * shape, …), each in its own file; this is the first link, `tensor.ts` the last.
 */
import { adopt, insideScope, releaseNow } from "../lifetime.ts";
import { type Handle, native, type TypedArray } from "../native.ts";
import type { Tensor } from "./tensor.ts";

export type Dtype =
  | "float32"
  | "float64"
  | "bfloat16"
  | "float16"
  | "int64"
  | "int32"
  | "int16"
  | "int8"
  | "uint8"
  | "bool";

/** `cpu`, `cuda` or `cuda:1`. */
export type Device = string;

/** Nested arrays of values, as `toArray` gives them. */
export type Nested = number | boolean | Nested[];

export const ELEMENT_BYTES: Record<Dtype, number> = {
  float32: 4,
  float64: 8,
  bfloat16: 2,
  float16: 2,
  int64: 8,
  int32: 4,
  int16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
};

export class TensorCore {
  readonly handle: Handle;
  /** Set while the garbage collector is responsible for the tensor; see lifetime.ts. */
  adoptedBytes: number | undefined = undefined;

  constructor(handle: Handle) {
    this.handle = handle;
  }

  /** Sizes per dimension. */
  get shape(): number[] {
    return native.shape(this.handle);
  }

  get strides(): number[] {
    return native.strides(this.handle);
  }

  get dtype(): Dtype {
    return native.dtype(this.handle) as Dtype;
  }

  get device(): Device {
    return native.device(this.handle);
  }

  /** How many elements. */
  get numel(): number {
    return native.elementCount(this.handle);
  }

  get ndim(): number {
    return native.shape(this.handle).length;
  }

  /** Bytes of the elements (of a view: of what it shows, not of what it keeps alive). */
  get byteLength(): number {
    return this.numel * (ELEMENT_BYTES[this.dtype] ?? 16);
  }

  get isContiguous(): boolean {
    return native.isContiguous(this.handle);
  }

  get isDisposed(): boolean {
    return !native.isLive(this.handle);
  }

  /** The size of one dimension; negative counts from the last. */
  size(dim: number): number {
    const shape = this.shape;
    const size = shape[dim < 0 ? dim + shape.length : dim];
    if (size === undefined)
      throw new RangeError(`size: dimension ${dim} of a tensor with ${shape.length} dimensions`);
    return size;
  }

  /** Whether both look at the same memory. */
  sharesStorageWith(other: TensorCore): boolean {
    return native.sharesStorage(this.handle, other.handle);
  }

  /** Frees the tensor now. Its memory goes when no view, graph or parameter uses it any more. */
  dispose(): void {
    releaseNow(this);
  }

  [Symbol.dispose](): void {
    releaseNow(this);
  }

  /** The only element as a number (booleans as 0 and 1). */
  item(): number {
    if (this.numel !== 1)
      throw new Error(`item: expected a tensor with one element, got shape [${this.shape}]`);
    return native.readNumbers(this.handle)[0]!;
  }

  /** All values in order, as numbers. An int64 that a number cannot hold is an error. */
  toNumbers(): Float64Array {
    return native.readNumbers(this.handle);
  }

  /** Nested arrays; a bool tensor gives booleans, a tensor without dimensions a bare value. */
  toArray(): Nested {
    const values = native.readNumbers(this.handle);
    const convert: (value: number) => number | boolean =
      this.dtype === "bool" ? (value) => value !== 0 : (value) => value;
    const shape = this.shape;
    let position = 0;
    const build = (depth: number): Nested =>
      depth === shape.length
        ? convert(values[position++]!)
        : Array.from({ length: shape[depth]! }, () => build(depth + 1));
    return build(0);
  }

  /**
   * A copy of the values in the typed array of the dtype: int64 as BigInt64Array, bool as Uint8Array,
   * bfloat16 and float16 widened to Float32Array.
   */
  toTypedArray(): TypedArray {
    return native.readValues(this.handle);
  }

  /** The tensor's own memory as a typed array: no copy, and writes go both ways. */
  shareTypedArray(): TypedArray {
    return native.shareValues(this.handle);
  }

  // Autograd facts; the functions are in autograd.ts.

  get requiresGrad(): boolean {
    return native.requiresGrad(this.handle);
  }

  get isLeaf(): boolean {
    return native.isLeaf(this.handle);
  }

  /** Turns recording of gradients for this leaf on or off. */
  requiresGrad_(value = true): this {
    native.setRequiresGrad(this.handle, value);
    return this;
  }

  /** The accumulated gradient, as a tensor of its own handle (dispose it, or be inside `tidy`). */
  get grad(): Tensor | null {
    const handle = native.gradient(this.handle);
    return handle === null ? null : wrap(handle);
  }

  set grad(value: TensorCore | null) {
    native.setGradient(this.handle, value === null ? null : value.handle);
  }

  toString(): string {
    if (this.isDisposed) return "Tensor(disposed)";
    const grad = this.requiresGrad ? ", requires grad" : "";
    const where = this.device === "cpu" ? "" : ` on ${this.device}`;
    const values = this.numel <= 12 ? ` ${displayedValues(this)}` : "";
    return `Tensor ${this.dtype}[${this.shape.join(", ")}]${where}${grad}${values}`;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** Of any tensor without an error: int64 that no number holds as they are, complex ones not at all. */
function displayedValues(tensor: TensorCore): string {
  try {
    return JSON.stringify(tensor.toArray(), roundForDisplay);
  } catch {
    return tensor.dtype === "int64" ? `[${tensor.toTypedArray().join(",")}]` : "…";
  }
}

function roundForDisplay(_key: string, value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Number.isFinite(value) ? Number(value.toPrecision(5)) : String(value);
}

let TensorClass: new (handle: Handle) => Tensor;

/** Told once by the last link of the chain, which this file cannot import without a cycle. */
export function constructTensorsWith(tensorClass: new (handle: Handle) => Tensor): void {
  TensorClass = tensorClass;
}

/** A Tensor for a fresh handle, owned by the current scope or, outside scopes, by a finalizer. */
export function wrap(handle: Handle): Tensor {
  const tensor = new TensorClass(handle);
  if (!insideScope()) adopt(tensor, tensor.byteLength);
  return tensor;
}
