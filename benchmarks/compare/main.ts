/**
 * @file `npm run compare -- NAME [--seeds N] [--jobs N] [--folder FOLDER]`: algorithms on equal terms.
 * One model is made and warmed up; every algorithm trains it with every seed, for the same number of
 * episodes; what validations measured goes to benchmarks/results/NAME.jsonl. What is there already is
 * not done again. `npm run results` makes tables and pictures of it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { alfworld } from "./alfworld.ts";
import { ALGORITHMS } from "./algorithms.ts";
import { type Comparison, foldersOf } from "./comparison.ts";
import { type About, commit, type Measured, machine, measuredOf } from "./digest.ts";
import { inParallel, run } from "./jobs.ts";
import { writeResults } from "./results.ts";
import { webshop } from "./webshop.ts";

const COMPARISONS: readonly Comparison[] = [alfworld, webshop];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "3" },
    jobs: { type: "string", default: "2" },
    folder: { type: "string" },
  },
});
const comparison = COMPARISONS.find(({ name }) => name === positionals[0]);
if (!comparison) {
  const names = COMPARISONS.map(({ name }) => name).join("|");
  console.error(`Usage: npm run compare -- ${names} [--seeds N] [--jobs N] [--folder FOLDER]`);
  process.exitCode = 2;
} else await compare(comparison);

async function compare(comparison: Comparison): Promise<void> {
  const { name, agent, model, warmUp, training, algorithms } = comparison;
  const folders = foldersOf(values.folder ?? join("runs", "compare", name));
  const say = (text: string) => console.log(`${new Date().toTimeString().slice(0, 8)} ${text}`);
  const about: About = {
    ...{ title: comparison.title, split: comparison.split, withScore: comparison.withScore },
    command: `npm run compare -- ${name} --seeds ${values.seeds} --jobs ${values.jobs}`,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: machine(),
    made: { agent, model, warmUp, training },
  };
  const begin = "folder" in model ? model.folder : folders.model;
  if (!existsSync(begin)) {
    if ("folder" in model) throw new Error(`there is no ${begin}; it is made by: ${model.madeBy}`);
    say("a new model");
    const words = ["model", "init", begin, ...model, "--world", agent];
    await run(words, `${begin}.log`);
  }
  let start = begin;
  for (const [i, options] of warmUp.entries()) {
    const warm = folders.warm(i + 1);
    if (!existsSync(warm)) {
      say(`warm start, ${i + 1} of ${warmUp.length}`);
      const path = `actor_rollout_ref.model.path=${start}`;
      const words = ["sft", "--preset", "small-model", "--config", agent, "--out", warm];
      await run([...words, ...options, path], `${warm}.log`);
    }
    start = warm;
  }
  const chosen = ALGORITHMS.filter((one) => algorithms.includes(one.name));
  // Seed by seed: when time runs out, every algorithm has as many runs.
  const jobs = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1).flatMap((seed) =>
    chosen.map((algorithm, place) => async () => {
      const folder = folders.run(algorithm.name, seed);
      if (existsSync(join(folder, "report.html"))) return;
      say(`${algorithm.name}, seed ${seed}`);
      const path = `actor_rollout_ref.model.path=${start}`;
      const target = `trainer.default_local_dir=${folder}`;
      const own = [
        ...[path, target, `trainer.seed=${seed}`, "trainer.keep_trajectories=False"],
        // The start is the same for all: one run measures it.
        `trainer.val_before_train=${seed === 1 && place === 0 ? "True" : "False"}`,
      ];
      const words = ["train", "--preset", "small-model", "--config", agent, ...training];
      await run([...words, ...algorithm.settings, ...own], `${folder}.log`, 1);
      store(folders.run, about, comparison);
    }),
  );
  await inParallel(jobs, Number(values.jobs));
  store(folders.run, about, comparison);
}

/** All runs that there are so far. */
function store(
  folderOf: (algorithm: string, seed: number) => string,
  about: About,
  { name, tasks }: Comparison,
): void {
  const lines: Measured[] = [];
  for (const algorithm of ALGORITHMS)
    for (let seed = 1; seed <= Number(values.seeds); seed++) {
      const folder = folderOf(algorithm.name, seed);
      if (existsSync(join(folder, "report.html")))
        lines.push(...measuredOf(folder, { algorithm: algorithm.name, seed, tasks }));
    }
  writeResults({ name: `compare-${name}`, about, lines });
}
