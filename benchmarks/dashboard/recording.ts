/**
 * @file What the microscope's records cost a training: the seconds that the run itself counts for them
 * (timing_s/token_record: fetching, gathering, compressing, writing), of the iteration's. Two runs, one with records and one
 * without, differ by less than two equal ones do.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTokens, recordedSteps, tokensOf } from "../../src/monitoring/index.ts";
import { runTraining } from "../../src/training/index.ts";
import { median } from "../measure.ts";
import { optionsOf, warmModel } from "../train.ts";

export interface RecordingFigures {
  /** Measured of each kind. */
  readonly iterations: number;
  /** Of one, with the records of the default. */
  readonly seconds: number;
  /** By what is recorded: its share of all iterations, and the largest of one. */
  readonly costs: Readonly<Record<string, { readonly share: number; readonly largest: number }>>;
  /** On the disk, of a token whose numbers are kept. */
  readonly bytes: number;
}

const KINDS: Readonly<Record<string, readonly string[]>> = {
  "what is recorded by default": [],
  "tokens of all groups": ["trainer.token_record_groups=-1"],
};
/** A small model, few groups, short episodes: what is kept of two groups weighs more than usual. */
const TASKS = 4;
const TURNS = 8;
const EXPERT_EPISODES = 100;
/** The first of a run is not measured. */
const ITERATIONS = 16;

interface Iteration {
  readonly whole: number;
  readonly recording: number;
}

export async function recordingFigures(rounds: number): Promise<RecordingFigures> {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-recording-"));
  try {
    const model = await warmModel(folder, "mini", EXPERT_EPISODES);
    const measured = new Map(Object.keys(KINDS).map((name) => [name, [] as Iteration[]]));
    for (let round = 0; round < rounds; round++)
      for (const [name, settings] of Object.entries(KINDS))
        measured.get(name)!.push(...(await iterationsOf(model, folder, settings)));
    const costs = [...measured].map(([name, iterations]) => {
      const sum = (value: (one: Iteration) => number) =>
        iterations.reduce((total, one) => total + value(one), 0);
      const share = sum(({ recording }) => recording) / sum(({ whole }) => whole);
      const largest = Math.max(...iterations.map(({ recording, whole }) => recording / whole));
      return [name, { share, largest }] as const;
    });
    const [first] = measured.values();
    return {
      iterations: first!.length,
      seconds: median(first!.map(({ whole }) => whole)),
      costs: Object.fromEntries(costs),
      bytes: bytesPerToken(join(folder, "run", "tokens")),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Each iteration but the first. */
async function iterationsOf(
  model: string,
  folder: string,
  settings: readonly string[],
): Promise<Iteration[]> {
  const { options } = await optionsOf(model, folder, [
    ...[`trainer.total_epochs=${ITERATIONS}`, "trainer.threads=1", "trainer.resume_mode=disable"],
    ...[`data.train_batch_size=${TASKS}`, `env.max_steps=${TURNS}`],
    // Rows of groups that did equally well are computed, too: something is recorded of them.
    "actor_rollout_ref.actor.use_kl_loss=True",
    ...settings,
  ]);
  const found: Iteration[] = [];
  await runTraining({
    options,
    onIteration: (_, metrics) =>
      void found.push({
        whole: metrics["timing_s/step"]!,
        recording: metrics["timing_s/token_record"]!,
      }),
  });
  return found.slice(1);
}

function bytesPerToken(folder: string): number {
  const bytes = readdirSync(folder).reduce(
    (sum, name) => sum + statSync(join(folder, name)).size,
    0,
  );
  const tokens = recordedSteps(folder)
    .flatMap((step) => readTokens(folder, step)!.episodes)
    .reduce((sum, episode) => sum + tokensOf(episode), 0);
  return bytes / tokens;
}
