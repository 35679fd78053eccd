/**
 * @file BIRD's folders, as SqlGym reads them: `train/train.json`, `train/train_tables.json`,
 * `train/train_databases/NAME/NAME.sqlite`, and the same for dev.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { EnvironmentError } from "../environment.ts";
import type { Schema } from "./schema-text.ts";

const questions = z.array(
  z.object({
    db_id: z.string().regex(/^[\w-]+$/),
    question: z.string(),
    SQL: z.string(),
    difficulty: z.string().optional(),
  }),
);
const tables = z.array(
  z.object({
    db_id: z.string(),
    table_names: z.array(z.string()),
    column_names: z.array(z.tuple([z.number().int(), z.string()])),
    // BIRD has lists for keys of several columns, which the original takes for no key.
    primary_keys: z.array(z.union([z.number().int(), z.array(z.number().int())])),
    foreign_keys: z.array(z.tuple([z.number().int(), z.number().int()])),
  }),
);

export interface BirdQuestion {
  readonly schema: Schema;
  readonly question: string;
  readonly gold: string;
  readonly file: string;
  readonly difficulty: string | undefined;
}

export const BIRD_SPLITS = ["train", "dev"] as const;

/** The questions of the splits that are there. */
export function readBird(folder: string): ReadonlyMap<string, readonly BirdQuestion[]> {
  const found = new Map<string, readonly BirdQuestion[]>();
  for (const split of BIRD_SPLITS) {
    const at = (name: string): string => join(folder, split, `${split}${name}`);
    if (!existsSync(at(".json"))) continue;
    const schemas = new Map(
      readJson(at("_tables.json"), tables).map((table): [string, Schema] => [
        table.db_id,
        {
          name: table.db_id,
          tables: table.table_names,
          columns: table.column_names,
          primaryKeys: table.primary_keys.filter((key) => typeof key === "number"),
          foreignKeys: table.foreign_keys,
        },
      ]),
    );
    const list = readJson(at(".json"), questions).map(({ db_id, question, SQL, difficulty }) => {
      const schema = schemas.get(db_id);
      if (!schema)
        throw new EnvironmentError("sql", `${at("_tables.json")} has no database "${db_id}".`);
      const file = join(folder, split, `${split}_databases`, db_id, `${db_id}.sqlite`);
      return { schema, question, gold: SQL, file, difficulty };
    });
    found.set(split, list);
  }
  if (found.size > 0) return found;
  throw new EnvironmentError(
    "sql",
    `there is no train/train.json and no dev/dev.json in ${folder}; is it BIRD's folder?`,
  );
}

function readJson<Shape>(file: string, shape: z.ZodType<Shape>): Shape {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new EnvironmentError("sql", `${file} cannot be read: ${(error as Error).message}`);
  }
  const read = shape.safeParse(content);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new EnvironmentError(
    "sql",
    `${file} is not as BIRD writes it: ${issue?.path.join(".")}: ${issue?.message}.`,
  );
}
