/**
 * @file Values of the metadata.
 */
import type { ForwardReader } from "./bytes.ts";
import { VALUE } from "./types.ts";

/** Bytes. Whole tokenizers stand in one value in some files. */
const LONGEST_TEXT = 64_000_000;
/** No vocabulary has more tokens, and no tokenizer more merges. */
const MOST_ITEMS = 1_000_000;

interface Scalar {
  /** Of one in the file. */
  readonly bytes: number;
  read(reader: ForwardReader): number;
}

/** Large 64-bit numbers lose their last digits; nothing that is used here is that large. */
const SCALARS: ReadonlyMap<number, Scalar> = new Map<number, Scalar>([
  [VALUE.uint8, { bytes: 1, read: (reader) => reader.uint8() }],
  [VALUE.int8, { bytes: 1, read: (reader) => reader.int8() }],
  [VALUE.uint16, { bytes: 2, read: (reader) => reader.uint16() }],
  [VALUE.int16, { bytes: 2, read: (reader) => reader.int16() }],
  [VALUE.uint32, { bytes: 4, read: (reader) => reader.uint32() }],
  [VALUE.int32, { bytes: 4, read: (reader) => reader.int32() }],
  [VALUE.float32, { bytes: 4, read: (reader) => reader.float32() }],
  [VALUE.uint64, { bytes: 8, read: (reader) => Number(reader.uint64()) }],
  [VALUE.int64, { bytes: 8, read: (reader) => Number(reader.int64()) }],
  [VALUE.float64, { bytes: 8, read: (reader) => reader.float64() }],
]);

export function readValue(reader: ForwardReader, type: number): unknown {
  if (type === VALUE.string) return reader.text(LONGEST_TEXT);
  if (type === VALUE.bool) return readBoolean(reader);
  if (type === VALUE.array) return readArray(reader);
  const value = scalarOf(reader, type).read(reader);
  return type === VALUE.float32 ? shortest(value) : value;
}

function scalarOf(reader: ForwardReader, type: number): Scalar {
  return (
    SCALARS.get(type) ?? reader.fail(`${reader.reading} has the type ${type}, which is unknown`)
  );
}

function readBoolean(reader: ForwardReader): boolean {
  const byte = reader.uint8();
  if (byte > 1) reader.fail(`${reader.reading} is ${byte}; expected 0 or 1 for false or true`);
  return byte === 1;
}

function readArray(reader: ForwardReader): readonly unknown[] | Float64Array {
  const type = reader.uint32();
  if (type === VALUE.array) reader.fail(`${reader.reading} is a list of lists, which is not read`);
  if (type === VALUE.string) {
    const texts: string[] = [];
    const count = reader.count(MOST_ITEMS, 8);
    for (let i = 0; i < count; i++) texts.push(reader.text(LONGEST_TEXT));
    return texts;
  }
  if (type === VALUE.bool)
    return Array.from({ length: reader.count(MOST_ITEMS, 1) }, () => readBoolean(reader));
  const { bytes, read } = scalarOf(reader, type);
  const numbers = new Float64Array(reader.count(MOST_ITEMS, bytes));
  for (let i = 0; i < numbers.length; i++) numbers[i] = read(reader);
  return numbers;
}

/** The number that somebody wrote, 0.00001, where the file has the nearest of 32 bits. */
function shortest(value: number): number {
  if (!Number.isFinite(value)) return value;
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}
