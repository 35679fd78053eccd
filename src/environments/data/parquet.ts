/**
 * @file The rows of a parquet file that somebody else wrote. They are read in a process of its own: some damaged files make
 * the reader run for ever, or ask for more memory than there is, and no look at the file beforehand tells which.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { confinedPool } from "../confined/pool.ts";
import type { ParquetAnswer, ParquetRequest } from "./parquet-process.ts";

/** What is wrong with a parquet file. Whoever knows what it is for says so. */
export class ParquetError extends Error {
  override name = "ParquetError";
}

/** Rows that are handed over at once. */
const PORTION = 50_000;
/** Milliseconds for a portion, and for each of the file's bytes beyond that. */
const TIME = 10_000;
const TIME_PER_BYTE = 1 / 1000;
/** Of the reader's memory; honest files take ten times their size. */
const FLAGS = ["--max-old-space-size=4096"];

/** More rows than `most` are an error. Large numbers become texts, dates their usual form. */
export async function parquetRows(path: string, most: number): Promise<unknown[]> {
  const pool = confinedPool<ParquetRequest, ParquetAnswer>(
    { name: "./parquet-process", base: import.meta.url },
    FLAGS,
    1,
  );
  const time = TIME + TIME_PER_BYTE * statSync(path).size;
  const portion = async (from: number): Promise<Extract<ParquetAnswer, { rows: unknown }>> => {
    const answer = await pool
      .ask({ path: resolve(path), from, to: from + PORTION, most }, time)
      .catch((error: Error) => ({ problem: `its reader ended (${error.message})` }));
    if (!answer) throw new ParquetError(`it was not read within ${Math.round(time / 1000)} s`);
    if ("problem" in answer) throw new ParquetError(answer.problem);
    return answer;
  };
  try {
    const rows: unknown[] = [];
    for (let total = 1; rows.length < total; ) {
      const part = await portion(rows.length);
      total = part.total;
      if (part.rows.length === 0 && total > 0)
        throw new ParquetError(`it says that it has ${total} rows, and has ${rows.length}`);
      for (const row of part.rows) rows.push(row);
    }
    return rows;
  } finally {
    pool.close();
  }
}
