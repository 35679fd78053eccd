/**
 * @file Plays a run once and keeps its metrics: thresholds are tried on what is kept, and cost no run.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRunWorld } from "../../src/assembly/index.ts";
import { planOf, type TrainOptions, train } from "../../src/library/index.ts";
import { openMetrics, readMetrics, type StepMetrics } from "../../src/monitoring/index.ts";
import { createWorkers, fit, oneRank } from "../../src/training/index.ts";
import type { BenchRun } from "./runs.ts";
import { type BenchWorld, COMMON, WORLDS, warmModel } from "./worlds.ts";

export interface RecordedRun {
  readonly run: BenchRun;
  readonly lines: readonly StepMetrics[];
  /** Why it ended before its last iteration. */
  readonly error: string | undefined;
  readonly seconds: number;
}

/** `folder`: where models and metrics are kept; what is there is not played again. */
export async function recorded(folder: string, run: BenchRun): Promise<RecordedRun> {
  const name = `${run.expected ? "broken" : "healthy"}-${run.seed}-${run.name.replace(/\W+/g, "-")}`;
  const kept = join(folder, "metrics", `${name}.jsonl`);
  const facts = `${kept}.json`;
  if (!existsSync(facts)) {
    const place = join(folder, "runs", name);
    rmSync(place, { recursive: true, force: true });
    const begun = performance.now();
    const error = await played(folder, place, run).then(
      () => undefined,
      (problem: Error) => problem.message,
    );
    mkdirSync(join(folder, "metrics"), { recursive: true });
    const metrics = join(place, "metrics.jsonl");
    writeFileSync(kept, existsSync(metrics) ? readFileSync(metrics) : "");
    const seconds = (performance.now() - begun) / 1000;
    writeFileSync(facts, `${JSON.stringify({ error, seconds })}\n`);
    rmSync(place, { recursive: true, force: true });
  }
  const { error, seconds } = JSON.parse(readFileSync(facts, "utf8")) as RecordedRun;
  return { run, lines: readMetrics(kept), error, seconds };
}

async function played(folder: string, place: string, run: BenchRun): Promise<void> {
  const { options: world, learningRate, tasks = 8, split }: BenchWorld = WORLDS[run.world];
  const call: TrainOptions = {
    ...COMMON,
    tasks,
    groupSize: 8,
    learningRate: learningRate * (run.rate ?? 1),
    validation: {
      ...{ every: 5, tasks: 40, temperature: 1 },
      ...(split !== undefined && { split }),
    },
    ...world,
    ...run.options,
    settings: {
      ...COMMON.settings,
      ...run.options.settings,
    },
    model: await modelOf(folder, run),
    iterations: run.iterations,
    seed: run.seed,
    folder: place,
  };
  if (run.rollout === undefined) await train(call);
  else await trainedWithOthers(call, run.rollout);
}

async function modelOf(folder: string, { world, model }: BenchRun): Promise<string> {
  const warm = await warmModel(folder, typeof model === "object" ? model.warmFor : world);
  if (model === "without warm start") return join(folder, "models", world, "model");
  return model === "other template" ? withOtherTemplate(warm) : warm;
}

/** As of a family that writes its turns in another way. */
function withOtherTemplate(warm: string): string {
  const copy = `${warm}-other-template`;
  cpSync(warm, copy, { recursive: true });
  for (const name of ["chat_template.jinja", "tokenizer_config.json"]) {
    const file = join(copy, name);
    if (!existsSync(file)) continue;
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll("<|im_start|>", "[turn of] "));
  }
  return copy;
}

/**
 * A trainer whose rollouts come from a model that nobody gives the new weights, or that is another one: no setting of ours
 * can break a run so.
 */
async function trainedWithOthers(
  call: TrainOptions,
  rollout: NonNullable<BenchRun["rollout"]>,
): Promise<void> {
  const { options } = await planOf(call);
  const other = rollout === "stale" ? options.model.folder : join(options.model.folder, "../model");
  const workers = createWorkers(options, oneRank());
  const players = createWorkers(
    { ...options, model: { ...options.model, folder: other } },
    oneRank(),
  );
  const world = await openRunWorld(options.world);
  mkdirSync(options.run.folder, { recursive: true });
  const logger = openMetrics(join(options.run.folder, "metrics.jsonl"));
  try {
    await fit({
      ...{ options, world, logger },
      workers: { ...workers, rollout: players.rollout, generating: players.generating },
      ranks: oneRank(),
      say() {},
    });
  } finally {
    logger.close();
    await workers.dispose();
    await players.dispose();
    await world.world.close?.();
  }
}
