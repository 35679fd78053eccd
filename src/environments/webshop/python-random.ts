/**
 * @file Python's random numbers (the Mersenne Twister of Matsumoto and Nishimura, 1998, and what the
 * module `random` makes of it), so that the same seed gives the prices, price limits and order of goals
 * that the original has.
 */

const SIZE = 624;
const MIDDLE = 397;

export interface PythonRandom {
  /** random(): in [0, 1), with 53 random bits. */
  unit(): number;
  /** uniform(low, high). */
  uniform(low: number, high: number): number;
  /** shuffle(items), in place. */
  shuffle(items: { length: number; [index: number]: number }): void;
  /** sample(range(count), size), for so few that Python draws from a list: at most 21 or so. */
  sample(count: number, size: number): number[];
}

/** random.seed(seed), for a whole number from 0 to 2^53. */
export function pythonRandom(seed: number): PythonRandom {
  const state = seeded(seed);
  let at = SIZE;
  const bits32 = (): number => {
    if (at === SIZE) {
      twist(state);
      at = 0;
    }
    let y = state[at++]!;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  /** A whole number below `limit`, at most 2^32: draws again what is too large. */
  const below = (limit: number): number => {
    const bits = 32 - Math.clz32(limit);
    let value = bits32() >>> (32 - bits);
    while (value >= limit) value = bits32() >>> (32 - bits);
    return value;
  };
  const unit = (): number => {
    const high = bits32() >>> 5;
    const low = bits32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  };
  return {
    unit,
    uniform: (low, high) => low + (high - low) * unit(),
    shuffle(items) {
      for (let i = items.length - 1; i > 0; i--) {
        const j = below(i + 1);
        const item = items[i]!;
        items[i] = items[j]!;
        items[j] = item;
      }
    },
    sample(count, size) {
      const pool = Array.from({ length: count }, (_, i) => i);
      return Array.from({ length: size }, (_, drawn) => {
        const last = count - drawn - 1;
        const j = below(last + 1);
        const chosen = pool[j]!;
        pool[j] = pool[last]!;
        return chosen;
      });
    },
  };
}

function seeded(seed: number): Uint32Array {
  const key = seed > 0xffffffff ? [seed >>> 0, Math.floor(seed / 2 ** 32)] : [seed];
  const state = new Uint32Array(SIZE);
  state[0] = 19650218;
  for (let i = 1; i < SIZE; i++) state[i] = Math.imul(1812433253, mixed(state, i)) + i;
  let i = 1;
  const next = (): void => {
    if (++i < SIZE) return;
    state[0] = state[SIZE - 1]!;
    i = 1;
  };
  for (let k = 0; k < SIZE; k++) {
    const j = k % key.length;
    state[i] = (state[i]! ^ Math.imul(mixed(state, i), 1664525)) + key[j]! + j;
    next();
  }
  for (let k = 1; k < SIZE; k++) {
    state[i] = (state[i]! ^ Math.imul(mixed(state, i), 1566083941)) - i;
    next();
  }
  state[0] = 0x80000000;
  return state;
}

/** The number before, mixed with its own upper bits. */
function mixed(state: Uint32Array, i: number): number {
  const before = state[i - 1]!;
  return before ^ (before >>> 30);
}

function twist(state: Uint32Array): void {
  for (let i = 0; i < SIZE; i++) {
    const y = (state[i]! & 0x80000000) | (state[(i + 1) % SIZE]! & 0x7fffffff);
    state[i] = state[(i + MIDDLE) % SIZE]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
  }
}
