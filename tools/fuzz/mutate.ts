/**
 * @file Mutations of bytes and of texts: flipped bits, edges of number types, pieces that are left out, doubled or put
 * elsewhere, words that the reader knows, pieces of other inputs.
 */
import type { FuzzRandom } from "./random.ts";

/** No input grows beyond this. */
export const LARGEST_INPUT = 1 << 16;

const EDGES = [0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 63, 64, 127, 128, 255, 256, 1023, 4095, 32767];
const WIDE_EDGES = [65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];
const ODD_TEXTS = [
  ...[
    "\0",
    "\ufeff",
    "\ud83d",
    "\u2028",
    "🧪",
    "é",
    "\r\n",
    "\n",
    '"',
    "\\",
    "../",
    "/",
    "%00",
    "-1",
  ],
  ...["1e309", "-0", "NaN", "9007199254740993", "18446744073709551616", "__proto__", "constructor"],
  ...["null", "true", "{}", "[]", "{", "}", "[", "]", "(", ")", "<", ">", "#{x}", "{{", "}}", "{%"],
];

/** One to four changes of `input`; `others` are what pieces may be taken from. */
export function mutateBytes(
  input: Buffer,
  random: FuzzRandom,
  words: readonly string[],
  others: () => Buffer,
  isText: boolean,
): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let left = 1 + random.below(4); left > 0; left--)
    bytes = changed(bytes, random, words, others, isText);
  return bytes.subarray(0, LARGEST_INPUT);
}

function changed(
  bytes: Buffer,
  random: FuzzRandom,
  words: readonly string[],
  others: () => Buffer,
  isText: boolean,
): Buffer {
  const at = random.below(bytes.length + 1);
  const some = () => Math.min(bytes.length - at, 1 + random.below(random.once(8) ? 1024 : 16));
  switch (random.below(isText ? 9 : 12)) {
    case 0:
      return spliced(bytes, at, some(), Buffer.alloc(0));
    case 1: {
      const from = random.below(bytes.length + 1);
      const length = 1 + random.below(random.once(8) ? 512 : 24);
      return spliced(bytes, at, 0, bytes.subarray(from, from + length));
    }
    case 2:
      return spliced(bytes, at, random.once(2) ? some() : 0, Buffer.from(random.pick(ODD_TEXTS)));
    case 3:
    case 4: {
      const word = words.length === 0 ? random.pick(ODD_TEXTS) : random.pick(words);
      return spliced(bytes, at, random.once(2) ? some() : 0, Buffer.from(word));
    }
    case 5: {
      const other = others();
      const from = random.below(other.length + 1);
      const length = 1 + random.below(random.once(4) ? other.length + 1 : 32);
      return spliced(bytes, at, random.once(2) ? some() : 0, other.subarray(from, from + length));
    }
    case 6: {
      const piece = bytes.subarray(at, at + some());
      const times = 1 + random.below(random.once(16) ? 2000 : 8);
      const room = Math.max(1, Math.floor(LARGEST_INPUT / (piece.length + 1)));
      return spliced(
        bytes,
        at,
        0,
        Buffer.concat(Array.from({ length: Math.min(times, room) }, () => piece)),
      );
    }
    case 7:
      return withNumber(bytes, random);
    case 8:
      if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
      return bytes;
    case 9:
      if (bytes.length > 0) bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      return bytes;
    case 10:
      return withEdge(bytes, random);
    default:
      return bytes.subarray(0, at);
  }
}

function spliced(bytes: Buffer, at: number, without: number, piece: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + without)]);
}

/** An edge of a number type, in one of the usual widths and orders. */
function withEdge(bytes: Buffer, random: FuzzRandom): Buffer {
  const width = random.pick([1, 2, 4, 8]);
  if (bytes.length < width) return bytes;
  const at = random.below(bytes.length - width + 1);
  const edge = BigInt(random.pick(random.once(2) ? EDGES : WIDE_EDGES));
  const value = random.once(3) ? -edge : random.once(6) ? edge << 32n : edge;
  for (let i = 0; i < width; i++) {
    bytes[at + i] = Number((value >> BigInt(8 * i)) & 255n);
  }
  return bytes;
}

/** Another number where the text has one. */
function withNumber(bytes: Buffer, random: FuzzRandom): Buffer {
  const start = random.below(bytes.length + 1);
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at]! < 48 || bytes[at]! > 57) continue;
    let end = at;
    while (end < bytes.length && bytes[end]! >= 48 && bytes[end]! <= 57) end++;
    const number = random.once(3)
      ? random.pick(["-1", "1e400", "0.5", "99999999999", "9007199254740992", "00", "-0"])
      : String(random.pick(random.once(2) ? EDGES : WIDE_EDGES));
    return spliced(bytes, at, end - at, Buffer.from(number));
  }
  return bytes;
}
