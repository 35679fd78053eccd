/**
 * @file New tensors: from values, constant, random, over foreign memory.
 */
import { markAsUntransferable } from "node:worker_threads";
import type { Generator } from "./generator.ts";
import { native, type TypedArray } from "./native.ts";
import type { Device, Dtype } from "./tensor/core.ts";
import { wrap } from "./tensor/core.ts";
import { aten, invoke } from "./tensor/invoke.ts";
import type { Tensor } from "./tensor/tensor.ts";

export interface CreationOptions {
  /** Default: float32 for numbers, int64 for bigints, bool for booleans, its own for a typed array. */
  dtype?: Dtype;
  device?: Device;
  requiresGrad?: boolean;
}

/** Numbers, booleans or bigints in nested arrays of one shape. */
export type Values = number | boolean | bigint | readonly Values[];

const op = {
  zeros: aten("zeros"),
  ones: aten("ones"),
  full: aten("full"),
  empty: aten("empty.memory_format"),
  arange: aten("arange.start_step"),
  linspace: aten("linspace"),
  eye: aten("eye.m"),
  zerosLike: aten("zeros_like"),
  onesLike: aten("ones_like"),
  fullLike: aten("full_like"),
  emptyLike: aten("empty_like"),
  randn: aten("randn.generator"),
  rand: aten("rand.generator"),
  randint: aten("randint.low_generator"),
  randperm: aten("randperm.generator"),
  multinomial: aten("multinomial"),
  bernoulli: aten("bernoulli"),
};

function finish(tensor: Tensor, { requiresGrad }: CreationOptions): Tensor {
  return requiresGrad ? tensor.requiresGrad_() : tensor;
}

const TYPED_ARRAYS: { array: new (length: number) => TypedArray; dtype: Dtype }[] = [
  { array: Float32Array, dtype: "float32" },
  { array: Float64Array, dtype: "float64" },
  { array: BigInt64Array, dtype: "int64" },
  { array: Int32Array, dtype: "int32" },
  { array: Int16Array, dtype: "int16" },
  { array: Int8Array, dtype: "int8" },
  { array: Uint8Array, dtype: "uint8" },
];

function dtypeOfArray(values: TypedArray): Dtype {
  const entry = TYPED_ARRAYS.find(({ array }) => values instanceof array);
  if (!entry)
    throw new TypeError(
      `tensor: no dtype holds the values of a ${Object.prototype.toString.call(values).slice(8, -1)}`,
    );
  return entry.dtype;
}

/** A tensor with a copy of a typed array's values, in one dimension or the shape given. */
export function fromTypedArray(
  values: TypedArray,
  shape: readonly number[] = [values.length],
  options: CreationOptions = {},
): Tensor {
  const dtype = dtypeOfArray(values);
  requireLength(shape, values.length);
  const { buffer, byteOffset } = values;
  if (options.device && options.device !== "cpu") {
    const { device, dtype: as = dtype } = options;
    return finish(
      wrap(native.fromBuffer(buffer, byteOffset, shape, dtype, false, device, as)),
      options,
    );
  }
  let tensor = wrap(native.fromBuffer(buffer, byteOffset, shape, dtype, false));
  if (options.dtype && options.dtype !== dtype) tensor = replace(tensor, tensor.to(options.dtype));
  return finish(tensor, options);
}

/**
 * A tensor over an array's own memory: no copy, writes go both ways, and the memory lives as long as
 * either. bfloat16 and float16 come as their raw bytes with the dtype said.
 */
export function shareMemory(
  values: TypedArray,
  shape?: readonly number[],
  dtype: Dtype = dtypeOfArray(values),
): Tensor {
  const { buffer, byteOffset } = values;
  if (dtype === dtypeOfArray(values)) {
    requireLength(shape ?? [values.length], values.length);
  } else if (shape === undefined) {
    throw new TypeError("shareMemory: a dtype of its own needs a shape");
  }
  const shared = native.fromBuffer(buffer, byteOffset, shape ?? [values.length], dtype, true);
  // A transfer to another thread would take the memory away from under the tensor.
  markAsUntransferable(buffer);
  return wrap(shared);
}

