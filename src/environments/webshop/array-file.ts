/**
 * @file Typed arrays in a file: what is made once from a large shop and kept.
 *
 * Layout: a line of magic, a line with the SHA-256 of all that follows, a line of JSON (what it was made
 * from, plain facts, the name, kind and size of each array), and the arrays one after the other. A file
 * of another version or other data, or one that is cut off or changed, is not an error: it is made again.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

const MAGIC = "openmanus-rl webshop arrays 1\n";
const LONGEST_HEADER = 1 << 16;
/** The digest's digits and a line feed. */
const DIGEST = 65;
/** One call reads and writes at most this much. */
const CHUNK = 1 << 28;

const KINDS = { Float64Array, Uint32Array, Uint16Array, Uint8Array };
type Kind = keyof typeof KINDS;
export type FileArray = Float64Array | Uint32Array | Uint16Array | Uint8Array;

export interface ArrayFile {
  /** Plain numbers beside the arrays. */
  readonly facts: Readonly<Record<string, number>>;
  readonly arrays: Readonly<Record<string, FileArray>>;
}

interface Header {
  /** What the arrays were made from. */
  readonly source: string;
  readonly facts: Readonly<Record<string, number>>;
  readonly arrays: readonly {
    readonly name: string;
    readonly kind: Kind;
    readonly bytes: number;
  }[];
}

/** Writes the file whole or not at all: it appears under its name when it is complete. */
export function writeArrayFile(path: string, source: string, { facts, arrays }: ArrayFile): void {
  const header: Header = {
    source,
    facts,
    arrays: Object.entries(arrays).map(([name, array]) => ({
      ...{ name, kind: array.constructor.name as Kind, bytes: array.byteLength },
    })),
  };
  const parts = [
    Buffer.from(`${JSON.stringify(header)}\n`),
    ...Object.values(arrays).map(
      ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
    ),
  ];
  const hash = createHash("sha256");
  for (const part of parts) for (const chunk of chunks(part)) hash.update(chunk);
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const file = openSync(temporary, "wx");
    try {
      for (const part of [Buffer.from(`${MAGIC}${hash.digest("hex")}\n`), ...parts])
        for (const chunk of chunks(part)) writeWhole(file, chunk);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** What is in the file, or undefined where there is none that was made from this source. */
export function readArrayFile(path: string, source: string): ArrayFile | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    return read(file, source);
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function read(file: number, source: string): ArrayFile | undefined {
  const { size } = fstatSync(file);
  const start = Buffer.alloc(Math.min(LONGEST_HEADER, size));
  readWhole(file, start, 0);
  if (start.toString("latin1", 0, MAGIC.length) !== MAGIC) return undefined;
  const begin = MAGIC.length + DIGEST;
  const end = start.indexOf("\n", begin);
  const header = JSON.parse(start.toString("utf8", begin, end)) as Header;
  const total = header.arrays.reduce((sum, { bytes }) => sum + bytes, 0);
  if (header.source !== source || size !== end + 1 + total) return undefined;
  const hash = createHash("sha256").update(start.subarray(begin, end + 1));
  const arrays: Record<string, FileArray> = {};
  let at = end + 1;
  for (const { name, kind, bytes } of header.arrays) {
    const content = new Uint8Array(bytes);
    for (const chunk of chunks(content)) {
      readWhole(file, chunk, at);
      hash.update(chunk);
      at += chunk.length;
    }
    arrays[name] = new KINDS[kind](content.buffer);
  }
  const digest = start.toString("latin1", MAGIC.length, begin - 1);
  return hash.digest("hex") === digest ? { facts: header.facts, arrays } : undefined;
}

function* chunks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at);
}

export function readWhole(file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) {
    const count = readSync(file, bytes, at, bytes.length - at, position + at);
    if (count === 0) throw new RangeError("The file ends early.");
    at += count;
  }
}

/** Lines of text as an array of bytes, and back. The texts must not hold line feeds. */
export function textBytes(lines: Iterable<string>): Uint8Array {
  const bytes = Buffer.from([...lines].join("\n"));
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function textLines(bytes: Uint8Array): string[] {
  const { buffer, byteOffset, byteLength } = bytes;
  return byteLength === 0
    ? []
    : Buffer.from(buffer, byteOffset, byteLength).toString("utf8").split("\n");
}
