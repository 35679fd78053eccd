/**
 * @file What the tests of training share: tiny model folders, configurations of tiny runs, workers and
 * batches of episodes that a model really sampled.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { klController } from "../../../src/algorithms/index.ts";
import { agentOf, openRunWorld } from "../../../src/assembly/index.ts";
import {
  type Config,
  type OwnParts,
  resolveConfig,
  runOptions,
} from "../../../src/config/index.ts";
import {
  Chat,
  initModelFolder,
  loadChatTemplate,
  loadModel,
  loadTokenizer,
  type Model,
  presetConfig,
  saveModel,
} from "../../../src/models/index.ts";
import { type MetricsLogger, readMetrics } from "../../../src/monitoring/index.ts";
import { type RewardComponent, rewardComposer } from "../../../src/rewards/index.ts";
import {
  type Batch,
  collect,
  packTrajectories,
  readTrajectories,
  scriptedPolicy,
  type Trajectory,
} from "../../../src/rollout/index.ts";
import {
  examplesOf,
  fineTune,
  joinRanks,
  openCurriculum,
  type Ranks,
  type RunTraining,
  runTraining,
  type TrainingOptions,
  type TrainingResult,
  taskOrder,
} from "../../../src/training/index.ts";
import { collectEpisodes } from "../../../src/training/loop/collect.ts";
import { stopwatch } from "../../../src/training/loop/stopwatch.ts";
import { createWorkers, type Workers } from "../../../src/training/workers/workers.ts";

export const LIGHTS = fileURLToPath(new URL("./lights.ts", import.meta.url));

/** Words that come often enough become one token. */
const TEXTS = [
  "It is red. No. It is red. Yes. It is green. No. It is green. Yes. It is blue. No. It is blue.",
  "Yes, done. stop\ngo\nwait\nstop\ngo\nwait\nstop\ngo\nwait\nstop\ngo\nwait",
];

/** A model of some thousand parameters with random weights. */
export function newTinyFolder(parent: string, name = "new", texts: readonly string[] = TEXTS) {
  const folder = join(parent, name);
  const preset = presetConfig("tiny", { family: "qwen3" });
  // Weights of the usual size would be far too small for 32 dimensions: nothing would get through.
  const sizes = { hiddenSize: 32, headDimension: 8, intermediateSize: 64, initializerRange: 0.08 };
  const config = { ...preset, ...sizes };
  initModelFolder(folder, { config, texts, vocabularySize: 300, seed: 1 });
  return folder;
}

/** The settings of a tiny run; a test's own come behind them. */
export function tinySettings(model: string, run: string): string[] {
  return [
    `actor_rollout_ref.model.path=${model}`,
    `env.env_name=${LIGHTS}`,
    "env.format=action",
    "env.prompts=bare",
    "env.show_admissible=False",
    "env.rollout.n=3",
    "data.train_batch_size=3",
    "data.val_batch_size=4",
    "data.max_response_length=6",
    "actor_rollout_ref.actor.optim.lr=1e-3",
    "actor_rollout_ref.actor.ppo_mini_batch_size=64",
    `trainer.default_local_dir=${run}`,
    "trainer.val_before_train=False",
    "trainer.test_freq=-1",
    "trainer.threads=1",
  ];
}

/** `rewards`: names of rewards of the test's own. */
export function tinyConfig(
  model: string,
  run: string,
  own: readonly string[] = [],
  rewards: readonly string[] = [],
): Config {
  const overrides = [...tinySettings(model, run), ...own];
  return resolveConfig({ overrides, own: { rewards } }).config;
}

/** What a configuration asks of a run. */
export async function optionsOf(config: Config, own: OwnParts = {}): Promise<TrainingOptions> {
  return (await runOptions(config, own)).options;
}

/** A run of a configuration, with rewards and loggers of the test's own. */
export async function trainConfig({
  config,
  rewards,
  loggers = [],
  ...rest
}: Omit<RunTraining, "options" | "loggers"> & {
  config: Config;
  rewards?: OwnParts["rewards"];
  loggers?: readonly MetricsLogger[];
}): Promise<TrainingResult> {
  return runTraining({
    options: await optionsOf(config, { rewards }),
    loggers: loggers.map((logger) => () => logger),
    ...rest,
  });
}

