/**
 * @file Which rejection options there are, and how their thresholds are written.
 */

export const REJECTION_OPTIONS = [
  ...["token_k1", "token_k2", "token_k3", "seq_sum_k1", "seq_sum_k2", "seq_sum_k3"],
  ...["seq_mean_k1", "seq_mean_k2", "seq_mean_k3", "seq_max_k2", "seq_max_k3"],
] as const;

/** The bounds between which a value stays, in the units of the value. */
export interface Bounds {
  /** Undefined for k2 and k3, which are never negative. */
  lower: number | undefined;
  upper: number;
}

/** Options with their bounds; everything that is wrong with them is an error. */
export function parseRejection(options: string, thresholds: string | number): Map<string, Bounds> {
  const names = [...new Set(splitList(options))];
  const texts = splitList(String(thresholds));
  if (names.length === 0) throw new RangeError("rejectMismatch: no option given");
  if (texts.length !== 1 && texts.length !== names.length)
    throw new RangeError(
      `rejectMismatch: ${texts.length} thresholds for ${names.length} options; expected one for ` +
        "all, or one for each",
    );
  const bounds = new Map<string, Bounds>();
  for (const [i, name] of names.entries()) {
    if (!(REJECTION_OPTIONS as readonly string[]).includes(name))
      throw new RangeError(
        `rejectMismatch: unknown option ${name}; expected ${REJECTION_OPTIONS.join(", ")}`,
      );
    bounds.set(name, parseBounds(name, texts[texts.length === 1 ? 0 : i]!));
  }
  return bounds;
}

function parseBounds(option: string, text: string): Bounds {
  const numbers = text.split("_").map(Number);
  const ratio = option.endsWith("k1");
  if (numbers.length > (ratio ? 2 : 1) || numbers.some((number) => !(number > 0)))
    throw new RangeError(
      `rejectMismatch: the threshold of ${option} is "${text}"; expected ` +
        (ratio ? 'two positive ratios like "0.5_2", or one' : "one positive number"),
    );
  const upper = numbers[numbers.length - 1]!;
  if (!ratio) return { lower: undefined, upper };
  const lower = numbers.length === 2 ? numbers[0]! : 1 / upper;
  return { lower: Math.log(lower), upper: Math.log(upper) };
}

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
