/**
 * @file The beginning of a file, read forwards through a window: nothing is held that is merely claimed, and
 * nothing is read beyond the file's end.
 */
import { ModelFileError } from "../../checkpoint/errors.ts";
import { readExactly } from "../../safetensors/staging.ts";

/** Bytes that are read at once. */
const WINDOW = 1 << 20;
/** As for safetensors: no honest header is larger. */
const MAXIMUM_HEADER_BYTES = 100_000_000;

export class ForwardReader {
  /** What is being read, for the message of a file that ends within it. */
  reading = "the header";
  readonly #descriptor: number;
  readonly #file: string;
  readonly #end: number;
  readonly #fileLength: number;
  /** The next byte, from the file's first. */
  #position = 0;
  #window = new Uint8Array(0);
  #view = new DataView(this.#window.buffer);
  #windowStart = 0;
  /** In the window. */
  #at = 0;
  // A mark at a text's beginning is a part of it: it may be a token.
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  constructor(descriptor: number, fileLength: number, file: string) {
    this.#descriptor = descriptor;
    this.#file = file;
    this.#fileLength = fileLength;
    this.#end = Math.min(fileLength, MAXIMUM_HEADER_BYTES);
  }

  get position(): number {
    return this.#position;
  }

  /** Bytes that may still be read. */
  get left(): number {
    return this.#end - this.#position;
  }

  fail(reason: string): never {
    throw new ModelFileError(this.#file, reason);
  }

  /** Throws where so many bytes cannot follow. */
  #require(length: number): void {
    if (length <= this.left) return;
    if (this.#end < this.#fileLength)
      this.fail(`its header goes beyond ${MAXIMUM_HEADER_BYTES} bytes, in ${this.reading}`);
    this.fail(
      `ends at byte ${this.#fileLength}, but ${this.reading} needs ${length} bytes from byte ` +
        `${this.#position} on: truncated?`,
    );
  }

  uint8(): number {
    return this.#next(1).getUint8(this.#at);
  }

  int8(): number {
    return this.#next(1).getInt8(this.#at);
  }

  uint16(): number {
    return this.#next(2).getUint16(this.#at, true);
  }

  int16(): number {
    return this.#next(2).getInt16(this.#at, true);
  }

  uint32(): number {
    return this.#next(4).getUint32(this.#at, true);
  }

  int32(): number {
    return this.#next(4).getInt32(this.#at, true);
  }

  uint64(): bigint {
    return this.#next(8).getBigUint64(this.#at, true);
  }

  int64(): bigint {
    return this.#next(8).getBigInt64(this.#at, true);
  }

  float32(): number {
    return this.#next(4).getFloat32(this.#at, true);
  }

  float64(): number {
    return this.#next(8).getFloat64(this.#at, true);
  }

  /** A number of things, each of which takes at least `bytes` bytes of what follows. */
  count(most: number, bytes: number): number {
    const claimed = this.uint64();
    if (claimed > BigInt(most))
      this.fail(`${this.reading} claims ${claimed} entries, expected at most ${most}`);
    if (Number(claimed) * bytes > this.left)
      this.fail(
        `${this.reading} claims ${claimed} entries, but only ${this.left} bytes follow: truncated?`,
      );
    return Number(claimed);
  }

  /** A text with its length before it. */
  text(longest: number): string {
    const length = this.uint64();
    if (length > BigInt(longest))
      this.fail(`${this.reading} claims a text of ${length} bytes, expected at most ${longest}`);
    this.#next(Number(length));
    try {
      return this.#decoder.decode(this.#window.subarray(this.#at, this.#at + Number(length)));
    } catch {
      return this.fail(`a text in ${this.reading} is not valid UTF-8`);
    }
  }

  /** Goes over the next bytes: the window with all of them in it, from #at on. */
  #next(length: number): DataView {
    this.#require(length);
    this.#at = this.#position - this.#windowStart;
    if (this.#at + length > this.#window.length) {
      const most = Math.min(Math.max(length, WINDOW), this.left);
      this.#window = new Uint8Array(most);
      readExactly(this.#descriptor, this.#window, most, this.#position, this.#file);
      this.#view = new DataView(this.#window.buffer);
      this.#windowStart = this.#position;
      this.#at = 0;
    }
    this.#position += length;
    return this.#view;
  }
}
