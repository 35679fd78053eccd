/**
 * @file An entry of the leaderboard: how a run is made, and what each of its validations measured. A file of JSON per entry in
 * entries/, small enough to be committed.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { readMetrics } from "../../src/monitoring/index.ts";

const share = z.number().min(0).max(1);

/** One validation of the run; episodes, tokens and minutes are those of training until then. */
const validation = z.strictObject({
  step: z.int().min(0),
  episodes: z.int().min(0),
  /** That the policy sampled. */
  tokens: z.int().min(0),
  /** Validations left out. */
  minutes: z.number().min(0),
  /** Success by split. */
  success: z.record(z.string(), share),
});

const entry = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  by: z.string().min(1),
  algorithm: z.string().min(1),
  model: z.string().min(1),
  /** What the policy had learned from before reinforcement learning began, in words. */
  start: z.string().min(1),
  /** Episodes that somebody else showed it. */
  expertEpisodes: z.int().min(0),
  /** Makes the run again, from a clone of `commit`. */
  command: z.string().min(1),
  seed: z.int(),
  commit: z.string().regex(/^[0-9a-f]{7,40}$/),
  machine: z.string().min(1),
  date: z.iso.date(),
  /** Games of a validation, and turns. */
  games: z.int().min(1),
  turns: z.int().min(1),
  validations: z.array(validation).min(1),
  /** The policy that was chosen, 50 turns: games won of games played, by split. */
  chosen: z.strictObject({
    step: z.int().min(0),
    won: z.record(z.string(), z.tuple([z.int().min(0), z.int().min(1)])),
  }),
});

export type Entry = z.infer<typeof entry>;
export type Validation = z.infer<typeof validation>;

const FOLDER = fileURLToPath(new URL("entries", import.meta.url));

export function readEntries(folder = FOLDER): Entry[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => {
      const read = entry.safeParse(JSON.parse(readFileSync(join(folder, file), "utf8")));
      if (!read.success) throw new Error(`${file}: ${z.prettifyError(read.error)}`);
      if (`${read.data.name}.json` !== file)
        throw new Error(`${file} holds the entry "${read.data.name}"; they should be named alike`);
      return read.data;
    });
}

export function writeEntry(made: Entry, folder = FOLDER): string {
  const file = join(folder, `${made.name}.json`);
  writeFileSync(file, `${JSON.stringify(entry.parse(made), null, 2)}\n`);
  return file;
}

/** The validations of a run's folder. The split that policies are chosen by is called so. */
export function validationsOf(run: string, chosenBy: string): Validation[] {
  const made: Validation[] = [];
  let seconds = 0;
  for (const { step, metrics } of readMetrics(join(run, "metrics.jsonl"))) {
    seconds += (metrics["timing_s/step"] ?? 0) - (metrics["timing_s/testing"] ?? 0);
    const success: Record<string, number> = {};
    for (const [name, value] of Object.entries(metrics)) {
      const split = /^val\/(?:([^/]+)\/)?success_rate$/.exec(name);
      if (split) success[split[1] ?? chosenBy] = value;
    }
    if (Object.keys(success).length === 0) continue;
    made.push({
      ...{ step, success },
      episodes: metrics["training/episodes"] ?? 0,
      tokens: metrics["training/tokens"] ?? 0,
      minutes: Number((seconds / 60).toFixed(2)),
    });
  }
  return made;
}

/** Runs of which each began with what the one before ended with, and validated it: as if they were one. */
export function oneAfterAnother(runs: readonly (readonly Validation[])[]): Validation[] {
  const whole: Validation[] = [];
  for (const run of runs) {
    const last = whole.at(-1);
    if (!last) whole.push(...run);
    else
      for (const one of run.slice(1))
        whole.push({
          success: one.success,
          step: last.step + one.step,
          episodes: last.episodes + one.episodes,
          tokens: last.tokens + one.tokens,
          minutes: Number((last.minutes + one.minutes).toFixed(2)),
        });
  }
  return whole;
}

/** The first validation that reached so much. */
export function reached(
  { validations }: Pick<Entry, "validations">,
  split: string,
  goal: number,
): Validation | undefined {
  return validations.find(({ success }) => (success[split] ?? 0) >= goal);
}

/** The validation by which a run's policy is chosen: the first of the best. */
export function bestOf(validations: readonly Validation[], split: string): Validation {
  return validations.reduce((best, one) =>
    (one.success[split] ?? 0) > (best.success[split] ?? 0) ? one : best,
  );
}
