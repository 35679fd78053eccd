/**
 * @file Decodes LZMA2, the compression inside .xz: a sliding window, and a range coder whose bits are
 * predicted by adaptive probabilities.
 *
 * The names follow the format's description: a "match" repeats bytes from a distance back, a "rep"
 * repeats one of the last four distances, a "slot" is a distance's magnitude.
 */
import { ArchiveError } from "./error.ts";

const STATES = 12;
const HALF = 1024;
/** Where each group of probabilities begins. */
const IS_MATCH = 0;
const IS_REP = IS_MATCH + STATES * 16;
const IS_REP_0 = IS_REP + STATES;
const IS_REP_1 = IS_REP_0 + STATES;
const IS_REP_2 = IS_REP_1 + STATES;
const IS_REP_0_LONG = IS_REP_2 + STATES;
const SLOT = IS_REP_0_LONG + STATES * 16;
const SPECIAL = SLOT + 4 * 64;
const ALIGN = SPECIAL + 128;
const LENGTH = ALIGN + 16;
/** Within a length coder: two choices, then low and middle for 16 positions, then high. */
const [LOW, MIDDLE, HIGH] = [2, 2 + 16 * 8, 2 + 2 * 16 * 8];
const LENGTH_SIZE = HIGH + 256;
const REP_LENGTH = LENGTH + LENGTH_SIZE;
const LITERAL = REP_LENGTH + LENGTH_SIZE;
/** Literals have 0x300 probabilities for each of at most 2⁴ contexts. */
const PROBABILITIES = LITERAL + 0x300 * 16;

const LARGEST_CHUNK = 2 ** 21;

const damaged = (): never => {
  throw new ArchiveError("its compressed data is damaged.");
};

export class Lzma2Decoder {
  /** The next byte to read. */
  position: number;
  readonly #input: Uint8Array;
  readonly #window: Uint8Array;
  /** Where the next byte goes, and how many there have been since the dictionary's reset. */
  #head = 0;
  #filled = 0;
  readonly #probabilities = new Uint16Array(PROBABILITIES);
  #range = 0;
  #code = 0;
  #state = 0;
  #distances: [number, number, number, number] = [0, 0, 0, 0];
  #literalContextBits = 0;
  #literalPositionMask = 0;
  #positionMask = 0;
  #hasProperties = false;

  constructor(input: Uint8Array, position: number, dictionarySize: number) {
    this.#input = input;
    this.position = position;
    // Larger by the largest chunk, so that none overwrites itself before it is given out. Memory that
    // is never written is never really taken.
    this.#window = new Uint8Array(dictionarySize + LARGEST_CHUNK);
  }

  /** The decompressed bytes. Ends after the end mark. */
  *pieces(): Generator<Uint8Array> {
    for (let first = true; ; first = false) {
      const control = this.#byte();
      if (control === 0) return;
      if (control >= 0xe0 || control === 1) this.#filled = 0;
      else if (first) damaged();
      let size: number;
      if (control >= 0x80) {
        size = ((control & 0x1f) << 16) + (this.#byte() << 8) + this.#byte() + 1;
        const packed = (this.#byte() << 8) + this.#byte() + 1;
        if (control >= 0xc0) this.#readProperties(this.#byte());
        if (!this.#hasProperties) damaged();
        if (control >= 0xa0) this.#resetState();
        yield* this.#decoded(size, packed);
      } else {
        if (control > 2) damaged();
        size = (this.#byte() << 8) + this.#byte() + 1;
        yield* this.#copied(size);
      }
    }
  }

  #byte(): number {
    const byte = this.#input[this.position++];
    return byte === undefined ? damaged() : byte;
  }

  #readProperties(byte: number): void {
    if (byte >= 225) damaged();
    const literalContextBits = byte % 9;
    const literalPositionBits = Math.floor(byte / 9) % 5;
    if (literalContextBits + literalPositionBits > 4) damaged();
    this.#literalContextBits = literalContextBits;
    this.#literalPositionMask = (1 << literalPositionBits) - 1;
    this.#positionMask = (1 << Math.floor(byte / 45)) - 1;
    this.#hasProperties = true;
  }

  #resetState(): void {
    this.#probabilities.fill(HALF);
    this.#state = 0;
    this.#distances = [0, 0, 0, 0];
  }

  /** Bytes that were not worth compressing. */
  *#copied(size: number): Generator<Uint8Array> {
    const piece = this.#input.subarray(this.position, this.position + size);
    if (piece.length < size) damaged();
    this.position += size;
    for (const byte of piece) this.#put(byte);
    yield piece.slice();
  }

  #put(byte: number): void {
    this.#window[this.#head++] = byte;
    if (this.#head === this.#window.length) this.#head = 0;
    this.#filled++;
  }

  *#decoded(size: number, packed: number): Generator<Uint8Array> {
    const end = this.position + packed;
    if (end > this.#input.length || packed < 5) damaged();
    const start = this.#head;
    this.#decode(size, end);
    if (this.position !== end) damaged();
    // The window is a ring: what was written may go on at its beginning.
    const window = this.#window;
    if (start + size <= window.length) yield window.slice(start, start + size);
    else {
      const piece = new Uint8Array(size);
      for (let done = 0, from = start; done < size; ) {
        const length = Math.min(window.length - from, size - done);
        piece.set(window.subarray(from, from + length), done);
        done += length;
        from = 0;
      }
      yield piece;
    }
  }

