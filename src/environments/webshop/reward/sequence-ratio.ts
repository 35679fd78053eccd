/**
 * @file How alike two texts are, as Python's difflib measures it: twice the characters in matching
 * blocks, divided by all characters. Blocks are found by taking the longest one, then looking left and
 * right of it (Ratcliff and Obershelp, 1988).
 */

/** From this length of the second text on, characters that make up more than 1 % of it are ignored. */
const LONG = 200;

/** 0 to 1; not symmetric, because the earliest of equally long blocks is taken. */
export function sequenceRatio(first: string, second: string): number {
  const [a, b] = [[...first], [...second]];
  if (a.length + b.length === 0) return 1;
  const places = placesIn(b);
  let matched = 0;
  const left: [number, number, number, number][] = [[0, a.length, 0, b.length]];
  for (let part = left.pop(); part; part = left.pop()) {
    const [aStart, aEnd, bStart, bEnd] = part;
    const [i, j, size] = longestBlock(a, b, places, part);
    if (size === 0) continue;
    matched += size;
    left.push([aStart, i, bStart, j], [i + size, aEnd, j + size, bEnd]);
  }
  return (2 * matched) / (a.length + b.length);
}

function placesIn(text: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  text.forEach((character, at) => {
    const known = places.get(character);
    if (known) known.push(at);
    else places.set(character, [at]);
  });
  if (text.length < LONG) return places;
  const most = Math.floor(text.length / 100) + 1;
  return new Map([...places].filter(([, list]) => list.length <= most));
}

/** The longest block that both have in the part: the earliest in a, then in b. */
function longestBlock(
  a: readonly string[],
  b: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  [aStart, aEnd, bStart, bEnd]: readonly [number, number, number, number],
): [number, number, number] {
  let [bestA, bestB, best] = [aStart, bStart, 0];
  /** Place in b to the length of the block that ends there and at the current place in a. */
  let lengths = new Map<number, number>();
  for (let i = aStart; i < aEnd; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i]!) ?? []) {
      if (j < bStart) continue;
      if (j >= bEnd) break;
      const length = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, length);
      if (length > best) [bestA, bestB, best] = [i - length + 1, j - length + 1, length];
    }
    lengths = next;
  }
  // Ignored characters may still extend a block.
  while (bestA > aStart && bestB > bStart && a[bestA - 1] === b[bestB - 1]) {
    [bestA, bestB, best] = [bestA - 1, bestB - 1, best + 1];
  }
  while (bestA + best < aEnd && bestB + best < bEnd && a[bestA + best] === b[bestB + best]) best++;
  return [bestA, bestB, best];
}
