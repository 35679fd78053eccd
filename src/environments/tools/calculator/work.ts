/**
 * @file What a calculation may cost. Whoever writes expressions may be a model that has gone astray, and
 * a calculation holds up everything else in this process: so every operation says beforehand what it
 * takes, in steps of the length of its numbers, and an expression that would take too many is refused.
 *
 * Counted and not timed: what is refused here is refused on every machine.
 */

/** Thrown for what has no value; the message is for the agent. */
export class CalculationError extends Error {
  override name = "CalculationError";
}

/** Steps of one expression. One takes some nanoseconds: all of them, ten milliseconds or so. */
const MOST_WORK = 1_000_000;
/** What an operation takes with numbers of any length, in steps. */
const ANY = 30;
const WORD = 64;
const ONE_WORD = 1n << 64n;

// Calculations do not wait for anything, so there is never more than one of them.
let left = MOST_WORK;

/** Calculates with a fresh account. */
export function metered<Result>(calculate: () => Result): Result {
  left = MOST_WORK;
  return calculate();
}

function spend(steps: number): void {
  left -= steps;
  if (left < 0)
    throw new CalculationError(
      "the calculation takes too much work; use smaller numbers, or fewer of them",
    );
}

/** How many bits a whole number has, up to three more. */
export function bitsOf(value: bigint): number {
  return 4 * value.toString(16).length;
}

function wordsOf(value: bigint): number {
  if (value < ONE_WORD && value > -ONE_WORD) return 1;
  return Math.ceil(bitsOf(value) / WORD);
}

/** A product, a quotient or a remainder, `times` over. */
export function spendOnProduct(a: bigint, b: bigint, times = 1): void {
  const [first, second] = [wordsOf(a), wordsOf(b)];
  // Finding out how long they are is work, too.
  spend(2 * (first + second) + times * (ANY + first * second));
}

/** So many factors of one word each, of a product that has at most so many bits. */
export function spendOnFactors(count: number, bits: number): void {
  spend(count * (ANY + bits / WORD / 2));
}

/** Euclid's way: a remainder for (at most) every bit and a half of the smaller one. */
export function spendOnDivisor(a: bigint, b: bigint): void {
  const smaller = Math.min(bitsOf(a), bitsOf(b));
  spend(0.6 * smaller * (ANY + smaller / WORD));
}

/** A number of so many bits, made by multiplying, or written with decimal digits. */
export function spendOnBits(bits: number): void {
  spend(ANY + (bits / WORD) ** 2);
}
