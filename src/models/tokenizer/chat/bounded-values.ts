/**
 * @file How much there is in a value of a chat template: characters, items, depth. A list may hold the
 * same list twice, and that one another one twice: forty lines of a template are enough for a value that no
 * machine can write out. So sizes count what would be written, and stop counting at what is too much.
 */
import type { Value } from "./jinja.ts";

/** Thrown when a template asks for too much: a sentence without its beginning. */
export class TemplateLimitError extends Error {
  override name = "TemplateLimitError";
}

/** Characters of a text, and of all texts in a value: ten books. */
export const LONGEST_TEXT = 1 << 24;
/** Items of a list, and of everything in a value. */
export const MOST_ITEMS = 1_000_000;
/** Lists in lists. */
const DEEPEST = 200;
const TOO_DEEP = `nests lists more than ${DEEPEST} deep`;

export interface Size {
  readonly characters: number;
  readonly items: number;
  readonly depth: number;
}

const NOTHING: Size = { characters: 0, items: 1, depth: 0 };

/** Measures values; what it knows about one, it remembers. */
export class Sizes {
  readonly #known = new WeakMap<Value, Size>();
  /** Values that were looked at since this was last set. */
  looked = 0;

  of(value: Value): Size {
    return this.#measured(value, 0);
  }

  #measured(value: Value, depth: number): Size {
    const { type } = value;
    if (type === "StringValue")
      return { characters: (value.value as string).length, items: 1, depth: 0 };
    if (!isMany(value)) return NOTHING;
    // It alone can change: what holds one would grow behind our back.
    const canChange = type === "NamespaceValue";
    if (canChange && depth > 0) throw new TemplateLimitError("keeps a namespace in a list");
    const known = this.#known.get(value);
    if (known) return known;
    // Not the depth of the value, which may be known in part, but that of this search.
    if (depth > DEEPEST) throw new TemplateLimitError(TOO_DEEP);
    let [characters, items, deepest] = [0, 1, 0];
    for (const part of value.value.values()) {
      this.looked++;
      const size = this.#measured(part, depth + 1);
      characters += size.characters;
      items += size.items;
      deepest = Math.max(deepest, size.depth);
      if (characters > LONGEST_TEXT)
        throw new TemplateLimitError(`makes a list of more than ${LONGEST_TEXT} characters`);
      if (items > MOST_ITEMS)
        throw new TemplateLimitError(`makes a list of more than ${MOST_ITEMS} items`);
    }
    if (value.value instanceof Map)
      for (const key of value.value.keys()) characters += String(key).length;
    if (deepest >= DEEPEST) throw new TemplateLimitError(TOO_DEEP);
    const size = { characters, items, depth: deepest + 1 };
    if (!canChange) this.#known.set(value, size);
    return size;
  }
}

/** A list or a dictionary. */
interface Many extends Value {
  readonly value: readonly Value[] | ReadonlyMap<string, Value>;
}

export function isMany(value: Value): value is Many {
  return Array.isArray(value.value) || value.value instanceof Map;
}
