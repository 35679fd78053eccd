/**
 * @file SQLite (the project's own WebAssembly build), with rules for queries of strangers.
 *
 * A query may read the database and nothing else: SQLite asks an authorizer about everything that a statement
 * would do, before it does anything. How long it works is counted in SQLite's own instructions, so that the same
 * query is stopped at the same place on every machine. The clock stands still, and nothing is random.
 */
import sqlite3Init, { type Database, type Sqlite3Static } from "@sqlite.org/sqlite-wasm";
import type { TypedRow, Value } from "./rows.ts";

export interface QueryLimits {
  /** Instructions of SQLite's machine, in thousands. */
  readonly work: number;
  /** Bytes that SQLite may hold, the database included. */
  readonly memory: number;
  /** Rows of a result. */
  readonly rows: number;
}

export interface QueryResult {
  readonly rows: readonly TypedRow[];
  readonly error?: string;
}

export interface OpenDatabase {
  query(sql: string): QueryResult;
  close(): void;
}

/** A script that makes it, or the bytes of a database file. */
export type DatabaseContent = string | Uint8Array;

const LONGEST_SQL = 100_000;
const LONGEST_VALUE = 10_000_000;
/** Pragmas that only tell about tables. */
const TELLING = new Set([
  ...["table_info", "table_xinfo", "table_list", "foreign_key_list"],
  ...["index_list", "index_info", "index_xinfo"],
]);
const UNCERTAIN = new Set(["random", "randomblob", "load_extension"]);

let loaded: Promise<Sqlite3Static> | undefined;

function library(): Promise<Sqlite3Static> {
  // What the clock says to SQLite: the same on every machine.
  Date.now = () => 0;
  // It prints what goes wrong, which is said in the answer.
  loaded ??= sqlite3Init({ print: () => {}, printErr: () => {} });
  return loaded;
}

export async function openDatabase(
  content: DatabaseContent,
  limits: QueryLimits,
): Promise<OpenDatabase> {
  const sqlite3 = await library();
  const { capi } = sqlite3;
  const database = new sqlite3.oo1.DB(":memory:", "c");
  try {
    database.exec(`PRAGMA hard_heap_limit=${limits.memory}`);
    if (typeof content === "string") database.exec(content);
    else deserialize(sqlite3, database, content);
    const most = [
      [capi.SQLITE_LIMIT_ATTACHED, 0],
      [capi.SQLITE_LIMIT_LENGTH, LONGEST_VALUE],
      [capi.SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL],
      [capi.SQLITE_LIMIT_EXPR_DEPTH, 200],
      // Each sign of a pattern can make matching as slow again.
      [capi.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100],
    ] as const;
    for (const [which, value] of most) capi.sqlite3_limit(database, which, value);
  } catch (error) {
    database.close();
    throw error;
  }
  const query = guardedQueries(sqlite3, database, limits);
  return { query, close: () => database.close() };
}

function deserialize({ capi, wasm }: Sqlite3Static, database: Database, bytes: Uint8Array): void {
  const memory = wasm.allocFromTypedArray(bytes);
  const flags = capi.SQLITE_DESERIALIZE_FREEONCLOSE;
  const code = capi.sqlite3_deserialize(
    database.pointer!,
    "main",
    memory,
    bytes.length,
    bytes.length,
    flags,
  );
  database.checkRc(code);
}

type Prepared = ReturnType<Database["prepare"]>;

/** Runs one statement at a time under the rules. */
function guardedQueries(
  sqlite3: Sqlite3Static,
  database: Database,
  limits: QueryLimits,
): (sql: string) => QueryResult {
  const { capi } = sqlite3;
  const pointer = database.pointer!;
  let work = 0;
  let denied: string | undefined;
  capi.sqlite3_progress_handler(pointer, 1000, () => (++work > limits.work ? 1 : 0), 0);
  const reading = new Set<number>([capi.SQLITE_SELECT, capi.SQLITE_READ, capi.SQLITE_RECURSIVE]);
  // Names come as texts, or as 0 where there is none.
  const authorize = (_: number, action: number, first: unknown, second: unknown): number => {
    const [pragma, called] = [first, second].map((name) => String(name).toLowerCase()) as [
      string,
      string,
    ];
    if (reading.has(action)) return capi.SQLITE_OK;
    if (action === capi.SQLITE_FUNCTION && !UNCERTAIN.has(called)) return capi.SQLITE_OK;
    if (action === capi.SQLITE_PRAGMA && TELLING.has(pragma)) return capi.SQLITE_OK;
    if (action === capi.SQLITE_FUNCTION) denied = `not authorized to use function: ${called}`;
    else if (action === capi.SQLITE_PRAGMA || action === capi.SQLITE_ATTACH)
      denied = "not authorized";
    else denied = "attempt to write a readonly database";
    return capi.SQLITE_DENY;
  };
  capi.sqlite3_set_authorizer(pointer, authorize as never, 0);
  return (sql) => {
    work = 0;
    denied = undefined;
    const failed = (error: string): QueryResult => ({ rows: [], error });
    if (sql.length > LONGEST_SQL) return failed("query string is too large");
    const [first, ...others] = statementsIn(sql);
    if (others.length > 0) return failed("You can only execute one statement at a time.");
    if (first === undefined) return { rows: [] };
    let statement: Prepared | undefined;
    try {
      statement = database.prepare(first);
      return collected(sqlite3, statement, limits);
    } catch (error) {
      if (work > limits.work) return failed("interrupted");
      return failed(denied ?? plainMessage(error));
    } finally {
      statement?.finalize();
    }
  };
}

function collected({ capi }: Sqlite3Static, statement: Prepared, limits: QueryLimits): QueryResult {
  const rows: TypedRow[] = [];
  let size = 0;
  while (statement.step()) {
    const count = statement.columnCount;
    const values: Value[] = [];
    const isFloat: boolean[] = [];
    for (let column = 0; column < count; column++) {
      const value = statement.get(column) as Value;
      values.push(value);
      isFloat.push(capi.sqlite3_column_type(statement.pointer!, column) === capi.SQLITE_FLOAT);
      size += typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
    }
    rows.push({ values, isFloat });
    if (rows.length > limits.rows || size > LONGEST_VALUE)
      return { rows: [], error: `more than ${limits.rows} rows, or ${LONGEST_VALUE} characters` };
  }
  return { rows };
}

/** SQLite's own words, without those of its wrapper. */
function plainMessage(error: unknown): string {
  const { message } = error as Error;
  return message.replace(/^SQLITE_\w+: sqlite3 result code \d+: /, "");
}

/** The statements of a text, without those that are only white space and comments. */
export function statementsIn(sql: string): string[] {
  const found: string[] = [];
  const token =
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[\s\S]/gu;
  let text = "";
  let isEmpty = true;
  const end = (): void => {
    if (!isEmpty) found.push(text);
    text = "";
    isEmpty = true;
  };
  for (const [part] of sql.matchAll(token)) {
    if (part === ";") {
      end();
      continue;
    }
    if (!part.startsWith("--") && !part.startsWith("/*") && part.trim() !== "") isEmpty = false;
    text += part;
  }
  end();
  return found;
}
