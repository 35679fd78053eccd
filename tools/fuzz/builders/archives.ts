/**
 * @file Archives of values, however odd: zip and tar with the check sums that a reader asks for first, and those of an xz
 * put right again.
 */
import { deflateRawSync } from "node:zlib";
import { crc32 } from "../../../src/environments/archive/crc32.ts";

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const numberOf = (value: unknown, otherwise: number): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.trunc(value) : otherwise;

/** `[{ path, text, method, size, packed, crc, mode, flags, offset }]`; what is not said is as it should be. */
export function zipBytes(files: unknown): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const file of listOf(files).map(fieldsOf)) {
    const name = Buffer.from(textOf(file.path ?? "x")).subarray(0, 60_000);
    const content = Buffer.from(textOf(file.text ?? ""));
    const method = numberOf(file.method, 8);
    const packed = method === 8 ? deflateRawSync(content) : content;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(numberOf(file.flags, 0) & 65_535, 2);
    common.writeUInt16LE(method & 65_535, 4);
    common.writeUInt32LE(numberOf(file.crc, crc32(content)) >>> 0, 10);
    common.writeUInt32LE(numberOf(file.packed, packed.length) >>> 0, 14);
    common.writeUInt32LE(numberOf(file.size, content.length) >>> 0, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4]), common, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((numberOf(file.mode, 0o100644) << 16) >>> 0, 6);
    rest.writeUInt32LE(numberOf(file.offset, at) >>> 0, 10);
    directory.push(Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2, 20, 3]), common, rest, name]));
    parts.push(local);
    at += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(directory.length & 65_535, 8);
  end.writeUInt16LE(directory.length & 65_535, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, entries, end]);
}

/** `[{ path, text, kind, size, to }]`, and the end. */
export function tarBytes(files: unknown): Buffer {
  const parts = listOf(files)
    .map(fieldsOf)
    .flatMap((file) => {
      const content = Buffer.from(textOf(file.text ?? ""));
      const header = Buffer.alloc(512);
      header.write(textOf(file.path ?? "x"), 0, 100);
      header.write("0000644", 100);
      const size = Math.abs(numberOf(file.size, content.length));
      header.write(size.toString(8).padStart(11, "0").slice(0, 12), 124);
      header.write(textOf(file.kind ?? "0").slice(0, 1), 156);
      header.write(textOf(file.to ?? ""), 157, 100);
      header.write("ustar\u000000", 257);
      const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
      return [tarSummed(header), content, padding];
    });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

/** The check sum of a header put right. */
export function tarSummed(bytes: Buffer): Buffer {
  const header = Buffer.from(bytes);
  if (header.length < 512) return header;
  header.write(" ".repeat(8), 148);
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** The check sums of an xz's first header, first block's header and last footer put right. */
export function xzSummed(bytes: Buffer): Buffer {
  const file = Buffer.from(bytes);
  const sum = (from: number, length: number, to: number) => {
    if (from + length <= file.length && to + 4 <= file.length)
      file.writeUInt32LE(crc32(file.subarray(from, from + length)), to);
  };
  sum(6, 2, 8);
  const size = ((file[12] ?? 0) + 1) * 4;
  sum(12, size - 4, 12 + size - 4);
  return file;
}
