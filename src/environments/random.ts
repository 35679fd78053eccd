/**
 * @file Random numbers for worlds: small, fast, and the same for the same seed on every machine.
 *
 * Seeds are whatever names the thing to be drawn ("household", "train", 17): streams of different
 * names are independent, so nothing depends on the order in which they are asked for.
 */

export interface Random {
  /** In [0, 1), with 32 random bits. */
  unit(): number;
  /** A whole number in [0, below). */
  integer(below: number): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** One of the list, which must not be empty. */
  pick<Item>(items: readonly Item[]): Item;
  /** A shuffled copy. */
  shuffled<Item>(items: readonly Item[]): Item[];
}

export function seededRandom(...seed: readonly (string | number)[]): Random {
  let [a, b, c, counter] = hash128(JSON.stringify(seed));
  // Chris Doty-Humphrey's sfc32, one of the smallest generators that pass PractRand.
  const bits = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) bits();
  const unit = (): number => bits() / 2 ** 32;
  const integer = (below: number): number => Math.floor(unit() * below);
  return {
    unit,
    integer,
    chance: (probability) => unit() < probability,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("There is nothing to pick from.");
      return items[integer(items.length)]!;
    },
    shuffled: (items) => {
      const order = [...items];
      for (let i = order.length - 1; i > 0; i--) {
        const j = integer(i + 1);
        [order[i], order[j]] = [order[j]!, order[i]!];
      }
      return order;
    },
  };
}

/** A number in [0, 2^32) that depends on all parts: to sort things into fixed classes by name. */
export function stableHash(...parts: readonly (string | number)[]): number {
  return hash128(JSON.stringify(parts))[0] >>> 0;
}

/** Four 32-bit numbers from a text (MurmurHash3's mixing over four lanes). */
function hash128(text: string): [number, number, number, number] {
  let [h1, h2, h3, h4] = [1779033703, 3144134277, 1013904242, 2773480762];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    h1 = h2 ^ Math.imul(h1 ^ code, 597399067);
    h2 = h3 ^ Math.imul(h2 ^ code, 2869860233);
    h3 = h4 ^ Math.imul(h3 ^ code, 951274213);
    h4 = h1 ^ Math.imul(h4 ^ code, 2716044179);
  }
  h1 = Math.imul(h3 ^ (h1 >>> 18), 597399067);
  h2 = Math.imul(h4 ^ (h2 >>> 22), 2869860233);
  h3 = Math.imul(h1 ^ (h3 >>> 17), 951274213);
  h4 = Math.imul(h2 ^ (h4 >>> 19), 2716044179);
  h1 ^= h2 ^ h3 ^ h4;
  return [h1, h2 ^ h1, h3 ^ h1, h4 ^ h1];
}
