/**
 * @file TFRecord framing: length (8 bytes), its masked sum (4), the data, its masked sum (4); all
 * little-endian.
 */
import { maskedCrc32c } from "./crc32c.ts";

const HEADER = 12;
const FOOTER = 4;

export function frameRecord(data: Uint8Array): Buffer {
  const record = Buffer.alloc(HEADER + data.length + FOOTER);
  record.writeBigUInt64LE(BigInt(data.length), 0);
  record.writeUInt32LE(maskedCrc32c(record.subarray(0, 8)), 8);
  record.set(data, HEADER);
  record.writeUInt32LE(maskedCrc32c(data), HEADER + data.length);
  return record;
}

export interface FramedRecord {
  readonly data: Buffer;
  /** Of the whole record, in bytes from the start of the file. */
  readonly end: number;
}

/** The records up to the first that is cut off or whose sums are wrong. */
export function* unframeRecords(bytes: Buffer): Generator<FramedRecord> {
  for (let start = 0; start + HEADER <= bytes.length; ) {
    const length = bytes.readBigUInt64LE(start);
    if (bytes.readUInt32LE(start + 8) !== maskedCrc32c(bytes.subarray(start, start + 8))) return;
    if (length > BigInt(bytes.length - start - HEADER - FOOTER)) return;
    const data = bytes.subarray(start + HEADER, start + HEADER + Number(length));
    const end = start + HEADER + data.length + FOOTER;
    if (bytes.readUInt32LE(end - FOOTER) !== maskedCrc32c(data)) return;
    yield { data, end };
    start = end;
  }
}
