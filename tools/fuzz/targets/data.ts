/**
 * @file Files of tasks and settings: parquet, JSON, JSON lines, YAML, recipes, products.
 */
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { ConfigError, resolveConfig } from "../../../src/config/index.ts";
import { confinedPool } from "../../../src/environments/confined/pool.ts";
import type {
  ParquetAnswer,
  ParquetRequest,
} from "../../../src/environments/data/parquet-process.ts";
import { EnvironmentError, ParquetError } from "../../../src/environments/index.ts";
import { openCorpus } from "../../../src/environments/tools/search/corpus.ts";
import { questionsOf } from "../../../src/environments/tools/tasks/question.ts";
import { readRecipe, RecipeError } from "../../../src/environments/textcraft/recipe-file.ts";
import { DataError, eachObject } from "../../../src/environments/webshop/data/json-array.ts";
import { asinOf, productOf } from "../../../src/environments/webshop/data/record.ts";
import { bytes, type Target, texts, values } from "../target.ts";

const QUESTIONS = ["How far is it?", "Who was first?", "Why?"];

function parquetFile(codec: "SNAPPY" | "UNCOMPRESSED"): Buffer {
  const columns = [
    { name: "question", data: QUESTIONS, type: "STRING" as const },
    { name: "answer", data: ["5", "Ada", "because"], type: "STRING" as const },
    { name: "level", data: [1, 2, 3], type: "INT32" as const },
    { name: "score", data: [0.5, 1, 2], type: "DOUBLE" as const },
    { name: "hard", data: [true, false, true], type: "BOOLEAN" as const },
  ];
  return Buffer.from(parquetWriteBuffer({ columnData: columns, codec }));
}

/** Read as in a run: by a process that is ended when it does not answer. What it reaches is not seen from here. */
const parquet: Target = {
  name: "parquet",
  words: ["PAR1", "question", "answer"],
  errors: [ParquetError],
  forms: () => [bytes([parquetFile("SNAPPY"), parquetFile("UNCOMPRESSED")])],
  open(folder) {
    const process = {
      name: "../../../src/environments/data/parquet-process",
      base: import.meta.url,
    };
    const pool = confinedPool<ParquetRequest, ParquetAnswer>(process, [], 1);
    return {
      async run(given) {
        const path = join(folder, "questions.parquet");
        writeFileSync(path, given);
        const answer = await pool
          .ask({ path, from: 0, to: 100, most: 1000 }, 1000)
          .catch((error: Error) => ({ problem: `its reader ended (${error.message})` }));
        if (!answer) throw new ParquetError("it was not read within a second");
        if ("problem" in answer) throw new ParquetError(answer.problem);
      },
      close: () => pool.close(),
    };
  },
};

const RECORDS = QUESTIONS.map((question, i) => ({ question, answer: i, level: 1, split: "test" }));
const lines = (rows: unknown) =>
  (Array.isArray(rows) ? rows : [rows]).map((row) => JSON.stringify(row)).join("\n");

const records: Target = {
  name: "records",
  words: ["question", "answer", "task_id", "level", "split", "Final answer", "text", "contents"],
  errors: [EnvironmentError],
  forms: () => [
    values([RECORDS, [{ title: "A", text: "b" }]], lines),
    values([RECORDS, { data: RECORDS }]),
    texts(lines(RECORDS)),
  ],
  open: (folder) => ({
    async run(given) {
      for (const name of ["a.jsonl", "a.json"]) writeFileSync(join(folder, name), given);
      const errors: unknown[] = [];
      for (const read of [questionsOf, openCorpus])
        for (const name of ["a.jsonl", "a.json"])
          await read(join(folder, name)).catch((error: unknown) => errors.push(error));
      const wrong = errors.find((error) => !(error instanceof EnvironmentError));
      if (wrong !== undefined) throw wrong;
      if (errors.length > 0) throw errors[0];
    },
  }),
};

const yaml: Target = {
  name: "yaml",
  words: [
    ...["trainer:", "data:", "&a ", "*a", "<<: *a", "!!binary ", "!!set ", "- ", "? ", ": ", "|\n"],
    ...[
      "env:",
      "env_name: maze",
      "__proto__: ",
      "actor_rollout_ref:",
      "algorithm:",
      "adv_estimator: ",
    ],
    ...["total_epochs: ", "n: ", "null", "0x1F", ".inf", "2001-01-01", "%YAML 1.1\n---\n", "...\n"],
  ],
  errors: [ConfigError],
  forms: () => [
    texts(
      "trainer:\n  total_epochs: 3\n  logger: [console]\nenv: {env_name: maze, rollout: {n: 4}}\n",
      "data: &a\n  train_batch_size: 4\nalgorithm:\n  adv_estimator: grpo\n  gamma: 0.9\n",
      "actor_rollout_ref:\n  actor:\n    optim:\n      lr: 1e-6\n    ppo_epochs: 2\n  rollout: {temperature: 0.7}\n",
    ),
  ],
  open: (folder) => ({
    run(given) {
      const file = join(folder, "config.yaml");
      writeFileSync(file, given);
      resolveConfig({ files: [file] });
    },
  }),
};

const recipe: Target = {
  name: "recipe",
  words: ["minecraft:crafting_shaped", "minecraft:crafting_shapeless", "minecraft:stick", "tag"],
  errors: [RecipeError],
  forms: () => [
    values([
      {
        type: "minecraft:crafting_shaped",
        pattern: ["##", "# "],
        key: { "#": { item: "minecraft:plank" } },
        result: { item: "minecraft:stick", count: 4 },
      },
      {
        type: "minecraft:crafting_shapeless",
        ingredients: [{ tag: "minecraft:logs" }, [{ item: "minecraft:coal" }]],
        result: "minecraft:torch",
        group: "lights",
      },
    ]),
    texts('{"type": "minecraft:smelting"}'),
  ],
  open: () => ({
    run: (given) => readRecipe(given.toString()),
  }),
};

const PRODUCT = {
  asin: "B000000001",
  name: "A red lamp",
  category: "home",
  query: "lamp",
  product_category: "Home › Lamps",
  pricing: "$10.00",
  full_description: "It shines.",
  small_description: ["red", "warm"],
  customization_options: { color: [{ value: "red", asin: "B000000001", price: 1, image: null }] },
};

const products: Target = {
  name: "products",
  words: [
    "asin",
    "pricing",
    "customization_options",
    "value",
    "small_description",
    "$1,000.00 to $2",
  ],
  errors: [DataError],
  forms: () => [values([[PRODUCT, { ...PRODUCT, asin: "B2" }]]), texts(JSON.stringify([PRODUCT]))],
  open: (folder) => ({
    run(given) {
      const file = join(folder, "products.json");
      writeFileSync(file, given);
      const descriptor = openSync(file, "r");
      try {
        eachObject(descriptor, (value) => {
          if (asinOf(value) !== undefined) productOf(value, ["red"]);
          return true;
        });
      } finally {
        closeSync(descriptor);
      }
    },
  }),
};

export const targets: readonly Target[] = [parquet, records, yaml, recipe, products];
