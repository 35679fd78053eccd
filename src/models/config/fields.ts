/**
 * @file Typed reading of a JSON object's keys: what is missing or wrong is an error with the key.
 *
 * As in transformers, `null` stands for a key that is not there.
 */
import { ModelFileError } from "../checkpoint/errors.ts";
import { isJsonObject, type JsonObject } from "../checkpoint/json.ts";

const LARGEST = 2 ** 31 - 1;

export class Fields {
  readonly #json: JsonObject;
  readonly #file: string;
  readonly #prefix: string;

  constructor(json: JsonObject, file: string, prefix = "") {
    this.#json = json;
    this.#file = file;
    this.#prefix = prefix;
  }

  /** An error about one key. */
  fail(key: string, reason: string): never {
    throw new ModelFileError(this.#file, `${this.#prefix}${key} ${reason}`);
  }

  keys(): string[] {
    return Object.keys(this.#json).filter((key) => this.has(key));
  }

  /** Whether the key is there, and not null. */
  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  /** Whether the key is there and says null: sometimes that means "none", not "default". */
  isNull(key: string): boolean {
    return Object.hasOwn(this.#json, key) && this.#json[key] === null;
  }

  raw(key: string): unknown {
    return Object.hasOwn(this.#json, key) ? (this.#json[key] ?? undefined) : undefined;
  }

  /** An integer; the upper limit keeps a hostile file from making us allocate its number. */
  integer(key: string, fallback?: number, minimum = 1, maximum = LARGEST): number {
    const value = this.#value(key, fallback);
    if (Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum)
      return value as number;
    return this.fail(key, `is ${show(value)}; expected an integer from ${minimum} to ${maximum}`);
  }

  /** A finite number above `above`. */
  number(key: string, fallback?: number, above = 0): number {
    const value = this.#value(key, fallback);
    if (typeof value === "number" && Number.isFinite(value) && value > above) return value;
    return this.fail(key, `is ${show(value)}; expected a number above ${above}`);
  }

  /** A finite number that may be zero. */
  nonNegative(key: string, fallback?: number): number {
    const value = this.#value(key, fallback);
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    return this.fail(key, `is ${show(value)}; expected a number of at least 0`);
  }

  boolean(key: string, fallback?: boolean): boolean {
    const value = this.#value(key, fallback);
    if (typeof value === "boolean") return value;
    return this.fail(key, `is ${show(value)}; expected true or false`);
  }

  string(key: string, fallback?: string): string {
    const value = this.#value(key, fallback);
    if (typeof value === "string") return value;
    return this.fail(key, `is ${show(value)}; expected a string`);
  }

  /** A list of strings, or undefined. */
  strings(key: string): readonly string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
    return this.fail(key, `is ${show(value)}; expected a list of strings`);
  }

  /** An object's fields, or undefined. */
  object(key: string): Fields | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (isJsonObject(value)) return new Fields(value, this.#file, `${this.#prefix}${key}.`);
    return this.fail(key, `is ${show(value)}; expected an object`);
  }

  #value(key: string, fallback: unknown): unknown {
    const value = this.raw(key) ?? fallback;
    return value === undefined ? this.fail(key, "is missing") : value;
  }
}

/** A value for a message, not too long. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
