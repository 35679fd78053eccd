/**
 * @file Calls of a user's functions, which may give a value or a promise of one, and may fail.
 */
import { EnvironmentError } from "../environment.ts";

/** A value that is there, or will be. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Goes on with a value: at once where it is there, so that a world without promises has none. */
export function after<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

/** Runs `settled` when the work has ended, whether it went well or not. */
export function finallyAfter<Value>(
  work: () => Awaitable<Value>,
  settled: () => void,
): Awaitable<Value> {
  let value: Awaitable<Value>;
  try {
    value = work();
  } catch (error) {
    settled();
    throw error;
  }
  if (isThenable(value)) return Promise.resolve(value).finally(settled);
  settled();
  return value;
}

/**
 * Runs one of the user's functions; what it throws, or rejects with, becomes an EnvironmentError that
 * says which function it was.
 */
export function guarded<Result>(world: string, place: string, run: () => Result): Result {
  const failed = (error: unknown): never => {
    if (error instanceof EnvironmentError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new EnvironmentError(world, `its function ${place} failed: ${reason}`, { cause: error });
  };
  try {
    const result = run();
    return isThenable(result) ? (Promise.resolve(result).catch(failed) as Result) : result;
  } catch (error) {
    return failed(error);
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/** Freezes plain objects and arrays all the way down; what is frozen already is left out. */
export function frozen<Value>(value: Value): Value {
  const plain =
    Array.isArray(value) ||
    (typeof value === "object" && value !== null && isPlain(Object.getPrototypeOf(value)));
  if (!plain || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value as object)) frozen(part);
  return value;
}

function isPlain(prototype: object | null): boolean {
  return prototype === null || prototype === Object.prototype;
}
