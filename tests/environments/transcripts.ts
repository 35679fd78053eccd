/**
 * @file The published transcripts of the smaller worlds, from the shared folder beside the repository.
 */
import { readFileSync } from "node:fs";
import { parquetReadObjects } from "hyparquet";
import { sharedFile } from "../support/shared.ts";

export interface Transcript {
  /** "lmrlgym_maze_18": the number is the game's. */
  readonly id: string;
  readonly number: number;
  /** What the world said and what the model answered to it, in turn. */
  readonly turns: readonly { readonly said: string; readonly reply: string }[];
}

/** A parquet file's rows. */
export async function rowsOf(path: string): Promise<Record<string, unknown>[]> {
  const bytes = new Uint8Array(readFileSync(sharedFile(path)));
  return parquetReadObjects({ file: bytes.buffer as ArrayBuffer });
}

/** The transcripts of a world's published files; validation rows are copies of training rows. */
export async function transcripts(world: string, files: readonly string[]): Promise<Transcript[]> {
  const found: Transcript[] = [];
  for (const file of files)
    for (const row of await rowsOf(`data/openmanus/${world}/${file}.parquet`)) {
      const id = String(row.item_id);
      const messages = (row.conversations as { from: string; value: string }[]).slice(2);
      const turns = [];
      for (let i = 0; i + 1 < messages.length; i += 2)
        turns.push({ said: messages[i]!.value, reply: messages[i + 1]!.value });
      found.push({ id, number: Number(/\d+$/.exec(id)?.[0]), turns });
    }
  return found;
}

/** What follows the first "Action:". */
export function actionOf(reply: string): string {
  return reply.slice(reply.indexOf("Action:") + "Action:".length).trim();
}
