/**
 * @file How likely a guess is right, learnt from those that were checked.
 */

/** Where a guess comes from, how much of the context it follows, how many places agree on it. */
export type Cell = number;

export const SOURCES = ["own", "task", "any"] as const;
export type Source = (typeof SOURCES)[number];

/** Matches at least so long are told apart. */
const LENGTHS = [2, 3, 4, 6, 9, 16];
/** One place alone; several that agree; most of them; fewer. */
const AGREEMENTS = 4;
/** Of the past, what counts after one more guess: some hundred are remembered. */
const KEPT = 0.99;
/** Before anything is known: so many guesses, half of them right. */
const BEFORE = 2;

/** A token that no other can be drawn instead of. */
export const FORCED: Cell = -1;

export function cellOf(source: Source, length: number, agreeing: number, places: number): Cell {
  const range = LENGTHS.findLastIndex((least) => length >= least);
  const agreement = places === 1 ? 0 : agreeing === places ? 1 : agreeing * 2 >= places ? 2 : 3;
  return (SOURCES.indexOf(source) * LENGTHS.length + range) * AGREEMENTS + agreement;
}

export class Chances {
  readonly #tried = new Float64Array(SOURCES.length * LENGTHS.length * AGREEMENTS).fill(BEFORE);
  readonly #right = new Float64Array(SOURCES.length * LENGTHS.length * AGREEMENTS).fill(BEFORE / 2);

  of(cell: Cell): number {
    return cell === FORCED ? 1 : this.#right[cell]! / this.#tried[cell]!;
  }

  learn(cell: Cell, right: boolean): void {
    if (cell === FORCED) return;
    this.#tried[cell] = this.#tried[cell]! * KEPT + 1;
    this.#right[cell] = this.#right[cell]! * KEPT + (right ? 1 : 0);
  }
}

/** One request's own luck: how its guesses do beside what was expected of them. */
export class Luck {
  #expected = 4;
  #right = 4;

  /** What a chance is multiplied by. */
  get factor(): number {
    return this.#right / this.#expected;
  }

  learn(expected: number, right: boolean): void {
    this.#expected += expected;
    if (right) this.#right++;
  }
}
