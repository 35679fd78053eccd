/**
 * @file What one part of a device's check found.
 */

export type Outcome = "ok" | "differs" | "failed" | "skipped";

export interface DeviceFinding {
  readonly name: string;
  readonly outcome: Outcome;
  /** What was compared and how far it was apart, or why nothing was. */
  readonly detail: string;
  readonly seconds: number;
}

/** A number that was found, and what it may be at most. */
export interface Measured {
  readonly what: string;
  readonly found: number;
  readonly most: number;
}

/** Why a part has nothing to do here. */
export class NotHere extends Error {}

/** A part that compares gives what it measured, another a sentence. */
export type Part = () => Promise<readonly Measured[] | string> | readonly Measured[] | string;

export async function runPart(name: string, part: Part): Promise<DeviceFinding> {
  const begun = performance.now();
  const finding = (outcome: Outcome, detail: string): DeviceFinding => ({
    ...{ name, outcome, detail },
    seconds: (performance.now() - begun) / 1000,
  });
  try {
    const found = await part();
    if (typeof found === "string") return finding("ok", found);
    const detail = found
      .map(({ what, found: value, most }) => `${what} ${shown(value)} (at most ${shown(most)})`)
      .join(", ");
    // A NaN is no agreement.
    const good = found.every(({ found: value, most }) => value <= most);
    return finding(good ? "ok" : "differs", detail);
  } catch (error) {
    const text = (error as Error).message.split("\n")[0]!;
    return finding(error instanceof NotHere ? "skipped" : "failed", text);
  }
}

function shown(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  return Math.abs(value) < 0.01 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

/** The largest difference of two lists of numbers. */
export function apart(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length) throw new Error(`${one.length} numbers beside ${other.length}`);
  let most = 0;
  for (let i = 0; i < one.length; i++) {
    const difference = Math.abs(one[i]! - other[i]!);
    if (!(difference <= most)) most = difference;
  }
  return most;
}
