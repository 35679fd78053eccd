/**
 * @file Writes small zip files, honest ones and others.
 */
import { deflateRawSync } from "node:zlib";
import { crc32 } from "../../src/environments/archive/crc32.ts";

export interface ZipWishes {
  readonly stored?: boolean;
  /** The Unix mode of the files. */
  readonly mode?: number;
  /** A size that is not the real one. */
  readonly claimedSize?: number;
}

export function zipOf(
  files: Readonly<Record<string, string | Buffer>>,
  wishes: ZipWishes = {},
): Buffer {
  const { stored = false, mode = 0o100644, claimedSize } = wishes;
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [path, content] of Object.entries(files)) {
    const name = Buffer.from(path);
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    const packed = stored ? bytes : deflateRawSync(bytes);
    // From the version on, both headers have the same fields up to the lengths of name and extra.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4]), common, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((mode << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    const madeBy = Buffer.from([20, 3]);
    directory.push(Buffer.concat([Buffer.from([0x50, 0x4b, 1, 2]), madeBy, common, rest, name]));
    parts.push(local);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, entries, end]);
}
