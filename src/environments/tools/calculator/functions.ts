/**
 * @file The functions and constants of the calculator.
 */
import {
  add,
  divide,
  exact,
  float,
  floor,
  gcd,
  integer,
  isNegative,
  MOST_BITS,
  modulo,
  multiply,
  negate,
  power,
  product,
  toFloat,
  toWhole,
  type Value,
} from "./rational.ts";
import { bitsOf, CalculationError, spendOnFactors, spendOnProduct } from "./work.ts";

/** Factorials of larger numbers have thousands of digits. */
const LARGEST_FACTORIAL = 1500n;
const MOST_ARGUMENTS = 1000;

export const CONSTANTS: Readonly<Record<string, Value>> = {
  pi: float(Math.PI),
  e: float(Math.E),
};

type Calculation = (...values: readonly Value[]) => Value;

interface Known {
  readonly least: number;
  readonly most: number;
  readonly calculate: Calculation;
}

const one = (calculate: (value: Value) => Value): Known => ({
  ...{ least: 1, most: 1 },
  calculate: (value) => calculate(value!),
});
const two = (calculate: (a: Value, b: Value) => Value): Known => ({
  ...{ least: 2, most: 2 },
  calculate: (a, b) => calculate(a!, b!),
});
const many = (calculate: Calculation): Known => ({ least: 1, most: MOST_ARGUMENTS, calculate });
const real = (calculate: (value: number) => number): Known =>
  one((value) => float(calculate(toFloat(value))));

export const FUNCTIONS: Readonly<Record<string, Known>> = {
  abs: one((value) => (isNegative(value) ? negate(value) : value)),
  floor: one(floor),
  ceil: one((value) => negate(floor(negate(value)))),
  round: {
    ...{ least: 1, most: 2 },
    calculate: (value, digits) => round(value!, digits),
  },
  sqrt: one(squareRoot),
  cbrt: real(Math.cbrt),
  exp: real(Math.exp),
  ln: real(Math.log),
  log: { least: 1, most: 2, calculate: (value, base) => logarithm(value!, base) },
  log2: real(Math.log2),
  log10: real(Math.log10),
  sin: real(Math.sin),
  cos: real(Math.cos),
  tan: real(Math.tan),
  asin: real(Math.asin),
  acos: real(Math.acos),
  atan: real(Math.atan),
  degrees: real((angle) => (angle * 180) / Math.PI),
  radians: real((angle) => (angle * Math.PI) / 180),
  min: many((...values) => values.reduce((a, b) => (isLess(b, a) ? b : a))),
  max: many((...values) => values.reduce((a, b) => (isLess(a, b) ? b : a))),
  sum: many((...values) => values.reduce(add)),
  mean: many((...values) => divide(values.reduce(add), exact(BigInt(values.length)))),
  pow: two(power),
  mod: two(modulo),
  gcd: two((a, b) => exact(gcd(whole(a, "gcd"), whole(b, "gcd")))),
  lcm: two((a, b) => {
    const [x, y] = [whole(a, "lcm"), whole(b, "lcm")];
    const both = product(x, y);
    return exact(both === 0n ? 0n : (both < 0n ? -both : both) / gcd(x, y));
  }),
  factorial: one(factorial),
  comb: two((n, k) => divide(falling(n, k), factorial(k))),
  perm: two(falling),
};

function isLess(a: Value, b: Value): boolean {
  if (a.kind === "float" || b.kind === "float") return toFloat(a) < toFloat(b);
  return product(a.numerator, b.denominator) < product(b.numerator, a.denominator);
}

function whole(value: Value, name: string): bigint {
  const found = toWhole(value);
  if (found === undefined) throw new CalculationError(`${name} needs whole numbers`);
  return found;
}

/** Halves go away from zero, as people round. */
function round(value: Value, digits: Value | undefined): Value {
  const places = digits === undefined ? 0n : whole(digits, "round");
  if (places > 100n || places < -100n) throw new CalculationError("round takes -100 to 100 digits");
  const scale = power(exact(10n), exact(places));
  const scaled = multiply(value, scale);
  const half = exact(1n, 2n);
  const rounded = isNegative(scaled)
    ? negate(floor(add(negate(scaled), half)))
    : floor(add(scaled, half));
  return divide(rounded, scale);
}

function squareRoot(value: Value): Value {
  if (isNegative(value)) throw new CalculationError("the root of a negative number");
  if (value.kind === "float") return float(Math.sqrt(value.float));
  const [top, bottom] = [wholeRoot(value.numerator), wholeRoot(value.denominator)];
  const isExact = top * top === value.numerator && bottom * bottom === value.denominator;
  return isExact ? exact(top, bottom) : float(Math.sqrt(toFloat(value)));
}

/** Newton's method; at most one too small for a square. */
function wholeRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  // The number of right digits doubles every time.
  spendOnProduct(value, root, Math.ceil(Math.log2(bitsOf(value))) + 2);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

function logarithm(value: Value, base: Value | undefined): Value {
  if (toFloat(value) <= 0)
    throw new CalculationError("the logarithm of a number that is not positive");
  const natural = Math.log(toFloat(value));
  return float(base === undefined ? Math.log10(toFloat(value)) : natural / Math.log(toFloat(base)));
}

export function factorial(value: Value): Value {
  const n = whole(value, "factorial");
  if (n < 0n) throw new CalculationError("the factorial of a negative number");
  if (n > LARGEST_FACTORIAL) throw new CalculationError(`factorials go up to ${LARGEST_FACTORIAL}`);
  return falling(value, value);
}

/** n · (n − 1) · … with k factors. */
function falling(a: Value, b: Value): Value {
  const [n, k] = [whole(a, "comb and perm"), whole(b, "comb and perm")];
  if (k < 0n || n < 0n) throw new CalculationError("comb and perm need numbers from 0");
  if (k > LARGEST_FACTORIAL)
    throw new CalculationError(`comb and perm go up to ${LARGEST_FACTORIAL}`);
  const bits = Math.min(MOST_BITS, Number(k) * bitsOf(n));
  spendOnFactors(Number(k), bits);
  let result = integer(1n);
  for (let i = 0n; i < k; i++) result = integer(result.numerator * (n - i));
  return result;
}