let runs = 0;

/** A tiny run of two iterations in a new folder: what it gave, logged, stored and said. */
export async function tinyRun(
  parent: string,
  model: string,
  own: readonly string[],
  rewards: readonly RewardComponent[] = [],
) {
  const run = join(parent, `run-${runs++}`);
  const said: string[] = [];
  const names = rewards.map(({ name }) => name);
  const config = tinyConfig(model, run, ["trainer.total_epochs=2", ...own], names);
  const result = await trainConfig({ config, rewards, say: (text) => said.push(text) });
  const metrics = readMetrics(join(run, "metrics.jsonl")).map((line) => line.metrics);
  const episodes = () => [...readTrajectories(join(run, "trajectories"))];
  return { run, config, result, metrics, said, episodes };
}

export function openChat(folder: string): Chat {
  return new Chat({ tokenizer: loadTokenizer(folder), template: loadChatTemplate(folder) });
}

/** Episodes of the world's scripted policy, won or not. */
export async function scriptedEpisodes(config: Config, chat: Chat, count: number) {
  const { play, world: where } = await runOptions(config);
  const world = await openRunWorld(where);
  const agent = agentOf(play.agent);
  let begun = 0;
  const { all } = await collect({
    world: world.world,
    about: world.about,
    agent,
    policy: scriptedPolicy({
      chat,
      format: agent.format,
      expert: () => world.world.expert!(begun++),
    }),
    limits: { ...play.limits, turns: world.turns },
    tasks: taskOrder(await world.world.tasks(world.trainSplit), 1, true).next(count),
    seed: 1,
    concurrency: 1,
  });
  return all;
}

/** A model that has learned the form of answers from the scripted policy's. */
export async function warmTinyFolder(
  parent: string,
  { episodes = 150, epochs = 6 } = {},
): Promise<string> {
  const folder = newTinyFolder(parent, "cold");
  const warm = join(parent, "warm");
  const config = tinyConfig(folder, join(parent, "unused"));
  const model = loadModel(folder);
  try {
    const played = await scriptedEpisodes(config, openChat(folder), episodes);
    await fineTune(model, played.flatMap(examplesOf), {
      epochs,
      lr: 5e-3,
      batchSize: 4,
      weightDecay: 0,
      seed: 0,
    });
    saveModel(model, warm, { tokenizerFolder: folder });
  } finally {
    model.dispose();
  }
  return warm;
}

/** A run that is set up and not begun: its workers, and the episodes of its first iteration. */
export interface SetUp {
  readonly options: TrainingOptions;
  readonly workers: Workers;
  readonly ranks: Ranks;
  readonly batch: Batch;
  readonly trajectories: readonly Trajectory[];
}

export async function setUp(config: Config, ranks: Ranks = joinRanks()): Promise<SetUp> {
  const options = await optionsOf(config);
  const world = await openRunWorld(options.world);
  const workers = createWorkers(options, ranks);
  const curriculum = await openCurriculum(world, options.rollout);
  const composer = rewardComposer(options.rewards);
  const parts = { options, world, workers, ranks, composer, say: () => {} };
  const { trajectories } = await collectEpisodes(parts, curriculum, 1, stopwatch());
  const batch = packTrajectories(trajectories, { validity: options.play.validity });
  return { options, workers, ranks, batch, trajectories };
}

/** Every trained weight, as one list of numbers. */
export function weightsOf(model: Model): number[] {
  return [...model.trainable.values()].flatMap((tensor) => [...tensor.detach().toNumbers()]);
}

export function gradientsOf(model: Model): number[] {
  return [...model.trainable.values()].flatMap((tensor) =>
    tensor.grad === null
      ? new Array<number>(tensor.numel).fill(0)
      : [...tensor.grad.detach().toNumbers()],
  );
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) throw new Error(`${a.length} numbers against ${b.length}`);
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
}

export const FIXED_KL = klController({ type: "fixed", coefficient: 0.001 });
