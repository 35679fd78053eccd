/**
 * @file A quick stream of random numbers from a seed.
 */

export interface FuzzRandom {
  /** A whole number from 0 up to and without `end`. */
  below(end: number): number;
  /** True once in `times`. */
  once(times: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

/** Mulberry32: 32 bits of state, which is enough to choose mutations by. */
export function fuzzRandom(seed: number): FuzzRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    once: (times) => below(times) === 0,
    pick: (items) => items[below(items.length)]!,
  };
}
