/**
 * @file Which pages of the cache are whose: allocation, sharing by content, eviction.
 *
 * A full page is known by a key of all tokens up to its end, so that sequences with the same beginning
 * find each other's pages. A page that nobody uses stays findable until its room is needed; the one
 * unused for longest goes first.
 */

export class PagePool {
  readonly pages: number;
  readonly pageSize: number;
  readonly #free: number[];
  readonly #users: Uint32Array;
  readonly #keys = new Map<number, string>();
  readonly #byKey = new Map<string, number>();
  /** Full pages without users, least recently used first (a Map keeps the order of insertion). */
  readonly #idle = new Map<number, true>();

  constructor(pages: number, pageSize: number) {
    this.pages = pages;
    this.pageSize = pageSize;
    this.#free = Array.from({ length: pages }, (_, i) => pages - 1 - i);
    this.#users = new Uint32Array(pages);
  }

  /** Pages that can be had now: free ones, and ones that only wait to be found. */
  get available(): number {
    return this.#free.length + this.#idle.size;
  }

  /** A page for one user, or null when every page is in use. */
  allocate(): number | null {
    let page = this.#free.pop();
    if (page === undefined) {
      const [oldest] = this.#idle.keys();
      if (oldest === undefined) return null;
      this.#idle.delete(oldest);
      this.#forget(oldest);
      page = oldest;
    }
    this.#users[page] = 1;
    return page;
  }

  /** The page with this content, with one more user; null if there is none. */
  find(key: string): number | null {
    const page = this.#byKey.get(key);
    if (page === undefined) return null;
    this.#idle.delete(page);
    this.#users[page]!++;
    return page;
  }

  /** Makes a full page findable. If another has the same content already, this one stays private. */
  publish(page: number, key: string): void {
    if (this.#byKey.has(key) || this.#keys.has(page)) return;
    this.#keys.set(page, key);
    this.#byKey.set(key, page);
  }

  /** Whether one user may write to the page: nobody else reads it, or can find it. */
  isPrivate(page: number): boolean {
    return this.#users[page] === 1 && !this.#keys.has(page);
  }

  /** One user less. */
  release(page: number): void {
    if (this.#users[page] === 0) throw new Error(`page ${page} is released but has no user`);
    this.#users[page]!--;
    if (this.#users[page]! > 0) return;
    if (this.#keys.has(page)) this.#idle.set(page, true);
    else this.#free.push(page);
  }

  /** Nothing can be found any more: the weights changed. Users keep their pages. */
  invalidate(): void {
    for (const page of this.#idle.keys()) this.#free.push(page);
    this.#idle.clear();
    this.#keys.clear();
    this.#byKey.clear();
  }

  #forget(page: number): void {
    const key = this.#keys.get(page);
    if (key !== undefined) this.#byKey.delete(key);
    this.#keys.delete(page);
  }
}
