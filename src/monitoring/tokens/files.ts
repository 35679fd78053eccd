/**
 * @file Token tables on disk: one file per iteration, `tokens/000012.gz`. Compressed: eight bytes "omrltok1", the length of
 * the header (uint32, little-endian), the header as JSON, then the columns in float32 in the header's order. A column
 * that has one value everywhere stands in the header instead.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { constants, gunzipSync, gzipSync } from "node:zlib";
import { makeFolder, writeBytes } from "../../folders/index.ts";
import { TOKEN_COLUMNS, type TokenColumn, type TokenTable, tokensOf } from "./table.ts";

const MAGIC = "omrltok1";
const FILE = /^(\d{6,})\.gz$/;
/** No table of an iteration is larger, unpacked. */
const LARGEST = 2 ** 31;

interface Header extends Omit<TokenTable, "columns"> {
  readonly columns: readonly TokenColumn[];
  /** Columns of one value; null: NaN. */
  readonly constants: Readonly<Partial<Record<TokenColumn, number | null>>>;
}

export class TokenFileError extends Error {
  override name = "TokenFileError";
}

export function encodeTokens({ columns, ...rest }: TokenTable): Buffer {
  const constantColumns: Partial<Record<TokenColumn, number | null>> = {};
  const names: TokenColumn[] = [];
  for (const [key, values] of Object.entries(columns)) {
    const name = key as TokenColumn;
    const [first = Number.NaN] = values;
    if (values.every((value) => Object.is(value, first)))
      constantColumns[name] = Number.isFinite(first) ? first : null;
    else names.push(name);
  }
  const header: Header = { ...rest, columns: names, constants: constantColumns };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const parts = names.map((name) => {
    const { buffer, byteOffset, byteLength } = columns[name]!;
    return new Uint8Array(buffer, byteOffset, byteLength);
  });
  return gzipSync(Buffer.concat([Buffer.from(MAGIC), length, text, ...parts]), {
    level: constants.Z_BEST_SPEED,
  });
}

export function decodeTokens(bytes: Buffer, place: string): TokenTable {
  const bad = (why: string) => new TokenFileError(`${place}: is no table of tokens (${why}).`);
  let all: Buffer;
  try {
    all = gunzipSync(bytes, { maxOutputLength: LARGEST });
  } catch (error) {
    throw bad((error as Error).message);
  }
  if (all.toString("latin1", 0, MAGIC.length) !== MAGIC) throw bad("it begins with something else");
  const begin = MAGIC.length + 4;
  if (all.length < begin) throw bad("it ends early");
  const end = begin + all.readUInt32LE(MAGIC.length);
  let header: Header;
  try {
    header = JSON.parse(all.toString("utf8", begin, end)) as Header;
  } catch {
    throw bad("its header is no JSON");
  }
  const known = (name: unknown) => typeof name === "string" && Object.hasOwn(TOKEN_COLUMNS, name);
  if (typeof header !== "object" || header === null) throw bad("its header is no object");
  if (!Array.isArray(header.episodes) || !Array.isArray(header.columns))
    throw bad("its header has no list of episodes and columns");
  if (!header.episodes.every(isEpisode)) throw bad("its episodes are no lists of turns");
  const count = header.episodes.reduce((sum, episode) => sum + tokensOf(episode), 0);
  if (!Number.isSafeInteger(count) || end + 4 * count * header.columns.length !== all.length)
    throw bad(`it has ${all.length} bytes, expected ${end + 4 * count * header.columns.length}`);
  const columns: Partial<Record<TokenColumn, Float32Array>> = {};
  for (const [i, name] of (header.columns as readonly TokenColumn[]).entries())
    if (known(name)) {
      const start = end + 4 * count * i;
      // A copy, because the place may not be a multiple of four.
      columns[name] = new Float32Array(
        new Uint8Array(all.subarray(start, start + 4 * count)).buffer,
      );
    }
  for (const [name, value] of Object.entries(header.constants ?? {}))
    if (known(name))
      columns[name as TokenColumn] = new Float32Array(count).fill(
        typeof value === "number" ? value : Number.NaN,
      );
  const { step, about, episodes } = header;
  return { step, about, episodes, columns };
}

function isEpisode(episode: unknown): boolean {
  const { turns } = Object(episode ?? {}) as { turns?: unknown };
  const isTurn = (turn: { tokens?: unknown } | null) =>
    Number.isSafeInteger(turn?.tokens) && Number(turn?.tokens) >= 0;
  return Array.isArray(turns) && turns.every(isTurn);
}

/** A folder with a table for each iteration that has one. */
export interface TokenFolder {
  write(table: TokenTable): void;
  /** Forgets iterations from this one on: a resumed run makes them again. */
  truncate(step: number): void;
}

export function openTokenFolder(folder: string): TokenFolder {
  return {
    write(table) {
      makeFolder(folder);
      writeBytes(fileOf(folder, table.step), encodeTokens(table));
    },
    truncate(step) {
      for (const known of recordedSteps(folder))
        if (known >= step) rmSync(fileOf(folder, known), { force: true });
    },
  };
}

/** Iterations that have a table, in their order. */
export function recordedSteps(folder: string): number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => FILE.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** Undefined: that iteration has none. */
export function readTokens(folder: string, step: number): TokenTable | undefined {
  const file = fileOf(folder, step);
  return existsSync(file) ? decodeTokens(readFileSync(file), file) : undefined;
}

function fileOf(folder: string, step: number): string {
  return join(folder, `${String(step).padStart(6, "0")}.gz`);
}