/**
 * A file's bytes as a uint8 tensor, mapped into memory and not read until used. "private": the file
 * never changes; "shared": writes go to the file. Use `narrow` and `viewAs` for the values within.
 */
export function mapFile(path: string, mode: "private" | "shared" = "private"): Tensor {
  return wrap(native.mapFile(path, mode));
}

function requireLength(shape: readonly number[], length: number): void {
  const expected = shape.reduce((product, size) => product * size, 1);
  if (expected !== length)
    throw new RangeError(`tensor: shape [${shape}] has ${expected} elements, the data ${length}`);
}

function replace(old: Tensor, next: Tensor): Tensor {
  old.dispose();
  return next;
}

/** A tensor from a value, nested arrays, or a typed array (then the values are copied). */
export function tensor(values: Values | TypedArray, options: CreationOptions = {}): Tensor {
  if (ArrayBuffer.isView(values)) return fromTypedArray(values as TypedArray, undefined, options);
  const shape = shapeOf(values);
  const flat: (number | boolean | bigint)[] = [];
  flatten(values, shape, 0, [], flat);
  const kind = typeof flat[0];
  if (options.dtype === undefined && !flat.every((value) => typeof value === kind))
    throw new TypeError("tensor: expected values of one kind; say a dtype to mix them");
  const dtype =
    options.dtype ?? (kind === "boolean" ? "bool" : kind === "bigint" ? "int64" : "float32");
  return fromTypedArray(pack(flat, dtype), shape, { ...options, dtype });
}

function shapeOf(values: Values): number[] {
  const shape: number[] = [];
  let level: Values | undefined = values;
  while (Array.isArray(level)) {
    shape.push(level.length);
    level = level[0] as Values | undefined;
  }
  return shape;
}

function flatten(
  values: Values,
  shape: readonly number[],
  depth: number,
  place: readonly number[],
  flat: (number | boolean | bigint)[],
): void {
  const expected = shape[depth];
  if (Array.isArray(values) !== (expected !== undefined))
    throw new TypeError(
      `tensor: at [${place}] expected ${expected === undefined ? "a value" : "an array"}: ` +
        "all arrays must have the same depth",
    );
  if (!Array.isArray(values)) {
    const type = typeof values;
    if (type !== "number" && type !== "boolean" && type !== "bigint")
      throw new TypeError(`tensor: at [${place}] expected a number, got ${type}`);
    flat.push(values as number | boolean | bigint);
    return;
  }
  if (values.length !== expected)
    throw new TypeError(
      `tensor: at [${place}] expected ${expected} entries as in the first array, got ${values.length}`,
    );
  for (let i = 0; i < values.length; i++)
    flatten(values[i] as Values, shape, depth + 1, [...place, i], flat);
}

/** Values in the typed array that loses least on the way to a dtype. */
function pack(flat: readonly (number | boolean | bigint)[], dtype: Dtype): TypedArray {
  const bits = INTEGER_BITS[dtype];
  if (bits !== undefined) for (const value of flat) requireInteger(value, dtype, bits);
  if (dtype === "int64") return BigInt64Array.from(flat, BigInt);
  if (dtype === "float32") return Float32Array.from(flat, Number);
  return Float64Array.from(flat, Number);
}

const INTEGER_BITS: Partial<Record<Dtype, number>> = {
  int64: 64,
  int32: 32,
  int16: 16,
  int8: 8,
  uint8: 8,
};

function requireInteger(value: number | boolean | bigint, dtype: Dtype, bits: number): void {
  if (typeof value === "number" && !Number.isInteger(value))
    throw new TypeError(`tensor: ${value} is not an integer, but the dtype is ${dtype}`);
  const integer = BigInt(value);
  const wrapped = dtype === "uint8" ? BigInt.asUintN(bits, integer) : BigInt.asIntN(bits, integer);
  if (wrapped !== integer) throw new RangeError(`tensor: ${integer} does not fit into ${dtype}`);
}

