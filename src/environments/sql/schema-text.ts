/**
 * @file A database's schema in words, as SqlGym writes it.
 */

export interface Schema {
  readonly name: string;
  readonly tables: readonly string[];
  /** Each with the number of its table; in BIRD's files the first is "*", of no table. */
  readonly columns: readonly (readonly [table: number, name: string])[];
  /** Numbers of columns. */
  readonly primaryKeys: readonly number[];
  readonly foreignKeys: readonly (readonly [from: number, to: number])[];
}

/**
 * `isOriginal`: foreign keys are named as the original names them: by the column after the one that is meant,
 * because it leaves "*" out when it names columns and not when it counts them.
 */
export function schemaText(schema: Schema, isOriginal: boolean): string {
  const tables = schema.tables.map((name) => name.toLowerCase());
  const columns = schema.columns.map(([, name]) => name.toLowerCase());
  const parts = [`${schema.name} contains tables such as ${tables.join(", ")}.`];
  for (const [table, name] of tables.entries()) {
    const own = columns.flatMap((column, i) =>
      i > 0 && schema.columns[i]![0] === table ? [{ column, i }] : [],
    );
    const keys = own.filter(({ i }) => schema.primaryKeys.includes(i));
    parts.push(
      `Table ${name} has columns such as ${own.map(({ column }) => column).join(", ")}.`,
      `${keys.map(({ column }) => column).join(", ")} is the primary key.`,
    );
  }
  const named = (column: number): string => {
    const counted = isOriginal ? (column % (columns.length - 1)) + 1 : column;
    return `${columns[counted]} of ${tables[schema.columns[column]![0]]}`;
  };
  for (const [from, to] of schema.foreignKeys)
    parts.push(`The ${named(from)} is the foreign key of ${named(to)}.`);
  return parts.join(" ");
}
