/**
 * @file Mutations of values: a field of another type, left out, named otherwise, doubled, nested, taken from another place
 * or another input. What comes out is always JSON, so that it gets past the parser.
 */
import type { FuzzRandom } from "./random.ts";

type Value = null | boolean | number | string | Value[] | { [key: string]: Value };

const ODD: readonly Value[] = [
  ...[null, true, false, 0, -1, 1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53, 1e21, -0],
  ...["", "0", "x", "a".repeat(3000), "\0", "\ud83d", "../../x", "/etc/passwd", "__proto__", "-1"],
  ...([[], {}, [null], [[]], { "": 0 }, ["x", "x"], [0, 1, 2], { type: "x" }] as Value[]),
];
const ODD_KEYS = ["__proto__", "constructor", "prototype", "toString", "length", "type", "id", ""];
const DEEPEST = 200;

/** A place in a tree: an object or a list, and the key of something in it. */
interface Place {
  readonly parent: Record<string, Value>;
  readonly key: string;
}

export function mutateValue(
  input: Buffer,
  random: FuzzRandom,
  words: readonly string[],
  others: () => Buffer,
): Buffer {
  const root: { root: Value } = { root: JSON.parse(input.toString()) as Value };
  for (let left = 1 + random.below(4); left > 0; left--) {
    const places = placesIn(root);
    const { parent, key } = random.pick(places);
    change(parent, key, places, random, words, others);
  }
  return Buffer.from(JSON.stringify(root.root ?? null));
}

function placesIn(root: object): Place[] {
  const places: Place[] = [];
  const visit = (parent: Record<string, Value>, depth: number) => {
    for (const key of Object.keys(parent)) {
      places.push({ parent, key });
      const inside = parent[key];
      if (typeof inside === "object" && inside !== null && depth < DEEPEST && places.length < 5000)
        visit(inside as Record<string, Value>, depth + 1);
    }
  };
  visit(root as Record<string, Value>, 0);
  return places;
}

function change(
  parent: Record<string, Value>,
  key: string,
  places: readonly Place[],
  random: FuzzRandom,
  words: readonly string[],
  others: () => Buffer,
): void {
  const isRoot = Object.hasOwn(parent, "root") && Object.keys(parent).length === 1;
  const set = (name: string, value: Value) =>
    Object.defineProperty(parent, name, {
      ...{ value, enumerable: true, configurable: true, writable: true },
    });
  const value = parent[key] as Value;
  switch (random.below(10)) {
    case 0:
      return void set(key, structuredClone(random.pick(ODD)));
    case 1:
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else if (!isRoot) delete parent[key];
      return;
    case 2: {
      const other = random.pick(places);
      return void set(key, structuredClone(other.parent[other.key] as Value));
    }
    case 3:
      if (Array.isArray(parent) && parent.length < 300)
        parent.splice(Number(key), 0, ...Array(1 + random.below(4)).fill(value));
      else if (!isRoot) set(random.pick(words.length ? words : ODD_KEYS), value);
      return;
    case 4:
      if (!Array.isArray(parent) && !isRoot) {
        delete parent[key];
        set(random.pick(random.once(3) && words.length ? words : ODD_KEYS), value);
      }
      return;
    case 5:
      return void set(key, random.once(2) ? [value] : { [random.pick(ODD_KEYS)]: value });
    case 6: {
      const found = JSON.parse(others().toString()) as Value;
      const from = placesIn({ found });
      const taken = random.pick(from);
      return void set(key, structuredClone(taken.parent[taken.key] as Value));
    }
    case 7:
      return void set(key, words.length ? random.pick(words) : random.pick(ODD));
    default:
      return void set(key, nearby(value, random));
  }
}

/** The same type, another value. */
function nearby(value: Value, random: FuzzRandom): Value {
  if (typeof value === "number")
    return random.pick([value + 1, value - 1, -value, value * 2, value * 1e9, value + 0.5, 0]);
  if (typeof value === "boolean") return !value;
  if (typeof value === "string") {
    const at = random.below(value.length + 1);
    const odd = random.pick(["\n", '"', "<", "{", "\\", " ", "🧪", "0", "/", "\0", "  ", "é"]);
    return random.pick([
      value.slice(0, at),
      value.slice(at),
      value.slice(0, at) + odd + value.slice(at),
      (value + value).slice(0, 20_000),
      value.toUpperCase(),
    ]);
  }
  if (Array.isArray(value)) return random.once(2) ? value.slice(1) : [...value].reverse();
  return value;
}
