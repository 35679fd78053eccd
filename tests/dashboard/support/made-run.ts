/**
 * @file A run's folder as training leaves it, made without training: of any size, in any state, with any text.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openMetrics, openRunLog, openTokenFolder } from "../../../src/monitoring/index.ts";
import { openTrajectoryStore, type Trajectory } from "../../../src/rollout/index.ts";

export interface MadeRun {
  readonly iterations: number;
  readonly groups?: number;
  readonly members?: number;
  readonly turns?: number;
  readonly estimator?: string;
  readonly seed?: number;
  /** What the world says. */
  readonly text?: string;
  /** How it ends; undefined: it does not say. */
  readonly end?: "finished" | "failed" | "killed" | undefined;
  readonly total?: number;
  /** Iterations between validations; 0: none. */
  readonly validations?: number;
  readonly model?: string;
  /** Whether tokens are recorded. */
  readonly tokens?: boolean;
}

/** A number from 0 to 1 that follows from others. */
export function fraction(...numbers: readonly number[]): number {
  let hash = 2166136261;
  for (const number of numbers) hash = Math.imul(hash ^ (number + 1), 16777619);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

export function makeRun(folder: string, made: MadeRun): void {
  const { estimator = "gigpo", seed = 0, end, total = made.iterations, validations = 5 } = made;
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write(
    "config.yaml",
    `algorithm:\n  adv_estimator: ${estimator}\nenv:\n  env_name: household\ntrainer:\n  seed: ${seed}\n`,
  );
  const start = made.model ?? join(folder, "gone");
  write("run.json", JSON.stringify({ title: "made", subtitle: "by hand", start, identity: {} }));
  write("versions.json", JSON.stringify({ node: process.version }));
  const log = openRunLog(join(folder, "log.jsonl"));
  log.begun(total, 0);
  const metrics = openMetrics(join(folder, "metrics.jsonl"));
  const episodes = openTrajectoryStore(join(folder, "trajectories"));
  const validation = openTrajectoryStore(join(folder, "validation"));
  const tokens = openTokenFolder(join(folder, "tokens"));
  for (let step = 0; step <= made.iterations; step++) {
    const isValidated = validations > 0 && step % validations === 0;
    if (isValidated)
      for (let task = 0; task < 8; task++) {
        const one = episodeOf(made, step, task, 0, "test");
        validation.append({ ...one, id: `val-${step}-${one.id}` });
      }
    if (step === 0) continue;
    const played = appendIteration(made, step, episodes, tokens);
    metrics.log(step, madeMetrics(step, played));
  }
  if (made.iterations > 3) log.said("iteration 3: the gradient's norm is nine times what it was");
  if (end) log.ended(end, end === "failed" ? "the policy has fallen" : undefined);
  log.close();
  metrics.close();
  episodes.close();
  validation.close();
}

export function madeMetrics(step: number, played: readonly Trajectory[]): Record<string, number> {
  return {
    "episode/success_rate": played.filter(({ won }) => won).length / played.length,
    "episode/reward/mean": played.reduce((sum, { reward }) => sum + reward, 0) / played.length,
    "actor/pg_loss": fraction(step) - 0.5,
    "actor/entropy": 1 / (1 + step / 10),
    "training/episodes": step * played.length,
    "training/tokens": 100 * step * played.length,
    "timing_s/step": 2,
    "timing_s/gen": 1.2,
    "timing_s/update_actor": 0.7,
  };
}

/** The episodes of one iteration, and their tokens. */
export function appendIteration(
  made: MadeRun,
  step: number,
  store: ReturnType<typeof openTrajectoryStore>,
  tokens: ReturnType<typeof openTokenFolder>,
): Trajectory[] {
  const { groups = 2, members = 4 } = made;
  const played: Trajectory[] = [];
  for (let group = 0; group < groups; group++)
    for (let member = 0; member < members; member++)
      played.push(episodeOf(made, step, group, member, "train"));
  for (const one of played) store.append(one);
  if (made.tokens === false) return played;
  const kept = played.slice(0, members);
  const count = kept.reduce((sum, { turns }) => sum + 3 * turns.length, 0);
  const column = (of: (i: number) => number) =>
    Float32Array.from({ length: count }, (_, i) => of(i));
  tokens.write({
    step,
    about: { estimator: made.estimator ?? "gigpo", clip_low: 0.2, clip_high: 0.2 },
    episodes: kept.map(({ id, turns }) => ({
      id,
      turns: turns.map((_, i) => ({ tokens: 3, return: 0.95 ** i, stepGroup: i })),
    })),
    columns: {
      trained: column(() => 1),
      logprob: column((i) => -fraction(step, i)),
      old_logprob: column((i) => -fraction(step, i) - 0.01),
      entropy: column((i) => 2 * fraction(i, step)),
      advantage: column((i) => fraction(i) - 0.5),
      advantage_episode: column(() => 0.25),
      advantage_step: column((i) => fraction(i) - 0.75),
      loss: column((i) => 0.5 - fraction(i)),
      weight: column(() => 1 / count),
      mini_batch: column((i) => (i < count / 2 ? 0 : 1)),
    },
  });
  return played;
}

function episodeOf(
  { turns = 3, text = "You see a lamp 1.", seed = 0, iterations }: MadeRun,
  step: number,
  group: number,
  member: number,
  split: string,
): Trajectory {
  const won = fraction(seed, step, group, member) < 0.1 + (0.8 * step) / Math.max(1, iterations);
  const kind = ["pick", "clean", "heat"][group % 3]!;
  return {
    id: `${split === "train" ? step : 0}:${split}/${group}#${member}`,
    step,
    group: `${step}:${split}/${group}`,
    member,
    task: { environment: "household", split, id: `${split}/${group}`, type: kind },
    seed: 1n,
    format: "action",
    context: "conversation",
    status: won ? "won" : "turn limit",
    won,
    score: won ? 1 : 0,
    reward: won ? 10 : 0,
    turns: Array.from({ length: turns }, (_, i) => ({
      observation: i === 0 ? text : `Turn ${i}: nothing happens.`,
      anchor: `state ${i}`,
      messages: [{ role: "user", content: i === 0 ? text : "…" }],
      promptIds: [1, 2],
      reply: {
        ids: [10 + i, 11, 12],
        logprobs: [-0.5, -0.25, -0.1],
        sampledLogprobs: [-0.5, -0.25, -0.1],
        text: `go to shelf ${member}`,
        finish: "stop",
        weightsVersion: step,
        source: "policy",
      },
      action: `go to shelf ${member}`,
      parts: {},
      problems: [],
      admissible: true,
      reward: won && i === turns - 1 ? 10 : 0,
      score: 0,
      info: {},
      seconds: { generate: 0.1, step: 0.01 },
    })),
    lastObservation: won ? "You won." : "It is over.",
    attempts: 1,
    seconds: 1,
    rewards: { environment: won ? 10 : 0 },
  } as Trajectory;
}
