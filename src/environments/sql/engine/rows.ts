/**
 * @file Rows of a result: as Python prints them, and as a set, which is how SqlGym compares results.
 */
import { floatText, reprText } from "../../python-text.ts";

export type Value = number | bigint | string | Uint8Array | null;
export type Row = readonly Value[];

/** Whole numbers come as numbers, too; SQLite's REAL is told apart by its type. */
export interface TypedRow {
  readonly values: Row;
  /** Which of them are floating point. */
  readonly isFloat: readonly boolean[];
}

/** What `str(cursor.fetchall())` is: [(1, 'a'), (2, None)]. */
export function pythonRows(rows: readonly TypedRow[], longest: number): string {
  let text = "[";
  for (const [index, { values, isFloat }] of rows.entries()) {
    const cells = values.map((value, i) => pythonValue(value, isFloat[i] ?? false));
    text += `${index > 0 ? ", " : ""}(${cells.join(", ")}${cells.length === 1 ? "," : ""})`;
    if (text.length > longest) return text;
  }
  return `${text}]`;
}

function pythonValue(value: Value, isFloat: boolean): string {
  if (value === null) return "None";
  if (typeof value === "string") return reprText(value);
  if (value instanceof Uint8Array) {
    const bytes = [...value].map((byte) =>
      byte >= 32 && byte < 127 && byte !== 39 && byte !== 92
        ? String.fromCharCode(byte)
        : `\\x${byte.toString(16).padStart(2, "0")}`,
    );
    return `b'${bytes.join("")}'`;
  }
  if (typeof value === "bigint" || !isFloat) return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return floatText(value);
}

/** Whether they have the same rows, however often and in whatever order. */
export function isSameSet(one: readonly Row[], other: readonly Row[]): boolean {
  const [left, right] = [new Set(one.map(keyOf)), new Set(other.map(keyOf))];
  return left.size === right.size && [...left].every((key) => right.has(key));
}

/** Equal for values that are equal in Python: 1 and 1.0 are, 1 and '1' are not. */
function keyOf(row: Row): string {
  return JSON.stringify(
    row.map((value) => {
      if (value === null) return null;
      if (typeof value === "string") return `t${value}`;
      if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
      if (typeof value === "bigint") return `n${value}`;
      return Number.isInteger(value) ? `n${BigInt(value)}` : `n${value}`;
    }),
  );
}
