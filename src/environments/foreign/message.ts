/**
 * @file What an error of somebody else's code says. Anything can be thrown, also what cannot be shown, or a
 * message of megabytes.
 */

const LONGEST = 1000;

export function messageOf(error: unknown): string {
  try {
    const text =
      error instanceof Error
        ? String(error.message)
        : typeof error === "string"
          ? error
          : `${String(error)} was thrown`;
    return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  } catch {
    return "something that cannot be shown was thrown";
  }
}

/** A value of somebody else's in a message: short, and never a failure itself. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}
