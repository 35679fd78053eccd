/**
 * @file `node --import tsx tools/soak/compare.ts EARLIER LATER`: two heap snapshots of a soak, by what V8 calls a thing and by
 * the name of its constructor: what is more, and how much. What grows by kind says whose it is: `code` and `object shape` are
 * V8's own (functions that it compiled, and what it learned about them), the rest is data that somebody holds.
 */
import { readFileSync } from "node:fs";

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[], ...unknown[]];
    };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

export interface Held {
  readonly count: number;
  readonly bytes: number;
}

/** By kind, and by kind and name. */
export function heldBy(snapshot: Snapshot): { kinds: Map<string, Held>; names: Map<string, Held> } {
  const { node_fields: fields, node_types: types } = snapshot.snapshot.meta;
  const [type, name, size] = ["type", "name", "self_size"].map((field) => fields.indexOf(field));
  const kinds = new Map<string, Held>();
  const names = new Map<string, Held>();
  for (let at = 0; at < snapshot.nodes.length; at += fields.length) {
    const bytes = snapshot.nodes[at + size!]!;
    const kind = types[0][snapshot.nodes[at + type!]!]!;
    const text = snapshot.strings[snapshot.nodes[at + name!]!]!;
    add(kinds, kind, bytes);
    // A string's name is the string, a function's code has the function's.
    add(names, /string|number/.test(kind) ? kind : `${kind}: ${text.slice(0, 60)}`, bytes);
  }
  return { kinds, names };
}

function add(all: Map<string, Held>, key: string, bytes: number): void {
  const before = all.get(key) ?? { count: 0, bytes: 0 };
  all.set(key, { count: before.count + 1, bytes: before.bytes + bytes });
}

/** What there is more of, the most bytes first. */
export function growth(
  earlier: ReadonlyMap<string, Held>,
  later: ReadonlyMap<string, Held>,
): (Held & { key: string })[] {
  const none = { count: 0, bytes: 0 };
  return [...new Set([...earlier.keys(), ...later.keys()])]
    .map((key) => {
      const [before, after] = [earlier.get(key) ?? none, later.get(key) ?? none];
      return { key, count: after.count - before.count, bytes: after.bytes - before.bytes };
    })
    .filter(({ count, bytes }) => count !== 0 || bytes !== 0)
    .sort((a, b) => b.bytes - a.bytes);
}

function show(rows: readonly (Held & { key: string })[]): void {
  for (const { key, count, bytes } of rows)
    console.log(
      `${(bytes / 1024).toFixed(1).padStart(10)} kB ${String(count).padStart(8)}  ${key}`,
    );
}

if (process.argv[1] === import.meta.filename) {
  const [earlier, later] = process.argv
    .slice(2, 4)
    .map((file) => heldBy(JSON.parse(readFileSync(file, "utf8")) as Snapshot));
  if (!earlier || !later) throw new Error("compare.ts needs two files: EARLIER LATER");
  show(growth(earlier.kinds, later.kinds));
  console.log();
  const names = growth(earlier.names, later.names);
  show(names.slice(0, 40));
  console.log("…");
  show(names.slice(-15));
}