  #decode(size: number, end: number): void {
    this.#range = 0xffffffff;
    this.#code = 0;
    if (this.#byte() !== 0) damaged();
    for (let i = 0; i < 4; i++) this.#code = ((this.#code << 8) | this.#byte()) >>> 0;
    for (let left = size; left > 0; ) {
      if (this.position > end) damaged();
      const place = this.#filled & this.#positionMask;
      const state = this.#state;
      if (this.#bit(IS_MATCH + state * 16 + place) === 0) {
        this.#literal();
        left--;
        continue;
      }
      let length: number;
      if (this.#bit(IS_REP + state) === 0) {
        length = this.#length(LENGTH, place);
        this.#state = state < 7 ? 7 : 10;
        const [a, b, c] = this.#distances;
        this.#distances = [this.#distance(length), a, b, c];
      } else if (this.#rep(state, place)) {
        length = this.#length(REP_LENGTH, place);
        this.#state = state < 7 ? 8 : 11;
      } else {
        length = 1;
        this.#state = state < 7 ? 9 : 11;
      }
      if (length > left) damaged();
      this.#repeat(this.#distances[0], length);
      left -= length;
    }
    this.#normalize();
  }

  #normalize(): void {
    if (this.#range >= 0x1000000) return;
    this.#range = (this.#range << 8) >>> 0;
    this.#code = ((this.#code << 8) | this.#byte()) >>> 0;
  }

  #bit(index: number): number {
    const probabilities = this.#probabilities;
    this.#normalize();
    const probability = probabilities[index]!;
    const bound = Math.imul(this.#range >>> 11, probability) >>> 0;
    if (this.#code < bound) {
      this.#range = bound;
      probabilities[index] = probability + ((2048 - probability) >>> 5);
      return 0;
    }
    this.#range = (this.#range - bound) >>> 0;
    this.#code = (this.#code - bound) >>> 0;
    probabilities[index] = probability - (probability >>> 5);
    return 1;
  }

  /** `bits` bits, the highest first, in a tree of probabilities. */
  #tree(start: number, bits: number): number {
    let node = 1;
    for (let i = 0; i < bits; i++) node = (node << 1) | this.#bit(start + node);
    return node - (1 << bits);
  }

  /** The lowest bit first. */
  #reverseTree(start: number, bits: number): number {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const bit = this.#bit(start + node);
      node = (node << 1) | bit;
      value |= bit << i;
    }
    return value;
  }

  #direct(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++) {
      this.#normalize();
      this.#range >>>= 1;
      if (this.#code >= this.#range) {
        this.#code -= this.#range;
        value = value * 2 + 1;
      } else {
        value *= 2;
      }
    }
    return value;
  }

  #literal(): void {
    const previous = this.#filled > 0 ? this.#back(0) : 0;
    const context =
      ((this.#filled & this.#literalPositionMask) << this.#literalContextBits) +
      (previous >> (8 - this.#literalContextBits));
    const start = LITERAL + 0x300 * context;
    let symbol = 1;
    if (this.#state >= 7) {
      // After a match the byte that would have gone on with it predicts this one.
      let expected = this.#back(this.#distances[0]);
      do {
        const bit = (expected >> 7) & 1;
        expected <<= 1;
        const found = this.#bit(start + ((1 + bit) << 8) + symbol);
        symbol = (symbol << 1) | found;
        if (bit !== found) break;
      } while (symbol < 0x100);
    }
    while (symbol < 0x100) symbol = (symbol << 1) | this.#bit(start + symbol);
    this.#put(symbol & 255);
    this.#state = this.#state < 4 ? 0 : this.#state < 10 ? this.#state - 3 : this.#state - 6;
  }

  /** Brings the chosen distance to the front; false for a single byte. */
  #rep(state: number, place: number): boolean {
    const distances = this.#distances;
    if (this.#bit(IS_REP_0 + state) === 0)
      return this.#bit(IS_REP_0_LONG + state * 16 + place) === 1;
    const which = this.#bit(IS_REP_1 + state) === 0 ? 1 : this.#bit(IS_REP_2 + state) === 0 ? 2 : 3;
    const chosen = distances[which];
    for (let i: number = which; i > 0; i--) distances[i] = distances[i - 1]!;
    distances[0] = chosen!;
    return true;
  }

  #length(coder: number, place: number): number {
    if (this.#bit(coder) === 0) return 2 + this.#tree(coder + LOW + place * 8, 3);
    if (this.#bit(coder + 1) === 0) return 10 + this.#tree(coder + MIDDLE + place * 8, 3);
    return 18 + this.#tree(coder + HIGH, 8);
  }

  #distance(length: number): number {
    const slot = this.#tree(SLOT + Math.min(length - 2, 3) * 64, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + this.#reverseTree(SPECIAL + base - slot, bits);
    return base + this.#direct(bits - 4) * 16 + this.#reverseTree(ALIGN, 4);
  }

  #back(distance: number): number {
    if (distance >= this.#filled || distance >= this.#window.length) damaged();
    const at = this.#head - distance - 1;
    return this.#window[at < 0 ? at + this.#window.length : at]!;
  }

  #repeat(distance: number, length: number): void {
    const window = this.#window;
    if (distance >= this.#filled || distance >= window.length) damaged();
    let from = this.#head - distance - 1;
    if (from < 0) from += window.length;
    const inOnePiece =
      distance + 1 >= length &&
      from + length <= window.length &&
      this.#head + length < window.length;
    if (inOnePiece && length > 16) {
      window.copyWithin(this.#head, from, from + length);
      this.#head += length;
      this.#filled += length;
      return;
    }
    for (let i = 0; i < length; i++) {
      this.#put(window[from]!);
      if (++from === window.length) from = 0;
    }
  }
}
