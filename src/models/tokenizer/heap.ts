/**
 * @file A binary heap: the item that comes before all others, quickly.
 */

export class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #before: (a: Item, b: Item) => boolean;

  /** `before(a, b)`: whether a comes out before b. */
  constructor(before: (a: Item, b: Item) => boolean) {
    this.#before = before;
  }

  push(item: Item): void {
    const items = this.#items;
    let place = items.length;
    items.push(item);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#before(item, items[parent]!)) break;
      items[place] = items[parent]!;
      place = parent;
    }
    items[place] = item;
  }

  pop(): Item | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return top;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#before(items[child + 1]!, items[child]!)) child++;
      if (!this.#before(items[child]!, last)) break;
      items[place] = items[child]!;
      place = child;
    }
    items[place] = last;
    return top;
  }
}
