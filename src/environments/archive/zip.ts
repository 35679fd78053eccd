/**
 * @file Reads the files in a zip, in any order, each when asked for.
 *
 * Sizes and places come from the central directory at the end of the file (with the 64-bit
 * extension); stored and deflated files are read; encrypted ones are refused.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { crc32 } from "./crc32.ts";
import { ArchiveError } from "./error.ts";

export interface ZipEntry {
  readonly path: string;
  /** Bytes of the contents. */
  readonly size: number;
  readonly isFile: boolean;
  readonly compressedSize: number;
  readonly method: number;
  readonly crc: number;
  readonly encrypted: boolean;
  /** Where its local header is. */
  readonly offset: number;
}

const [STORED, DEFLATED] = [0, 8];
const MOST_ENTRIES = 1_000_000;
/** Bytes before a file's name. */
const LOCAL_HEADER = 30;
/** The end record is 22 bytes and a comment of at most 65,535. */
const END_SPAN = 22 + 65_535;

export class ZipFile {
  readonly entries: readonly ZipEntry[];
  readonly #file: number;
  readonly #size: number;

  constructor(path: string) {
    this.#file = openSync(path, "r");
    try {
      this.#size = fstatSync(this.#file).size;
      this.entries = this.#directory();
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** The contents of a file; its check sum is verified. */
  read(entry: ZipEntry, largest: number): Uint8Array {
    const { path, size, compressedSize, method, encrypted } = entry;
    if (size > largest)
      throw new ArchiveError(`${path} has ${size} bytes; at most ${largest} are read.`);
    if (encrypted) throw new ArchiveError(`${path} is encrypted.`);
    if (method !== STORED && method !== DEFLATED)
      throw new ArchiveError(`${path} is compressed by method ${method}; only deflate is read.`);
    const header = this.#bytes(entry.offset, LOCAL_HEADER);
    if (header.readUInt32LE(0) !== 0x04034b50) throw new ArchiveError(`${path} has no header.`);
    // The name and the extra field may be longer here than in the directory.
    const start = entry.offset + LOCAL_HEADER + header.readUInt16LE(26) + header.readUInt16LE(28);
    const packed = this.#bytes(start, compressedSize);
    const bytes = method === STORED ? packed : inflated(packed, path, size);
    if (bytes.length !== size || crc32(bytes) !== entry.crc)
      throw new ArchiveError(`${path} is damaged: its check sum is wrong.`);
    return bytes;
  }

  #bytes(position: number, length: number): Buffer {
    if (position < 0 || length < 0 || position + length > this.#size)
      throw new ArchiveError("it is cut off or damaged.");
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const read = readSync(this.#file, bytes, done, length - done, position + done);
      if (read === 0) throw new ArchiveError("it is cut off.");
      done += read;
    }
    return bytes;
  }

  #directory(): ZipEntry[] {
    const span = Math.min(this.#size, END_SPAN);
    const tail = this.#bytes(this.#size - span, span);
    const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
    if (end < 0 || end + 22 > tail.length)
      throw new ArchiveError("it is no zip, or cut off: its end record is missing.");
    let count = tail.readUInt16LE(end + 10);
    let size = tail.readUInt32LE(end + 12);
    let offset = tail.readUInt32LE(end + 16);
    const locator = end - 20;
    if (locator >= 0 && tail.readUInt32LE(locator) === 0x07064b50) {
      const record = this.#bytes(Number(tail.readBigUInt64LE(locator + 8)), 56);
      if (record.readUInt32LE(0) !== 0x06064b50)
        throw new ArchiveError("its end record is damaged.");
      count = Number(record.readBigUInt64LE(32));
      size = Number(record.readBigUInt64LE(40));
      offset = Number(record.readBigUInt64LE(48));
    }
    if (count > MOST_ENTRIES) throw new ArchiveError(`it claims to hold ${count} files.`);
    const directory = this.#bytes(offset, size);
    const entries: ZipEntry[] = [];
    for (let at = 0; entries.length < count; ) {
      if (at + 46 > directory.length || directory.readUInt32LE(at) !== 0x02014b50)
        throw new ArchiveError("its directory is damaged.");
      const next =
        at + 46 + [28, 30, 32].reduce((sum, i) => sum + directory.readUInt16LE(at + i), 0);
      if (next > directory.length) throw new ArchiveError("its directory is damaged.");
      entries.push(readEntry(directory, at));
      at = next;
    }
    requireApart(entries);
    return entries;
  }
}

/** Files that are the same bytes of the archive make gigabytes of kilobytes, and no program writes them. */
function requireApart(entries: readonly ZipEntry[]): void {
  const places = entries.map(({ offset, compressedSize }) => ({
    start: offset,
    end: offset + LOCAL_HEADER + compressedSize,
  }));
  places.sort((a, b) => a.start - b.start);
  for (let i = 1; i < places.length; i++)
    if (places[i]!.start < places[i - 1]!.end)
      throw new ArchiveError("files in it share their bytes: it is damaged, or made to do harm.");
}

function readEntry(directory: Buffer, at: number): ZipEntry {
  const nameLength = directory.readUInt16LE(at + 28);
  const path = directory.toString("utf8", at + 46, at + 46 + nameLength);
  const sizes = {
    size: directory.readUInt32LE(at + 24),
    compressedSize: directory.readUInt32LE(at + 20),
    offset: directory.readUInt32LE(at + 42),
  };
  // Numbers that do not fit into 32 bits are in the 64-bit extra field, in this order.
  const extra = at + 46 + nameLength;
  const extraEnd = extra + directory.readUInt16LE(at + 30);
  for (let place = extra; place + 4 <= extraEnd; place += 4 + directory.readUInt16LE(place + 2)) {
    if (directory.readUInt16LE(place) !== 1) continue;
    let value = place + 4;
    for (const name of ["size", "compressedSize", "offset"] as const) {
      if (sizes[name] !== 0xffffffff || value + 8 > extraEnd) continue;
      sizes[name] = Number(directory.readBigUInt64LE(value));
      value += 8;
    }
  }
  const kind = (directory.readUInt32LE(at + 38) >>> 28) & 15;
  return {
    path,
    ...sizes,
    // The kind of file as Unix has it: 8 is a regular one, 0 was not written by Unix, 10 is a link.
    isFile: !path.endsWith("/") && (kind === 8 || kind === 0),
    method: directory.readUInt16LE(at + 10),
    crc: directory.readUInt32LE(at + 16),
    encrypted: (directory.readUInt16LE(at + 8) & 1) !== 0,
  };
}

function inflated(packed: Uint8Array, path: string, size: number): Uint8Array {
  try {
    // A file that grows beyond its stated size is a bomb, or damaged.
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    throw new ArchiveError(`${path} is damaged (${(error as Error).message}).`);
  }
}
