/**
 * @file Decompresses .xz: the container's blocks and sizes, and LZMA2 inside (see lzma.ts).
 *
 * Filters other than LZMA2 (for executables) are refused. The check sums of the headers are
 * verified; that of the contents is not, because it would take longer than decompressing, and
 * damage shows in sizes and in what is inside.
 */
import { crc32 } from "./crc32.ts";
import { ArchiveError } from "./error.ts";
import { Lzma2Decoder } from "./lzma.ts";

const MAGIC = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];
const LZMA2 = 0x21;
/** The sizes of the check after each block, by its type. */
const CHECK_SIZES = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];
/** Compressors use up to 1.5 GiB at their most extreme. */
const LARGEST_DICTIONARY = 2 ** 30;

/** The decompressed bytes, in pieces of at most 2 MiB. */
export function* decompressXz(file: Uint8Array): Generator<Uint8Array> {
  let at = 0;
  do {
    at = yield* stream(file, at);
    // Streams may follow each other, with zeros in groups of four between them.
    while (at < file.length && file[at] === 0) at++;
  } while (at < file.length);
}

function* stream(file: Uint8Array, start: number): Generator<Uint8Array, number> {
  if (!MAGIC.every((byte, i) => file[start + i] === byte))
    throw new ArchiveError("it is not an xz file: its first bytes are others.");
  if (file.length < start + 24) throw new ArchiveError("it is cut off.");
  const checkType = file[start + 7]! & 15;
  verify(file, start + 6, 2, start + 8, "its header");
  let at = start + 12;
  let blocks = 0;
  while (file[at] !== 0) {
    at = yield* block(file, at, start, CHECK_SIZES[checkType]!);
    blocks++;
  }
  return afterIndex(file, at, blocks);
}

function* block(
  file: Uint8Array,
  at: number,
  streamStart: number,
  checkSize: number,
): Generator<Uint8Array, number> {
  const headerSize = (byteAt(file, at) + 1) * 4;
  if (at + headerSize > file.length) throw new ArchiveError("it is cut off.");
  verify(file, at, headerSize - 4, at + headerSize - 4, "a block's header");
  const flags = file[at + 1]!;
  let place = at + 2;
  const sizes: number[] = [];
  for (const bit of [0x40, 0x80]) {
    if ((flags & bit) === 0) continue;
    const [size, next] = variableLength(file, place);
    sizes.push(size);
    place = next;
  }
  const uncompressed = (flags & 0x80) !== 0 ? sizes.at(-1) : undefined;
  const [filter, afterFilter] = variableLength(file, place);
  if ((flags & 3) !== 0 || filter !== LZMA2)
    throw new ArchiveError("it uses a filter other than LZMA2. Pack it with plain xz.");
  const [propertySize, properties] = variableLength(file, afterFilter);
  if (propertySize !== 1) throw new ArchiveError("its LZMA2 properties are broken.");

  const decoder = new Lzma2Decoder(file, at + headerSize, dictionarySize(file[properties]!));
  let produced = 0;
  for (const piece of decoder.pieces()) {
    produced += piece.length;
    yield piece;
  }
  if (uncompressed !== undefined && produced !== uncompressed)
    throw new ArchiveError(`a block has ${produced} bytes instead of ${uncompressed}.`);
  const padded = streamStart + Math.ceil((decoder.position - streamStart) / 4) * 4;
  return padded + checkSize;
}

function dictionarySize(bits: number): number {
  if (bits > 40) throw new ArchiveError("its dictionary size is broken.");
  const size = bits === 40 ? 2 ** 32 - 1 : (2 | (bits & 1)) * 2 ** ((bits >> 1) + 11);
  if (size > LARGEST_DICTIONARY)
    throw new ArchiveError(
      `it needs a dictionary of ${size} bytes; at most ${LARGEST_DICTIONARY} are used. Unpack it with xz.`,
    );
  return size;
}

/** Skips the index (which repeats the blocks' sizes) and the footer. */
function afterIndex(file: Uint8Array, start: number, blocks: number): number {
  let [records, at] = variableLength(file, start + 1);
  if (records !== blocks) throw new ArchiveError(`its index lists ${records} blocks of ${blocks}.`);
  for (; records > 0; records--) {
    at = variableLength(file, at)[1];
    at = variableLength(file, at)[1];
  }
  at = start + Math.ceil((at - start) / 4) * 4;
  verify(file, start, at - start, at, "its index");
  const end = at + 4 + 12;
  if (end > file.length || file[end - 2] !== 0x59 || file[end - 1] !== 0x5a)
    throw new ArchiveError("its end is missing or damaged.");
  return end;
}

function variableLength(file: Uint8Array, start: number): [value: number, next: number] {
  let value = 0;
  for (let i = 0; i < 9; i++) {
    const byte = byteAt(file, start + i);
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return [value, start + i + 1];
  }
  throw new ArchiveError("a number in it is too long.");
}

function byteAt(file: Uint8Array, at: number): number {
  const byte = file[at];
  if (byte === undefined) throw new ArchiveError("it is cut off.");
  return byte;
}

function verify(file: Uint8Array, start: number, length: number, sum: number, what: string): void {
  if (sum + 4 > file.length) throw new ArchiveError("it is cut off.");
  const expected = new DataView(file.buffer, file.byteOffset).getUint32(sum, true);
  if (crc32(file.subarray(start, start + length)) !== expected)
    throw new ArchiveError(`${what} is damaged: its check sum is wrong.`);
}
