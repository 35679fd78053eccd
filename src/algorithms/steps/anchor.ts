/**
 * @file Anchor keys: when two anchor observations are the same. Numbers, strings and booleans by
 * value, arrays (typed ones too) element by element, objects by their sorted keys; anything else is
 * an error. Values of different types are different, also 1 and true and "1".
 */

/** Marks keys that are not plain text, so that no text can be mistaken for one. */
const NOT_TEXT = "\u0000";

/** A string that is equal for equal anchors only. A text is its own key: nothing is copied. */
export function anchorKey(anchor: unknown, step: number): string {
  if (typeof anchor === "string")
    return anchor.startsWith(NOT_TEXT) ? `${NOT_TEXT}text:${anchor}` : anchor;
  return NOT_TEXT + canonical(anchor, step);
}

function canonical(value: unknown, step: number): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "boolean") return String(value);
  // -0 and 0 are equal, and String makes no difference between them.
  if (typeof value === "number" && !Number.isNaN(value)) return String(value);
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)))
    return `[${Array.from(value as ArrayLike<unknown>, (item) => canonical(item, step)).join(",")}]`;
  if (isPlainObject(value)) {
    const entries = Object.keys(value).sort();
    const parts = entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key], step)}`);
    return `{${parts.join(",")}}`;
  }
  throw new TypeError(
    `The anchor of step ${step} contains ${describe(value)}; expected numbers, strings, booleans, ` +
      "and arrays and plain objects of them.",
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describe(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  return typeof value === "object" ? `a ${value.constructor?.name ?? "object"}` : typeof value;
}
