/**
 * @file NumPy's default generator (SeedSequence, PCG64), as far as BabyAI's levels draw from it.
 *
 * AgentGym's task n is level n mod 40 with seed n div 40, so the same rooms come only from the same numbers.
 * 128-bit arithmetic is done with bigints; a level needs some hundred draws.
 */

const MASK_32 = 0xffffffffn;
const MASK_64 = (1n << 64n) - 1n;
const MASK_128 = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;

export interface NumpyRandom {
  /** A whole number in [low, high). */
  integer(low: number, high: number): number;
  /** In [0, 1), with 53 random bits. */
  unit(): number;
  /** One of the list. */
  pick<Item>(items: readonly Item[]): Item;
  /** Different ones of the list, in the order in which they were drawn. */
  subset<Item>(items: readonly Item[], count: number): Item[];
  isHeads(): boolean;
}

/** What `numpy.random.Generator(PCG64(SeedSequence(seed)))` gives; seeds below 2^32. */
export function numpyRandom(seed: number): NumpyRandom {
  const [high, low, sequenceHigh, sequenceLow] = seedWords(seed);
  const increment = ((((sequenceHigh << 64n) | sequenceLow) << 1n) | 1n) & MASK_128;
  let state = 0n;
  const step = (): void => {
    state = (state * MULTIPLIER + increment) & MASK_128;
  };
  step();
  state = (state + ((high << 64n) | low)) & MASK_128;
  step();
  const bits64 = (): bigint => {
    step();
    const upper = state >> 64n;
    const mixed = upper ^ (state & MASK_64);
    const turn = upper >> 58n;
    return ((mixed >> turn) | (mixed << (64n - turn))) & MASK_64;
  };
  // Half of a 64-bit draw is kept for the next 32-bit one.
  let kept: bigint | undefined;
  const bits32 = (): bigint => {
    if (kept !== undefined) {
      const bits = kept;
      kept = undefined;
      return bits;
    }
    const drawn = bits64();
    kept = drawn >> 32n;
    return drawn & MASK_32;
  };
  // Lemire's method: a multiplication instead of a division, and rejection of the rare uneven rest.
  const below = (count: number): number => {
    if (count <= 1) return 0;
    const range = BigInt(count);
    let product = bits32() * range;
    if ((product & MASK_32) < range) {
      const threshold = (MASK_32 - range + 1n) % range;
      while ((product & MASK_32) < threshold) product = bits32() * range;
    }
    return Number(product >> 32n);
  };
  const integer = (from: number, to: number): number => from + below(to - from);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  return {
    integer,
    unit: () => Number(bits64() >> 11n) / 2 ** 53,
    pick,
    subset(items, count) {
      const left = [...items];
      return Array.from({ length: count }, () => left.splice(below(left.length), 1)[0]!);
    },
    isHeads: () => below(2) === 0,
  };
}

/** SeedSequence's four 64-bit words for a seed without a spawn key. */
function seedWords(seed: number): [bigint, bigint, bigint, bigint] {
  const multiply = (a: number, b: number): number => Math.imul(a, b) >>> 0;
  const shifted = (value: number): number => (value ^ (value >>> 16)) >>> 0;
  let constant = 0x43b0d7e5;
  const hashed = (value: number): number => {
    const mixed = value ^ constant;
    constant = multiply(constant, 0x931e8875);
    return shifted(multiply(mixed, constant));
  };
  const mix = (a: number, b: number): number =>
    shifted((multiply(a, 0xca01f9dd) - multiply(b, 0x4973f715)) >>> 0);
  const pool = [seed, 0, 0, 0].map(hashed);
  for (let from = 0; from < 4; from++)
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to]!, hashed(pool[from]!));
  let output = 0x8b51f9dd;
  const words = Array.from({ length: 8 }, (_, index) => {
    const mixed = (pool[index % 4]! ^ output) >>> 0;
    output = multiply(output, 0x58f38ded);
    return BigInt(shifted(multiply(mixed, output)));
  });
  const word = (index: number): bigint => words[2 * index]! | (words[2 * index + 1]! << 32n);
  return [word(0), word(1), word(2), word(3)];
}