export function zeros(shape: readonly number[], options: CreationOptions = {}): Tensor {
  return finish(invoke(op.zeros, shape, options.dtype ?? "float32", null, options.device), options);
}

export function ones(shape: readonly number[], options: CreationOptions = {}): Tensor {
  return finish(invoke(op.ones, shape, options.dtype ?? "float32", null, options.device), options);
}

export function full(
  shape: readonly number[],
  value: number,
  options: CreationOptions = {},
): Tensor {
  return finish(
    invoke(op.full, shape, value, options.dtype ?? "float32", null, options.device),
    options,
  );
}

/** Memory as it comes: write before you read. */
export function empty(shape: readonly number[], options: CreationOptions = {}): Tensor {
  return finish(invoke(op.empty, shape, options.dtype ?? "float32", null, options.device), options);
}

/** start, start + step, … below end. Default: int64. */
export function arange(
  start: number,
  end: number,
  step = 1,
  options: CreationOptions = {},
): Tensor {
  const integral = [start, end, step].every(Number.isInteger);
  const dtype = options.dtype ?? (integral ? "int64" : "float32");
  return finish(invoke(op.arange, start, end, step, dtype, null, options.device), options);
}

/** `count` values from start to end, both included. */
export function linspace(
  start: number,
  end: number,
  count: number,
  options: CreationOptions = {},
): Tensor {
  const dtype = options.dtype ?? "float32";
  return finish(invoke(op.linspace, start, end, count, dtype, null, options.device), options);
}

/** Ones on the diagonal. */
export function eye(rows: number, columns = rows, options: CreationOptions = {}): Tensor {
  const dtype = options.dtype ?? "float32";
  return finish(invoke(op.eye, rows, columns, dtype, null, options.device), options);
}

export function zerosLike(other: Tensor, dtype?: Dtype): Tensor {
  return invoke(op.zerosLike, other.handle, dtype);
}

export function onesLike(other: Tensor, dtype?: Dtype): Tensor {
  return invoke(op.onesLike, other.handle, dtype);
}

export function fullLike(other: Tensor, value: number, dtype?: Dtype): Tensor {
  return invoke(op.fullLike, other.handle, value, dtype);
}

export function emptyLike(other: Tensor, dtype?: Dtype): Tensor {
  return invoke(op.emptyLike, other.handle, dtype);
}

// Random tensors live on their generator's device.

/** Normal with mean 0 and standard deviation 1. */
export function randn(
  shape: readonly number[],
  generator: Generator,
  options: CreationOptions = {},
): Tensor {
  const dtype = options.dtype ?? "float32";
  return finish(invoke(op.randn, shape, generator.handle, dtype, null, generator.device), options);
}

/** Uniform in [0, 1). */
export function rand(
  shape: readonly number[],
  generator: Generator,
  options: CreationOptions = {},
): Tensor {
  const dtype = options.dtype ?? "float32";
  return finish(invoke(op.rand, shape, generator.handle, dtype, null, generator.device), options);
}

/** Integers from low to high (not included). */
export function randint(
  low: number,
  high: number,
  shape: readonly number[],
  generator: Generator,
  options: CreationOptions = {},
): Tensor {
  const dtype = options.dtype ?? "int64";
  return invoke(op.randint, low, high, shape, generator.handle, dtype, null, generator.device);
}

/** 0 … count − 1 in random order. */
export function randperm(count: number, generator: Generator): Tensor {
  return invoke(op.randperm, count, generator.handle, "int64", null, generator.device);
}

/** Draws indices with probabilities proportional to the weights of each row. */
export function multinomial(
  weights: Tensor,
  draws: number,
  generator: Generator,
  replacement = false,
): Tensor {
  return invoke(op.multinomial, weights.handle, draws, replacement, generator.handle);
}

/** Ones with the probability that each element says, zeros otherwise. */
export function bernoulli(probabilities: Tensor, generator: Generator): Tensor {
  return invoke(op.bernoulli, probabilities.handle, generator.handle);
}
