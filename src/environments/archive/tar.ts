/**
 * @file Reads the files in a tar, piece by piece, as the bytes come.
 */
import { ArchiveError } from "./error.ts";

export interface ArchivedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Names longer than this are not real. */
const LONGEST_NAME = 65_536;

interface Header {
  readonly path: string;
  readonly size: number;
  readonly kind: string;
}

/**
 * The regular files that `wanted` chooses by their path, in order. A file larger than `largest` bytes
 * is an error. Links and devices are passed over.
 */
export async function* tarFiles(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  wanted: (path: string) => boolean,
  largest: number,
): AsyncGenerator<ArchivedFile> {
  const input = new Input(pieces);
  /** The next file's real name, where it does not fit into its header. */
  let longName: string | undefined;
  let empty = true;
  for (;;) {
    const block = await input.take(512);
    if (block.length === 0 && !empty) return;
    if (block.length < 512) throw new ArchiveError("it is cut off, or no tar.");
    if (block.every((byte) => byte === 0)) return;
    const header = readHeader(block);
    empty = false;
    const path = longName ?? header.path;
    const padded = Math.ceil(header.size / 512) * 512;
    if (header.kind === "L" || header.kind === "x") {
      if (header.size > LONGEST_NAME) throw new ArchiveError("a name in it is too long.");
      const bytes = (await complete(input, padded)).subarray(0, header.size);
      longName = header.kind === "L" ? text(bytes) : (paxPath(bytes) ?? longName);
      continue;
    }
    longName = undefined;
    if ((header.kind === "0" || header.kind === "\0") && wanted(path)) {
      if (header.size > largest)
        throw new ArchiveError(`${path} has ${header.size} bytes; at most ${largest} are read.`);
      yield { path, bytes: (await complete(input, padded)).subarray(0, header.size) };
    } else {
      await input.skip(padded);
    }
  }
}

async function complete(input: Input, size: number): Promise<Uint8Array> {
  const bytes = await input.take(size);
  if (bytes.length < size) throw new ArchiveError("it is cut off.");
  return bytes;
}

function readHeader(block: Uint8Array): Header {
  const sum = block.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 32 : byte), 0);
  if (octal(block, 148, 8) !== sum)
    throw new ArchiveError("it is damaged, or no tar: the check sum of a header is wrong.");
  const prefix =
    text(block.subarray(257, 262)) === "ustar" && block[262] === 0 ? field(block, 345, 155) : "";
  const name = field(block, 0, 100);
  return {
    path: prefix ? `${prefix}/${name}` : name,
    size: octal(block, 124, 12),
    kind: String.fromCharCode(block[156]!),
  };
}

function field(block: Uint8Array, start: number, length: number): string {
  return text(block.subarray(start, start + length));
}

/** Up to the first zero. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

function octal(block: Uint8Array, start: number, length: number): number {
  const digits = field(block, start, length).trim();
  const value = digits === "" ? 0 : Number.parseInt(digits, 8);
  if (!/^[0-7]*$/.test(digits) || !Number.isSafeInteger(value))
    throw new ArchiveError("it is damaged, or no tar: a number in a header is wrong.");
  return value;
}

/** Extended headers are lines "length key=value". */
function paxPath(bytes: Uint8Array): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(new TextDecoder().decode(bytes))?.[1];
}

/** Bytes that come in pieces, taken in other pieces. */
class Input {
  readonly #pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);
  #at = 0;

  constructor(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#pieces =
      Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  }

  /** The next `size` bytes; fewer only at the end. */
  async take(size: number): Promise<Uint8Array> {
    if (this.#at + size <= this.#piece.length) {
      this.#at += size;
      return this.#piece.subarray(this.#at - size, this.#at);
    }
    const taken: Uint8Array[] = [];
    let length = 0;
    while (length < size && (await this.#more())) {
      const part = this.#piece.subarray(this.#at, this.#at + size - length);
      taken.push(part);
      length += part.length;
      this.#at += part.length;
    }
    return Buffer.concat(taken, length);
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0; ) {
      if (!(await this.#more())) throw new ArchiveError("it is cut off.");
      const part = Math.min(left, this.#piece.length - this.#at);
      this.#at += part;
      left -= part;
    }
  }

  /** False at the end. */
  async #more(): Promise<boolean> {
    while (this.#at >= this.#piece.length) {
      const { value, done } = await this.#pieces.next();
      if (done) return false;
      this.#piece = value;
      this.#at = 0;
    }
    return true;
  }
}
