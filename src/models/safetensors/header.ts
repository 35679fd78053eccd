/**
 * @file The header of a safetensors file, and every check that makes its offsets safe to use.
 *
 * A file is: 8 bytes length n (little endian), n bytes of JSON, the tensors' data. The JSON maps each
 * name to { dtype, shape, data_offsets: [begin, end) } relative to the data. As in the reference
 * reader, the tensors must cover the data completely, without overlaps and without holes: a file
 * that hides bytes is refused.
 */
import type { Dtype } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { decodeText, isJsonObject, parseJsonObject } from "../checkpoint/json.ts";
import { formatDtype } from "./dtypes.ts";

/** Where one tensor is in its file. */
export interface TensorEntry {
  name: string;
  dtype: Dtype;
  shape: readonly number[];
  /** From the file's first byte. */
  offset: number;
  byteLength: number;
}

export interface Header {
  tensors: Map<string, TensorEntry>;
  /** The writer's notes: strings by name. */
  metadata: Record<string, string>;
}

export const LENGTH_BYTES = 8;
/** As in the reference: no honest header is larger. */
export const MAXIMUM_HEADER_BYTES = 100_000_000;
/** Sizes above this are not exact as numbers, and no file has them. */
const MAXIMUM_ELEMENTS = BigInt(Number.MAX_SAFE_INTEGER);

/** The header's length from the first 8 bytes, checked against the file's. */
export function headerLength(prefix: Uint8Array, fileLength: number, file: string): number {
  if (fileLength < LENGTH_BYTES || prefix.length < LENGTH_BYTES)
    throw new ModelFileError(
      file,
      `has ${fileLength} bytes, a safetensors file at least 8: truncated?`,
    );
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  const length = view.getBigUint64(0, true);
  if (length > BigInt(MAXIMUM_HEADER_BYTES))
    throw new ModelFileError(
      file,
      `claims a header of ${length} bytes, more than the ${MAXIMUM_HEADER_BYTES} allowed: ` +
        "not a safetensors file?",
    );
  if (length > BigInt(fileLength - LENGTH_BYTES))
    throw new ModelFileError(
      file,
      `claims a header of ${length} bytes, but only ${fileLength - LENGTH_BYTES} follow: truncated?`,
    );
  return Number(length);
}

/** The header, with every offset proven to be inside the data and of the right size. */
export function parseHeader(bytes: Uint8Array, fileLength: number, file: string): Header {
  const text = decodeText(bytes, file);
  if (!text.startsWith("{")) throw new ModelFileError(file, "the header does not begin with {");
  const json = parseJsonObject(text, file);
  const dataOffset = LENGTH_BYTES + bytes.length;
  const tensors = new Map<string, TensorEntry>();
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(json)) {
    if (name === "__metadata__") metadata = parseMetadata(value, file);
    else tensors.set(name, parseEntry(name, value, dataOffset, file));
  }
  requireCoverage([...tensors.values()], dataOffset, fileLength, file);
  return { tensors, metadata };
}

function parseMetadata(value: unknown, file: string): Record<string, string> {
  if (!isJsonObject(value) || Object.values(value).some((entry) => typeof entry !== "string"))
    throw new ModelFileError(file, "__metadata__ must be an object of strings");
  return value as Record<string, string>;
}

function parseEntry(name: string, value: unknown, dataOffset: number, file: string): TensorEntry {
  const fail = (reason: string): never => {
    throw new ModelFileError(file, `tensor ${JSON.stringify(name)}: ${reason}`);
  };
  if (!isJsonObject(value)) return fail("expected an object with dtype, shape and data_offsets");
  const unknown = Object.keys(value).find((key) => !ENTRY_KEYS.has(key));
  if (unknown !== undefined) return fail(`the key ${JSON.stringify(unknown)} is unknown`);
  const format = formatDtype(value.dtype);
  if (typeof format === "string") return fail(format);
  const { shape, data_offsets: offsets } = value;
  if (!isSizes(shape)) return fail("shape must be an array of non-negative integers");
  if (!isSizes(offsets) || offsets.length !== 2)
    return fail("data_offsets must be two non-negative integers");
  const [begin, end] = offsets as [number, number];
  if (end < begin) return fail(`data_offsets go backwards (${begin} to ${end})`);
  const expected = shape.reduce((product, size) => product * BigInt(size), BigInt(format.bytes));
  if (expected > MAXIMUM_ELEMENTS) return fail(`shape [${shape}] is too large`);
  if (expected !== BigInt(end - begin))
    return fail(
      `shape [${shape}] of ${format.dtype} needs ${expected} bytes, data_offsets give ${end - begin}`,
    );
  return {
    name,
    dtype: format.dtype,
    shape,
    offset: dataOffset + begin,
    byteLength: end - begin,
  };
}

const ENTRY_KEYS = new Set(["dtype", "shape", "data_offsets"]);

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** The tensors in order must touch each other and fill the data to its last byte. */
function requireCoverage(
  entries: TensorEntry[],
  dataOffset: number,
  fileLength: number,
  file: string,
): void {
  entries.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  let position = dataOffset;
  let before = "the header";
  for (const { name, offset, byteLength } of entries) {
    const label = JSON.stringify(name);
    if (offset < position) throw new ModelFileError(file, `tensor ${label} overlaps ${before}`);
    if (offset > position)
      throw new ModelFileError(
        file,
        `${offset - position} bytes between ${before} and tensor ${label} belong to no tensor`,
      );
    position = offset + byteLength;
    before = `tensor ${label}`;
    if (position > fileLength)
      throw new ModelFileError(
        file,
        `${before} ends at byte ${position}, the file at ${fileLength}: truncated?`,
      );
  }
  if (position < fileLength)
    throw new ModelFileError(
      file,
      `${fileLength - position} bytes after ${before} belong to no tensor`,
    );
}
