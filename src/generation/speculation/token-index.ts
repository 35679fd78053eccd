/**
 * @file Where a run of tokens was seen before: texts of ids, found again by their last two tokens.
 *
 * Places with the same two tokens are a chain, latest first (as in LZ77): a token costs one entry, a
 * look-up a short walk. A suffix automaton finds the same places with four times the memory, and nothing
 * can be taken out of it.
 */

/** Tokens before a place that are compared: more of them do not make a guess better. */
export const LONGEST_MATCH = 16;
/** Places of a chain that are looked at, and of the best ones kept. */
const MOST_VISITED = 24;
const MOST_KEPT = 8;
/** Stands between two texts: no token is it. */
const BORDER = -1;

/** Places whose tokens before are those of a context. */
export interface Matches {
  /** So many tokens before each place are the context's last ones; at most LONGEST_MATCH. */
  readonly length: number;
  /** Where what came next begins, latest first. */
  readonly places: readonly number[];
}

export class TokenIndex {
  /** Tokens, and borders between texts. */
  length = 0;
  #ids = new Int32Array(64);
  /** The place before with the same two tokens, plus one; 0: none. */
  #earlier = new Int32Array(64);
  /** By hash of two tokens: the latest place, plus one. */
  #latest = new Int32Array(64);

  /** The token at a place; undefined where a text, or everything, ends. */
  at(place: number): number | undefined {
    const id = place < this.length ? this.#ids[place]! : BORDER;
    return id === BORDER ? undefined : id;
  }

  push(id: number): void {
    if (this.length === this.#ids.length) this.#grow();
    this.#ids[this.length] = id;
    this.#link(this.length++);
  }

  /** What comes is another text. */
  endText(): void {
    if (this.length > 0) this.push(BORDER);
  }

  /**
   * The places that the most of the context's last tokens stand before; null: not even two do. With
   * `allowed`, only those that one of these tokens is at.
   */
  find(context: readonly number[], allowed: readonly number[] | null = null): Matches | null {
    const last = context.length - 1;
    if (last < 1) return null;
    const ids = this.#ids;
    const most = Math.min(LONGEST_MATCH, context.length);
    let best = 2;
    let places: number[] = [];
    let place = this.#latest[this.#slot(context[last - 1]!, context[last]!)]! - 1;
    for (let visited = 0; place >= 0 && visited < MOST_VISITED; visited++) {
      let same = 0;
      while (same < most && same <= place && ids[place - same] === context[last - same]) same++;
      if (same >= best && this.#mayFollow(place + 1, allowed)) {
        if (same > best) places = [];
        best = same;
        if (places.push(place + 1) === MOST_KEPT && best === most) break;
      }
      place = this.#earlier[place]! - 1;
    }
    if (places.length === 0) return null;
    return { length: best, places: places.slice(0, MOST_KEPT) };
  }

  /** At the end of a text nothing came next. */
  #mayFollow(place: number, allowed: readonly number[] | null): boolean {
    const id = this.at(place);
    return id !== undefined && (allowed === null || allowed.includes(id));
  }

  #link(place: number): void {
    const [before, id] = [this.#ids[place - 1], this.#ids[place]!];
    if (before === undefined || before === BORDER || id === BORDER) {
      this.#earlier[place] = 0;
      return;
    }
    const slot = this.#slot(before, id);
    this.#earlier[place] = this.#latest[slot]!;
    this.#latest[slot] = place + 1;
  }

  #slot(before: number, id: number): number {
    const mixed = Math.imul(before, 0x9e3779b1) ^ Math.imul(id, 0x85ebca6b);
    return (mixed ^ (mixed >>> 15)) & (this.#latest.length - 1);
  }

  #grow(): void {
    const ids = new Int32Array(this.#ids.length * 2);
    ids.set(this.#ids);
    this.#ids = ids;
    this.#earlier = new Int32Array(ids.length);
    this.#latest = new Int32Array(ids.length);
    for (let place = 0; place < this.length; place++) this.#link(place);
  }
}
