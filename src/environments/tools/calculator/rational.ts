/**
 * @file Numbers of the calculator: exact fractions of whole numbers of any size, and floating-point
 * numbers where something cannot be exact (a root, a sine).
 */

export type Value =
  | { readonly kind: "exact"; readonly numerator: bigint; readonly denominator: bigint }
  | { readonly kind: "float"; readonly float: number };

/** Thrown for what has no value; the message is for the agent. */
export class CalculationError extends Error {
  override name = "CalculationError";
}

/** Whole numbers beyond some 6,000 digits take too long. */
const MOST_BITS = 20_000;
/** Decimals that are written out when a fraction ends. */
const MOST_DECIMALS = 40;
const SIGNIFICANT = 15;

export function exact(numerator: bigint, denominator = 1n): Value {
  if (denominator === 0n) throw new CalculationError("division by zero");
  const sign = denominator < 0n ? -1n : 1n;
  const divisor = gcd(numerator, denominator) || 1n;
  const [top, bottom] = [(sign * numerator) / divisor, (sign * denominator) / divisor];
  if (isHuge(top) || isHuge(bottom)) throw new CalculationError("the number becomes too large");
  return { kind: "exact", numerator: top, denominator: bottom };
}

export function float(value: number): Value {
  if (Number.isNaN(value)) throw new CalculationError("there is no such number");
  if (!Number.isFinite(value)) throw new CalculationError("the number becomes too large");
  return { kind: "float", float: value };
}

function isHuge(value: bigint): boolean {
  return value.toString(16).length > MOST_BITS / 4;
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y > 0n) [x, y] = [y, x % y];
  return x;
}

export function toFloat(value: Value): number {
  if (value.kind === "float") return value.float;
  const { numerator, denominator } = value;
  const direct = Number(numerator) / Number(denominator);
  if (Number.isFinite(direct)) return direct;
  // Both too large for floating point: only their first digits matter.
  const shift = BigInt(Math.max(0, denominator.toString(2).length - 1000));
  return Number(numerator >> shift) / Number(denominator >> shift);
}

/** The whole number that it is; undefined if it is none. */
export function toWhole(value: Value): bigint | undefined {
  if (value.kind === "exact") return value.denominator === 1n ? value.numerator : undefined;
  return Number.isSafeInteger(value.float) ? BigInt(value.float) : undefined;
}

export function add(a: Value, b: Value): Value {
  if (a.kind === "float" || b.kind === "float") return float(toFloat(a) + toFloat(b));
  return exact(
    a.numerator * b.denominator + b.numerator * a.denominator,
    a.denominator * b.denominator,
  );
}

export function negate(a: Value): Value {
  return a.kind === "float" ? float(-a.float) : exact(-a.numerator, a.denominator);
}

export function multiply(a: Value, b: Value): Value {
  if (a.kind === "float" || b.kind === "float") return float(toFloat(a) * toFloat(b));
  return exact(a.numerator * b.numerator, a.denominator * b.denominator);
}

export function divide(a: Value, b: Value): Value {
  if (toFloat(b) === 0) throw new CalculationError("division by zero");
  if (a.kind === "float" || b.kind === "float") return float(toFloat(a) / toFloat(b));
  return exact(a.numerator * b.denominator, a.denominator * b.numerator);
}

/** The largest whole number that is not larger. */
export function floor(a: Value): Value {
  if (a.kind === "float") return float(Math.floor(a.float));
  const { numerator, denominator } = a;
  const quotient = numerator / denominator;
  return exact(numerator < 0n && quotient * denominator !== numerator ? quotient - 1n : quotient);
}

/** What is left of a after taking b away as often as it goes: never of another sign than b. */
export function modulo(a: Value, b: Value): Value {
  return add(a, negate(multiply(b, floor(divide(a, b)))));
}

export function power(a: Value, b: Value): Value {
  const whole = toWhole(b);
  if (a.kind === "float" || whole === undefined) return float(toFloat(a) ** toFloat(b));
  if (whole < 0n && a.numerator === 0n) throw new CalculationError("division by zero");
  const size = whole < 0n ? -whole : whole;
  const bits = BigInt(
    Math.max(a.numerator.toString(2).length, a.denominator.toString(2).length) - 1,
  );
  if (size * (bits || 1n) > BigInt(MOST_BITS))
    throw new CalculationError("the number becomes too large");
  const [top, bottom] = [a.numerator ** size, a.denominator ** size];
  return whole < 0n ? exact(bottom, top) : exact(top, bottom);
}

/** As people write it: whole, decimals where they end, 15 digits where not. */
export function shown(value: Value): string {
  if (value.kind === "float") return plain(Number(value.float.toPrecision(SIGNIFICANT)));
  const { numerator, denominator } = value;
  if (denominator === 1n) return String(numerator);
  const decimals = decimalsOf(denominator);
  if (decimals === undefined) return plain(Number(toFloat(value).toPrecision(SIGNIFICANT)));
  const scaled = (numerator * 10n ** BigInt(decimals)) / denominator;
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(decimals + 1, "0");
  const sign = scaled < 0n ? "-" : "";
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** How many decimals a fraction has; undefined if they never end, or after many. */
function decimalsOf(denominator: bigint): number | undefined {
  let [rest, twos, fives] = [denominator, 0, 0];
  for (; rest % 2n === 0n; rest /= 2n) twos++;
  for (; rest % 5n === 0n; rest /= 5n) fives++;
  const decimals = Math.max(twos, fives);
  return rest === 1n && decimals <= MOST_DECIMALS ? decimals : undefined;
}

function plain(value: number): string {
  return Object.is(value, -0) ? "0" : String(value);
}
