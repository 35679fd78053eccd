/**
 * @file Lifetimes: who frees a tensor, and when.
 *
 * Native memory is invisible to the garbage collector, so lifetimes are explicit. Inside `tidy`,
 * whatever is created and not returned is freed when the scope ends; that is the normal way and
 * costs nothing per tensor. A tensor made outside any scope, returned out of the outermost one, or
 * kept with `keep`, is freed by `dispose`, or at last by a finalizer when it is garbage.
 */
import { type Handle, native } from "./native.ts";
import type { Tensor } from "./tensor/tensor.ts";

/** Anything with tensors in it that `tidy` can look through. */
export type TensorTree =
  | Tensor
  | readonly TensorTree[]
  | ReadonlyMap<unknown, unknown>
  | { readonly [key: string]: unknown };

/** What the lifetime functions need to know of a tensor or generator. */
export interface Owned {
  readonly handle: Handle;
  /** Set when a finalizer is responsible: the bytes V8 was told about. */
  adoptedBytes: number | undefined;
}

let openScopes = 0;

let sweep: () => void = () => {};

/** Told once by checkpoint.ts: what to do after tensors went, when no scope is open. */
export function afterReleases(action: () => void): void {
  sweep = action;
}

const finalizers = new FinalizationRegistry<{ handle: Handle; bytes: number }>(
  ({ handle, bytes }) => {
    native.release(handle);
    if (bytes > 0) native.adjustExternalMemory(-bytes);
    sweep();
  },
);

/** Whether the caller is inside a `tidy`. */
export function insideScope(): boolean {
  return openScopes > 0;
}

/** Makes the garbage collector responsible for a tensor or generator, as the safety net. */
export function adopt(owned: Owned, bytes: number): void {
  if (owned.adoptedBytes !== undefined) return;
  owned.adoptedBytes = bytes;
  finalizers.register(owned, { handle: owned.handle, bytes }, owned);
  if (bytes > 0) native.adjustExternalMemory(bytes);
}

/** Frees one tensor or generator now. Using it afterwards is an error; freeing it twice is not. */
export function releaseNow(owned: Owned): void {
  native.release(owned.handle);
  if (owned.adoptedBytes !== undefined) {
    finalizers.unregister(owned);
    if (owned.adoptedBytes > 0) native.adjustExternalMemory(-owned.adoptedBytes);
    owned.adoptedBytes = undefined;
  }
  if (openScopes === 0) sweep();
}

let isTensor: (value: unknown) => value is Tensor;

/** Told once by the Tensor class, which this file cannot import without a cycle. */
export function recogniseTensorsBy(test: (value: unknown) => value is Tensor): void {
  isTensor = test;
}

/** All tensors inside a value: in arrays, maps and plain objects, at any depth. */
export function tensorsIn(value: unknown, found: Tensor[] = []): Tensor[] {
  if (typeof value !== "object" || value === null) return found;
  if (isTensor(value)) {
    found.push(value);
  } else if (Array.isArray(value)) {
    for (const item of value) tensorsIn(item, found);
  } else if (value instanceof Map) {
    for (const item of value.values()) tensorsIn(item, found);
  } else {
    const prototype = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null)
      // A getter may compute, or throw; what it gives is somebody's already.
      for (const property of Object.values(Object.getOwnPropertyDescriptors(value)))
        if (property.enumerable && "value" in property) tensorsIn(property.value, found);
  }
  return found;
}

/**
 * Runs a function and frees every tensor it created, except those in its result (a tensor, or
 * arrays, maps and plain objects of tensors) and those given to `keep`.
 */
export function tidy<Result>(body: () => Result): Result {
  native.beginScope();
  openScopes++;
  let survivors: Tensor[] = [];
  let result: Result;
  try {
    result = body();
    if (result instanceof Promise)
      throw new Error(
        "tidy: the function returned a promise. Tensors made after an await would belong to the " +
          "wrong scope: await first, and call tidy around the synchronous part.",
      );
    survivors = tensorsIn(result);
  } finally {
    openScopes--;
    if (survivors.length === 0) native.endScope();
    else native.endScope(survivors.map((tensor) => tensor.handle));
    if (openScopes === 0) sweep();
  }
  if (openScopes === 0) for (const tensor of survivors) adopt(tensor, tensor.byteLength);
  return result;
}

/** Takes a tensor out of every `tidy` around it: it lives until disposed, or until garbage. */
export function keep<Kept extends TensorTree>(kept: Kept): Kept {
  for (const tensor of tensorsIn(kept)) {
    if (!native.keep(tensor.handle)) throw new Error("keep: the tensor was disposed already");
    adopt(tensor, tensor.byteLength);
  }
  return kept;
}

/** Frees all tensors in a value now. */
export function dispose(value: TensorTree): void {
  for (const tensor of tensorsIn(value)) releaseNow(tensor);
}

/** Live tensors of this thread, and the bytes of memory they hold (shared memory counted once). */
export function memory(): { tensors: number; bytes: number } {
  sweep();
  return { tensors: native.liveTensors(), bytes: native.liveBytes() };
}
