/**
 * @file What the dashboard's records cost a training: the same run with and without them, in turn. They change nothing of
 * what is computed, so each iteration is compared with the same iteration; in time on the core, because machines are busy.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTokens, recordedSteps, tokensOf } from "../../src/monitoring/index.ts";
import { runTraining } from "../../src/training/index.ts";
import { median, secondsOnCore } from "../measure.ts";
import { optionsOf, warmModel } from "../train.ts";

export interface RecordingFigures {
  /** Measured of each kind. */
  readonly iterations: number;
  /** Of one without records. */
  readonly seconds: number;
  /** By what is recorded: its share of that. */
  readonly costs: Readonly<Record<string, number>>;
  /** On the disk, of a token whose numbers are kept. */
  readonly bytes: number;
}

const NOTHING = ["trainer.token_record_groups=0", "trainer.live_episodes=0"];
const KINDS: Readonly<Record<string, readonly string[]>> = {
  nothing: NOTHING,
  "what is recorded by default": [],
  "tokens of all groups": ["trainer.token_record_groups=-1"],
};
/** A small model, few groups, short episodes: what is kept of two groups weighs more than usual. */
const TASKS = 4;
const TURNS = 8;
const EXPERT_EPISODES = 100;
/** The first of a run is not measured. */
const ITERATIONS = 16;

export async function recordingFigures(rounds: number): Promise<RecordingFigures> {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-recording-"));
  try {
    const model = await warmModel(folder, "mini", EXPERT_EPISODES);
    const times = new Map(Object.keys(KINDS).map((name) => [name, [] as number[]]));
    for (let round = 0; round < rounds; round++)
      for (const [name, settings] of Object.entries(KINDS)) {
        const took = await timesOf(model, folder, settings);
        times.get(name)!.push(...took);
        console.error(`round ${round + 1}, ${name}: ${median(took).toFixed(3)} s`);
      }
    const without = times.get("nothing")!;
    const costs = Object.keys(KINDS).flatMap((name): [string, number][] => {
      if (name === "nothing") return [];
      return [[name, median(times.get(name)!.map((time, i) => time / without[i]!)) - 1]];
    });
    return {
      iterations: without.length,
      seconds: median(without),
      costs: Object.fromEntries(costs),
      bytes: bytesPerToken(join(folder, "run", "tokens")),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Seconds on the core of each iteration but the first. */
async function timesOf(
  model: string,
  folder: string,
  settings: readonly string[],
): Promise<number[]> {
  const { options } = await optionsOf(model, folder, [
    ...[`trainer.total_epochs=${ITERATIONS}`, "trainer.threads=1", "trainer.resume_mode=disable"],
    ...[`data.train_batch_size=${TASKS}`, `env.max_steps=${TURNS}`],
    // Rows of groups that did equally well are computed, too: something is recorded of them.
    "actor_rollout_ref.actor.use_kl_loss=True",
    ...settings,
  ]);
  const ends: number[] = [];
  await runTraining({ options, onIteration: () => void ends.push(secondsOnCore()) });
  return ends.slice(1).map((end, i) => end - ends[i]!);
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
