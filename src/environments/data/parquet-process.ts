/**
 * @file The process in which a parquet file is read.
 */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { serveParent } from "../confined/child.ts";

export interface ParquetRequest {
  readonly path: string;
  /** Rows from here up to and without there. */
  readonly from: number;
  readonly to: number;
  /** Rows of the whole file at most. */
  readonly most: number;
}

export type ParquetAnswer =
  | { readonly rows: readonly unknown[]; readonly total: number }
  | { readonly problem: string };

serveParent(async ({ path, from, to, most }: ParquetRequest): Promise<ParquetAnswer> => {
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    const total = Number(metadata.num_rows);
    if (!(total >= 0 && total <= most))
      return { problem: `it says that it has ${total} rows; at most ${most} are read` };
    const rows = await parquetReadObjects({
      ...{ file, metadata, rowStart: from, rowEnd: Math.min(to, total) },
    });
    return { rows: rows.map((row) => plain(row)), total };
  } catch (error) {
    return { problem: `${reasonOf(error)} (compression must be snappy or none)` };
  }
});

/** The reader stumbles over what it does not check; its words about that mean nothing to anybody. */
function reasonOf(error: unknown): string {
  const isSlip = error instanceof TypeError || error instanceof RangeError;
  if (!(error instanceof Error) || isSlip) return "it is damaged, or no parquet";
  return error.message.slice(0, 300);
}

/** What JSON can hold. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint")
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return new TextDecoder().decode(value as Uint8Array);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, plain(inside)]));
  return value;
}
