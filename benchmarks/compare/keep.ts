/**
 * @file Keeps what one run measured, as comparisons are kept:
 *
 *   npx tsx benchmarks/compare/keep.ts RUN NAME --title TEXT --split TEXT --command TEXT
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { type About, commit, machine, measuredOf } from "./digest.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    title: { type: "string" },
    split: { type: "string" },
    command: { type: "string" },
  },
});
const [run, name] = positionals;
const { title, split, command } = values;
if (!run || !name || !title || !split || !command) {
  console.error("Usage: keep.ts RUN NAME --title TEXT --split TEXT --command TEXT");
  process.exitCode = 2;
} else {
  const config = parse(readFileSync(join(run, "config.yaml"), "utf8"));
  const about: About = {
    ...{ title, split, command, withScore: false },
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: machine(),
  };
  const lines = measuredOf(run, {
    algorithm: config.algorithm.adv_estimator,
    seed: config.trainer.seed,
    tasks: config.data.val_batch_size,
  });
  const folder = fileURLToPath(new URL("../results", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const text = [about, ...lines].map((line) => JSON.stringify(line)).join("\n");
  writeFileSync(join(folder, `${name}.jsonl`), `${text}\n`);
  console.log(`${lines.length} validations in benchmarks/results/${name}.jsonl`);
}
