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
import { type Comparison, type Folders, foldersOf, type Tuning } from "./comparison.ts";
import { type About, commit, type Measured, machine, measuredOf, wonTasks } from "./digest.ts";
import { household } from "./household.ts";
import { inParallel, run } from "./jobs.ts";
import { writeResults } from "./results.ts";
import { webshop } from "./webshop.ts";

const COMPARISONS: readonly Comparison[] = [alfworld, household, webshop];
const RATE = "actor_rollout_ref.actor.optim.lr";

const say = (text: string) => console.log(`${new Date().toTimeString().slice(0, 8)} ${text}`);

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
  const { name, agent, model, warmUp, training, algorithms, tuning, questions } = comparison;
  const folders = foldersOf(values.folder ?? join("runs", "compare", name));
  const about: About = {
    ...{ title: comparison.title, split: comparison.split, withScore: comparison.withScore },
    command: `npm run compare -- ${name} --seeds ${values.seeds} --jobs ${values.jobs}`,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: machine(),
    made: { agent, model, warmUp, training, ...(tuning && { tuning }) },
    ...(questions && { questions }),
  };
  const start = await warmStart(comparison, folders);
  const chosen = ALGORITHMS.filter((one) => algorithms.includes(one.name));
  const train = (own: readonly string[], folder: string) => {
    const given = [`actor_rollout_ref.model.path=${start}`, `trainer.default_local_dir=${folder}`];
    const words = ["train", "--preset", "small-model", "--config", agent, ...training];
    return run([...words, ...given, ...own], `${folder}.log`, 1);
  };
  const tuned = tuning && (await tune(tuning, chosen, folders, train));
  const keep = () => store(folders.run, { ...about, ...(tuned && { tuned }) }, comparison);
  // Seed by seed: when time runs out, every algorithm has as many runs.
  const jobs = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1).flatMap((seed) =>
    chosen.map((algorithm, place) => async () => {
      const folder = folders.run(algorithm.name, seed);
      if (existsSync(join(folder, "report.html"))) return;
      say(`${algorithm.name}, seed ${seed}`);
      const own = [
        ...[...algorithm.settings, `trainer.seed=${seed}`],
        ...(tuned ? [`${RATE}=${best(tuned[algorithm.name]!)}`] : []),
        // Episodes are kept where questions go task by task.
        ...(questions ? [] : ["trainer.keep_trajectories=False"]),
        // The start is the same for all: one run measures it.
        `trainer.val_before_train=${seed === 1 && place === 0 ? "True" : "False"}`,
      ];
      await train(own, folder);
      keep();
    }),
  );
  await inParallel(jobs, Number(values.jobs));
  keep();
}

/** The model that all runs begin with. */
async function warmStart({ agent, model, warmUp }: Comparison, folders: Folders): Promise<string> {
  let start = "folder" in model ? model.folder : folders.model;
  if (!existsSync(start)) {
    if ("folder" in model) throw new Error(`there is no ${start}; it is made by: ${model.madeBy}`);
    say("a new model");
    await run(["model", "init", start, ...model, "--world", agent], `${start}.log`);
  }
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
  return start;
}

type Tuned = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The success of every algorithm with every rate, each in a short run with a seed that no other run has. */
async function tune(
  { rates, training }: Tuning,
  algorithms: typeof ALGORITHMS,
  folders: Folders,
  train: (own: readonly string[], folder: string) => Promise<void>,
): Promise<Tuned> {
  const tries = algorithms.flatMap((algorithm) => rates.map((rate) => ({ algorithm, rate })));
  const found: Record<string, Record<string, number>> = {};
  const jobs = tries.map(({ algorithm: { name, settings }, rate }) => async () => {
    const folder = folders.tuning(name, rate);
    if (!existsSync(join(folder, "report.html"))) {
      say(`${name}, rate ${rate}`);
      const own = [...settings, ...training, `${RATE}=${rate}`, "trainer.seed=0"];
      await train(
        [...own, "trainer.val_before_train=False", "trainer.keep_trajectories=False"],
        folder,
      );
    }
    const last = measuredOf(folder, { algorithm: name, seed: 0, tasks: 0 }).at(-1)!;
    found[name] = { ...found[name], [rate]: last.success };
  });
  await inParallel(jobs, Number(values.jobs));
  return found;
}

function best(byRate: Readonly<Record<string, number>>): string {
  return Object.entries(byRate).reduce((found, one) => (one[1] > found[1] ? one : found))[0];
}

/** All runs that there are so far. */
function store(
  folderOf: Folders["run"],
  about: About,
  { name, tasks, questions }: Comparison,
): void {
  const lines: Measured[] = [];
  for (const algorithm of ALGORITHMS)
    for (let seed = 1; seed <= Number(values.seeds); seed++) {
      const folder = folderOf(algorithm.name, seed);
      if (!existsSync(join(folder, "report.html"))) continue;
      const measured = measuredOf(folder, { algorithm: algorithm.name, seed, tasks });
      const last = measured.pop()!;
      const won = questions && { won: wonTasks(folder, last.step) };
      lines.push(...measured, { ...last, ...won });
    }
  writeResults({ name: `compare-${name}`, about, lines });
}
