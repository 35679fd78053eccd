/**
 * @file One sequence's place in the cache: its tokens, how many of them are computed, its pages.
 */
import { createHash } from "node:crypto";
import type { PagePool } from "./pages.ts";

export class CachedSequence {
  readonly ids: number[] = [];
  /** Keys and values of so many tokens are in the pages. */
  computed = 0;
  readonly pages: number[] = [];
  readonly #pool: PagePool;
  /** Key of each full page of `ids`; computed when asked for. */
  readonly #keys: string[] = [];

  constructor(pool: PagePool) {
    this.#pool = pool;
  }

  /**
   * Replaces the tokens, keeping what is computed of a common beginning, and takes over pages with
   * the same content from others. At least the last token is left to compute: its output is needed.
   */
  setTokens(ids: readonly number[]): void {
    let common = 0;
    while (common < this.ids.length && common < ids.length && this.ids[common] === ids[common])
      common++;
    this.ids.length = common;
    this.#keys.length = Math.min(this.#keys.length, this.#fullPages(common));
    for (let i = common; i < ids.length; i++) this.ids.push(ids[i]!);
    this.#truncate(Math.min(this.computed, common, ids.length - 1));
    this.adoptShared();
  }

  /** Takes over pages of others that continue what is computed here. Returns tokens gained. */
  adoptShared(): number {
    const size = this.#pool.pageSize;
    const before = this.computed;
    if (before % size !== 0 || this.pages.length !== before / size) return 0;
    while (this.computed + size < this.ids.length) {
      const page = this.#pool.find(this.keyOf(this.computed / size));
      if (page === null) break;
      this.pages.push(page);
      this.computed += size;
    }
    return this.computed - before;
  }

  /** Gets pages for so many tokens; false (and nothing changed) when the pool is exhausted. */
  reserve(tokens: number): boolean {
    const needed = Math.ceil(tokens / this.#pool.pageSize) - this.pages.length;
    if (needed > this.#pool.available) return false;
    for (let i = 0; i < needed; i++) this.pages.push(this.#pool.allocate()!);
    return true;
  }

  /** Gives back pages beyond those of its tokens: they were for guesses. */
  releaseSpare(): void {
    for (const page of this.pages.splice(Math.ceil(this.ids.length / this.#pool.pageSize)))
      this.#pool.release(page);
  }

  /** Notes that the tokens up to `count` are computed, and lets others find the full pages. */
  markComputed(count: number): void {
    const first = this.#fullPages(this.computed);
    this.computed = count;
    for (let page = first; page < this.#fullPages(count); page++)
      this.#pool.publish(this.pages[page]!, this.keyOf(page));
  }

  /** Gives all pages back; the tokens stay, to be computed again. */
  evict(): void {
    this.#truncate(0);
  }

  /** The key of a full page: a hash of all tokens up to its end. */
  keyOf(page: number): string {
    const size = this.#pool.pageSize;
    while (this.#keys.length <= page) {
      const at = this.#keys.length;
      const own = this.ids.slice(at * size, (at + 1) * size);
      const hash = createHash("sha1").update(this.#keys[at - 1] ?? "");
      this.#keys.push(hash.update(Int32Array.from(own)).digest("base64"));
    }
    return this.#keys[page]!;
  }

  /** The key of the page that would be computed next, if it will be full. */
  nextKey(): string | null {
    const size = this.#pool.pageSize;
    const page = Math.floor(this.computed / size);
    return (page + 1) * size < this.ids.length ? this.keyOf(page) : null;
  }

  #fullPages(tokens: number): number {
    return Math.floor(tokens / this.#pool.pageSize);
  }

  /** Keeps what is computed of the first tokens, or less: a page that others read is not rewritten. */
  #truncate(count: number): void {
    const size = this.#pool.pageSize;
    for (const page of this.pages.splice(Math.ceil(count / size))) this.#pool.release(page);
    this.computed = count;
    if (count % size === 0 || this.#pool.isPrivate(this.pages.at(-1)!)) return;
    this.#pool.release(this.pages.pop()!);
    this.computed = this.pages.length * size;
  }
}
