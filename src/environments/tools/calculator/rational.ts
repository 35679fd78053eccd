/**
 * @file Numbers of the calculator: exact fractions of whole numbers of any size, and floating-point
 * numbers where something cannot be exact (a root, a sine).
 */

import { bitsOf, CalculationError, spendOnBits, spendOnDivisor, spendOnProduct } from "./work.ts";

interface Exact {
  readonly kind: "exact";
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export type Value = Exact | { readonly kind: "float"; readonly float: number };

/** Whole numbers beyond some 6,000 digits take too long. */
export const MOST_BITS = 20_000;
const LARGEST = 1n << BigInt(MOST_BITS);
const TOO_LARGE = "the number becomes too large";
/** Decimals that are written out when a fraction ends. */
const MOST_DECIMALS = 40;
const SIGNIFICANT = 15;

export function exact(numerator: bigint, denominator = 1n): Value {
  if (denominator === 0n) throw new CalculationError("division by zero");
  if (denominator === 1n) return integer(numerator);
  const sign = denominator < 0n ? -1n : 1n;
  const divisor = gcd(numerator, denominator) || 1n;
  const [top, bottom] = [(sign * numerator) / divisor, (sign * denominator) / divisor];
  if (isHuge(bottom)) throw new CalculationError(TOO_LARGE);
  return { ...integer(top), denominator: bottom };
}

export function integer(numerator: bigint): Exact {
  if (isHuge(numerator)) throw new CalculationError(TOO_LARGE);
  return { kind: "exact", numerator, denominator: 1n };
}

export function float(value: number): Value {
  if (Number.isNaN(value)) throw new CalculationError("there is no such number");
  if (!Number.isFinite(value)) throw new CalculationError(TOO_LARGE);
  return { kind: "float", float: value };
}

function isHuge(value: bigint): boolean {
  return value > LARGEST || value < -LARGEST;
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  if (x < y) [x, y] = [y, x];
  if (y === 0n) return x;
  // Where the one divides the other, as in 1500! / 1499!, that is all there is to do.
  spendOnProduct(x, y);
  [x, y] = [y, x % y];
  if (y === 0n) return x;
  spendOnDivisor(x, y);
  while (y > 0n) [x, y] = [y, x % y];
  return x;
}

export function toFloat(value: Value): number {
  if (value.kind === "float") return value.float;
  const [top, bottom] = [Number(value.numerator), Number(value.denominator)];
  if (Number.isFinite(top) && Number.isFinite(bottom)) return top / bottom;
  // Too large for floating point: only their first digits matter, and how much longer the one is.
  const [first, second] = [leading(value.numerator), leading(value.denominator)];
  return (first.digits / second.digits) * 2 ** (first.shift - second.shift);
}

/** A number that floating point can hold, and how often it has to be doubled. */
function leading(value: bigint): { digits: number; shift: number } {
  const shift = Math.max(0, bitsOf(value) - 100);
  return { digits: Number(value >> BigInt(shift)), shift };
}

export function isNegative(value: Value): boolean {
  return value.kind === "float" ? value.float < 0 : value.numerator < 0n;
}

function isZero(value: Value): boolean {
  return value.kind === "float" ? value.float === 0 : value.numerator === 0n;
}

/** The whole number that it is; undefined if it is none. */
export function toWhole(value: Value): bigint | undefined {
  if (value.kind === "exact") return value.denominator === 1n ? value.numerator : undefined;
  return Number.isSafeInteger(value.float) ? BigInt(value.float) : undefined;
}

export function add(a: Value, b: Value): Value {
  if (a.kind === "float" || b.kind === "float") return float(toFloat(a) + toFloat(b));
  if (a.denominator === b.denominator) return exact(a.numerator + b.numerator, a.denominator);
  return exact(
    product(a.numerator, b.denominator) + product(b.numerator, a.denominator),
    product(a.denominator, b.denominator),
  );
}

export function negate(a: Value): Value {
  return a.kind === "float" ? float(-a.float) : { ...a, numerator: -a.numerator };
}

export function multiply(a: Value, b: Value): Value {
  if (a.kind === "float" || b.kind === "float") return float(toFloat(a) * toFloat(b));
  return exact(product(a.numerator, b.numerator), product(a.denominator, b.denominator));
}

export function divide(a: Value, b: Value): Value {
  if (isZero(b)) throw new CalculationError("division by zero");
  if (a.kind === "float" || b.kind === "float") return float(toFloat(a) / toFloat(b));
  return exact(product(a.numerator, b.denominator), product(a.denominator, b.numerator));
}

export function product(a: bigint, b: bigint): bigint {
  spendOnProduct(a, b);
  return a * b;
}

/** The largest whole number that is not larger. */
export function floor(a: Value): Value {
  if (a.kind === "float") return float(Math.floor(a.float));
  const { numerator, denominator } = a;
  spendOnProduct(numerator, denominator, 2);
  const quotient = numerator / denominator;
  return exact(numerator < 0n && quotient * denominator !== numerator ? quotient - 1n : quotient);
}

/** What is left of a after taking b away as often as it goes: never of another sign than b. */
export function modulo(a: Value, b: Value): Value {
  return add(a, negate(multiply(b, floor(divide(a, b)))));
}

export function power(a: Value, b: Value): Value {
  const exponent = toWhole(b);
  if (a.kind === "float" || exponent === undefined) return float(toFloat(a) ** toFloat(b));
  if (exponent < 0n && a.numerator === 0n) throw new CalculationError("division by zero");
  const size = exponent < 0n ? -exponent : exponent;
  const bits = BigInt(
    Math.max(a.numerator.toString(2).length, a.denominator.toString(2).length) - 1,
  );
  if (size * (bits || 1n) > BigInt(MOST_BITS)) throw new CalculationError(TOO_LARGE);
  spendOnBits(Number(size * bits));
  const [top, bottom] = [a.numerator ** size, a.denominator ** size];
  // Powers of what has no common divisor have none.
  const [upper, lower] = exponent < 0n ? [bottom, top] : [top, bottom];
  const sign = lower < 0n ? -1n : 1n;
  return { ...integer(sign * upper), denominator: integer(sign * lower).numerator };
}

/** As people write it: whole, decimals where they end, 15 digits where not. */
export function shown(value: Value): string {
  if (value.kind === "float") return plain(value.float);
  const { numerator, denominator } = value;
  spendOnBits(bitsOf(numerator));
  if (denominator === 1n) return String(numerator);
  const decimals = decimalsOf(denominator);
  if (decimals === undefined) return shown(float(toFloat(value)));
  const scaled = (numerator * 10n ** BigInt(decimals)) / denominator;
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(decimals + 1, "0");
  const sign = scaled < 0n ? "-" : "";
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** How many decimals a fraction has; undefined if they never end, or after many. */
function decimalsOf(denominator: bigint): number | undefined {
  for (let decimals = 0, scale = 1n; decimals <= MOST_DECIMALS; decimals++, scale *= 10n)
    if (scale % denominator === 0n) return decimals;
  return undefined;
}

function plain(value: number): string {
  const rounded = Number(value.toPrecision(SIGNIFICANT));
  return Object.is(rounded, -0) ? "0" : String(rounded);
}
