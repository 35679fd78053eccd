/**
 * @file Keeps what some runs measured, as comparisons are kept:
 *
 *   npx tsx benchmarks/compare/keep.ts NAME FOLDER=LABEL … --title TEXT --split TEXT --command TEXT
 *     [--commit HASH]
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { type About, commit, machine, measuredOf } from "./digest.ts";
import { writeResults } from "./results.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    title: { type: "string" },
    split: { type: "string" },
    command: { type: "string" },
    commit: { type: "string", default: commit() },
  },
});
const [name, ...runs] = positionals;
const { title, split, command } = values;
if (!name || runs.length === 0 || !title || !split || !command) {
  console.error("Usage: keep.ts NAME FOLDER=LABEL … --title TEXT --split TEXT --command TEXT");
  process.exitCode = 2;
} else {
  const about: About = {
    ...{ title, split, command, withScore: false },
    date: new Date().toISOString().slice(0, 10),
    commit: values.commit,
    machine: machine(),
  };
  const lines = runs.flatMap((run) => {
    const [folder, algorithm] = run.split("=") as [string, string];
    const config = parse(readFileSync(join(folder, "config.yaml"), "utf8"));
    const tasks = config.data.val_batch_size;
    return measuredOf(folder, { algorithm, seed: config.trainer.seed, tasks });
  });
  writeResults({ name, about, lines });
  console.log(`${lines.length} validations in benchmarks/results/${name}.jsonl`);
}
