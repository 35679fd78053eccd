/**
 * @file 16-bit floating-point numbers (IEEE's, not bfloat16), in which the scales of blocks are stored.
 */

let table: Float32Array | undefined;

/** The value of each of the 65,536 bit patterns: a look-up is several times faster than computing. */
export function halfValues(): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, bits) => halfOf(bits));
  return table;
}

function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0
    ? sign * fraction * 2 ** -24
    : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

const number = new Float32Array(1);
const pattern = new Uint32Array(number.buffer);

/** The bit pattern of the nearest, an even one where two are equally near. Only for finite numbers. */
export function halfBits(value: number): number {
  number[0] = value;
  const bits = pattern[0]!;
  const sign = (bits >>> 16) & 0x8000;
  const size = Math.abs(number[0]);
  // From here on everything is nearer to the next power of two, which is not there: infinity.
  if (size >= 65_520) return sign | 0x7c00;
  // Steps of the smallest numbers are all equal; of others, 1024 between two powers of two.
  const exponent = Math.max(((bits >>> 23) & 255) - 127, -14);
  const steps = size / 2 ** (exponent - 10);
  const whole = Math.floor(steps);
  const rest = steps - whole;
  const rounded = whole + (rest > 0.5 || (rest === 0.5 && whole % 2 === 1) ? 1 : 0);
  // 1024 steps are the implied one, which is the exponent's last bit; one more step carries into it.
  return sign | (rounded + (exponent + 14) * 1024);
}
