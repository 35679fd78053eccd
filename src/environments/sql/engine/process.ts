/**
 * @file The process in which queries are carried out. It keeps the databases that it used last.
 */
import { readFile, stat } from "node:fs/promises";
import { serveParent } from "../../confined/child.ts";
import { keepingRecent } from "../../recent-cache.ts";
import { isSameSet, pythonRows } from "./rows.ts";
import { type OpenDatabase, openDatabase, type QueryLimits } from "./sqlite.ts";

/** A database: the same name is always the same content. */
export type DatabaseSource =
  | { readonly name: string; readonly script: string }
  | { readonly name: string; readonly file: string };

export interface SqlRequest {
  readonly database: DatabaseSource;
  readonly query: string;
  /** What the right result is the result of. */
  readonly gold: string;
  readonly limits: QueryLimits & {
    /** Characters of a result's text. */
    readonly text: number;
    /** Bytes of a database file. */
    readonly file: number;
  };
}

export interface SqlAnswer {
  /** The result as Python prints it, or what was wrong. */
  readonly text: string;
  readonly isRight: boolean;
  readonly isError: boolean;
  /** The database cannot be opened, or the right query fails: nobody's query is at fault. */
  readonly broken?: string;
}

const opened = keepingRecent(
  ({ database }: Pick<SqlRequest, "database" | "limits">) => database.name,
  3,
  async ({ database, limits }) => {
    if ("script" in database) return openDatabase(database.script, limits);
    const { size } = await stat(database.file);
    if (size > limits.file)
      throw new Error(`${database.file} has ${size} bytes; ${limits.file} are allowed`);
    return openDatabase(new Uint8Array(await readFile(database.file)), limits);
  },
  (dropped) => {
    dropped.then(
      (database) => database.close(),
      () => {},
    );
  },
);

serveParent(async ({ database, query, gold, limits }: SqlRequest): Promise<SqlAnswer> => {
  const broken = (why: string): SqlAnswer => ({
    ...{ text: "", isRight: false, isError: true, broken: why },
  });
  let open: OpenDatabase;
  try {
    open = await opened({ database, limits });
  } catch (error) {
    return broken((error as Error).message);
  }
  const result = open.query(query);
  if (result.error !== undefined) return { text: result.error, isRight: false, isError: true };
  const right = open.query(gold);
  if (right.error !== undefined) return broken(`the right query fails: ${right.error}`);
  return {
    text: pythonRows(result.rows, limits.text),
    isRight: isSameSet(
      result.rows.map(({ values }) => values),
      right.rows.map(({ values }) => values),
    ),
    isError: false,
  };
});
