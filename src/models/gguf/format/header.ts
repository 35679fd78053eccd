/**
 * @file The header of a GGUF file (versions 2 and 3, little endian): its metadata, its tensors, and every
 * check that makes their offsets safe to use.
 *
 * A file is: "GGUF", version, number of tensors, number of metadata entries; the entries (key, type, value);
 * the tensors' names, sizes, types and offsets; then, from a multiple of the alignment on, the data. As
 * llama.cpp does, tensors must follow each other without overlaps and without holes beyond the padding.
 */
import type { JsonObject } from "../../checkpoint/json.ts";
import { show } from "../../config/fields.ts";
import { ForwardReader } from "./bytes.ts";
import { type TensorType, tensorType } from "./types.ts";
import { readValue } from "./values.ts";

/** Where one tensor is in its file. */
export interface GgufTensor {
  readonly name: string;
  readonly type: TensorType;
  /** As torch has it: the length of a row last. (The file has it the other way around.) */
  readonly shape: readonly number[];
  readonly elements: number;
  /** From the file's first byte. */
  readonly offset: number;
  readonly byteLength: number;
}

export interface GgufHeader {
  readonly version: number;
  /** Texts are strings, lists of them arrays, lists of numbers Float64Arrays. */
  readonly metadata: JsonObject;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

export const MAGIC = 0x46554747;
export const DEFAULT_ALIGNMENT = 32;
const MOST_TENSORS = 100_000;
const MOST_ENTRIES = 10_000;
const LONGEST_NAME = 10_000;
const MOST_DIMENSIONS = 4;
/** Bytes that the shortest entry and the shortest description of a tensor have. */
const [ENTRY_BYTES, TENSOR_BYTES] = [13, 32];

export function readHeader(descriptor: number, fileLength: number, file: string): GgufHeader {
  const reader = new ForwardReader(descriptor, fileLength, file);
  if (fileLength < 24 || reader.uint32() !== MAGIC)
    reader.fail(`does not begin as a GGUF file does ("GGUF", a version, two counts)`);
  const version = reader.uint32();
  if (version !== 2 && version !== 3)
    reader.fail(
      version % 65_536 === 0
        ? "is written with the most significant byte first; expected the least significant"
        : `is of version ${version}; versions 2 and 3 are read: convert it anew`,
    );
  reader.reading = "the number of tensors";
  const tensorCount = reader.count(MOST_TENSORS, TENSOR_BYTES);
  reader.reading = "the number of metadata entries";
  const entryCount = reader.count(MOST_ENTRIES, ENTRY_BYTES);
  const metadata = readMetadata(reader, entryCount);
  const alignment = alignmentIn(metadata, reader);
  const described = Array.from({ length: tensorCount }, (_, i) => describeTensor(reader, i));
  const dataStart = padded(reader.position, alignment);
  return {
    version,
    metadata: Object.fromEntries(metadata),
    tensors: placeTensors(reader, described, dataStart, alignment, fileLength),
  };
}

function readMetadata(reader: ForwardReader, count: number): Map<string, unknown> {
  const metadata = new Map<string, unknown>();
  for (let i = 0; i < count; i++) {
    reader.reading = `the key of metadata entry ${i}`;
    const key = reader.text(LONGEST_NAME);
    if (metadata.has(key)) reader.fail(`the metadata key ${show(key)} appears twice`);
    reader.reading = `the value of ${show(key)}`;
    metadata.set(key, readValue(reader, reader.uint32()));
  }
  return metadata;
}

function alignmentIn(metadata: ReadonlyMap<string, unknown>, reader: ForwardReader): number {
  const value = metadata.get("general.alignment") ?? DEFAULT_ALIGNMENT;
  const isRight =
    typeof value === "number" && Number.isInteger(Math.log2(value)) && value >= 8 && value <= 65536;
  if (isRight) return value;
  return reader.fail(
    `general.alignment is ${show(value)}; expected a power of two from 8 to 65536`,
  );
}

interface Described {
  readonly name: string;
  readonly type: TensorType;
  readonly shape: readonly number[];
  readonly elements: number;
  /** From the first byte of the data. */
  readonly start: number;
  readonly byteLength: number;
}

function describeTensor(reader: ForwardReader, index: number): Described {
  reader.reading = `the name of tensor ${index}`;
  const name = reader.text(LONGEST_NAME);
  reader.reading = `tensor ${show(name)}`;
  const fail = (reason: string): never => reader.fail(`tensor ${show(name)}: ${reason}`);
  const dimensions = reader.uint32();
  if (dimensions < 1 || dimensions > MOST_DIMENSIONS)
    fail(`has ${dimensions} dimensions; expected 1 to ${MOST_DIMENSIONS}`);
  const sizes = Array.from({ length: dimensions }, () => reader.uint64());
  const found = tensorType(reader.uint32());
  const type = typeof found === "string" ? fail(found) : found;
  const start = reader.uint64();
  const elements = sizes.reduce((product, size) => product * size, 1n);
  if (elements === 0n || elements > BigInt(Number.MAX_SAFE_INTEGER) / 8n)
    fail(`has ${elements} elements (${sizes.join(" × ")}), which no tensor has`);
  if (start > BigInt(Number.MAX_SAFE_INTEGER) / 8n)
    fail(`begins at byte ${start} of the data, beyond any file`);
  if (sizes[0]! % BigInt(type.blockElements) !== 0n)
    fail(`rows of ${sizes[0]} are no whole blocks of ${type.blockElements} (${type.name})`);
  return {
    name,
    type,
    shape: sizes.map(Number).reverse(),
    elements: Number(elements),
    start: Number(start),
    byteLength: (Number(elements) / type.blockElements) * type.blockBytes,
  };
}

/** The tensors in the order of their data, in which they must touch each other up to the padding. */
function placeTensors(
  reader: ForwardReader,
  described: Described[],
  dataStart: number,
  alignment: number,
  fileLength: number,
): Map<string, GgufTensor> {
  const tensors = new Map<string, GgufTensor>();
  let expected = 0;
  let end = dataStart;
  let before = "the header";
  for (const { start, ...tensor } of described.sort((a, b) => a.start - b.start)) {
    const label = `tensor ${show(tensor.name)}`;
    if (tensors.has(tensor.name)) reader.fail(`${label} appears twice`);
    if (start % alignment !== 0)
      reader.fail(`${label} begins at byte ${start} of the data, no multiple of ${alignment}`);
    if (start < expected) reader.fail(`${label} overlaps ${before}`);
    if (start > expected)
      reader.fail(
        `${start - expected} bytes between ${before} and ${label} belong to no tensor: damaged?`,
      );
    const offset = dataStart + start;
    end = offset + tensor.byteLength;
    if (end > fileLength)
      reader.fail(`${label} ends at byte ${end}, the file at ${fileLength}: truncated?`);
    tensors.set(tensor.name, { ...tensor, offset });
    expected = padded(start + tensor.byteLength, alignment);
    before = label;
  }
  if (fileLength > padded(end, alignment))
    reader.fail(`${fileLength - end} bytes after ${before} belong to no tensor`);
  return tensors;
}

/** The next multiple of the alignment. */
export function padded(position: number, alignment: number): number {
  return Math.ceil(position / alignment) * alignment;
}
