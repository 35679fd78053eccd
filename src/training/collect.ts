/**
 * @file The rollout of an iteration: this process's groups of episodes, with dynamic sampling, greedy
 * baselines and the reference's KL where the configuration asks for them.
 */
import { advantageEstimators, type Metrics } from "../algorithms/index.ts";
import { type Config, groupSize } from "../config/index.ts";
import type { Task } from "../environments/index.ts";
import { type ConfiguredWorld, limitsOf } from "../evaluation/index.ts";
import type { RewardComposer } from "../rewards/index.ts";
import {
  type Batch,
  type Collection,
  collect,
  collectVaried,
  type Policy,
  packTrajectories,
  type Trajectory,
} from "../rollout/index.ts";
import { batchLogprobs } from "./actor.ts";
import { passSettings } from "./prepare.ts";
import type { Ranks } from "./ranks.ts";
import type { TaskOrder } from "./task-order.ts";
import type { Workers } from "./workers.ts";

interface Parts {
  readonly config: Config;
  readonly world: ConfiguredWorld;
  readonly workers: Workers;
  readonly ranks: Ranks;
  readonly say: (text: string) => void;
}

export interface IterationCollection extends Collection {
  readonly metrics: Metrics;
  /** Sum over an episode's tokens of log p − log p_reference, where the reward has that part. */
  readonly kl?: (trajectory: Trajectory) => number | undefined;
  /** [rows] Scores of greedy episodes of the rows' tasks. */
  readonly baselines?: (batch: Batch) => Float64Array;
}

export async function collectGroups(
  parts: Parts,
  composer: RewardComposer,
  train: TaskOrder,
  step: number,
): Promise<IterationCollection> {
  const { config, workers, ranks, say } = parts;
  const { filter_groups: filter, adv_estimator } = config.algorithm;
  // Every process draws the same tasks and plays its share: the order of tasks does not depend on them.
  const draw = (count: number) => train.next(count).filter((_, i) => i % ranks.size === ranks.rank);
  const wanted = config.data.train_batch_size + config.env.rollout.oversample;
  workers.engine.weightsChanged();
  workers.lora?.merge();
  try {
    let collection: Collection;
    const metrics: Metrics = {};
    if (filter.enable) {
      const varied = await collectVaried({
        groups: Math.ceil(config.data.train_batch_size / ranks.size),
        rounds: filter.max_num_gen_batches,
        draw: (count) => draw(count * ranks.size),
        collect: (tasks, round) => play(parts, tasks, step, workers.policy, round),
        score: (trajectory) => scoreOf(filter.metric, trajectory, composer, parts.world.turns),
      });
      metrics["training/sampling_rounds"] = varied.rounds;
      metrics["training/dropped_groups"] = varied.dropped;
      collection = varied;
    } else {
      collection = await play(parts, draw(wanted), step, workers.policy, 0);
    }
    const { leftOut, retries, errors } = collection.account;
    metrics["training/left_out_episodes"] = leftOut;
    metrics["training/retried_episodes"] = retries;
    for (const error of errors) say(`iteration ${step}: ${error}`);
    const baselines =
      "greedyBaseline" in advantageEstimators[adv_estimator].needs
        ? await greedyBaselines(parts, collection, composer, step)
        : undefined;
    workers.lora?.unmerge();
    const kl = config.reward.kl === 0 ? undefined : referenceKl(parts, collection);
    return { ...collection, metrics, ...(kl && { kl }), ...(baselines && { baselines }) };
  } finally {
    if (workers.lora?.merged) workers.lora.unmerge();
  }
}

function play(
  { config, world, workers }: Parts,
  tasks: readonly Task[],
  step: number,
  policy: Policy,
  round: number,
  members = groupSize(config),
): Promise<Collection> {
  const { rollout } = config.env;
  return collect({
    world: world.world,
    about: world.about,
    agent: workers.agent,
    policy,
    limits: limitsOf(config, world.turns),
    tasks,
    members,
    seed: round === 0 ? config.trainer.seed : config.trainer.seed + round * 1_000_003,
    step,
    ...(rollout.concurrency !== undefined && { concurrency: rollout.concurrency }),
    retries: rollout.retries,
    ...(rollout.oversample > 0 &&
      tasks.length > rollout.oversample && { enough: tasks.length - rollout.oversample }),
  });
}

async function scoreOf(
  metric: Config["algorithm"]["filter_groups"]["metric"],
  trajectory: Trajectory,
  composer: RewardComposer,
  maximumTurns: number,
): Promise<number> {
  if (metric === "success") return trajectory.won ? 1 : 0;
  if (metric === "score") return trajectory.score;
  return (await composer.compose({ trajectory, group: [trajectory], maximumTurns })).total;
}

/** One greedy episode per task, for ReMax. */
async function greedyBaselines(
  parts: Parts,
  { groups }: Collection,
  composer: RewardComposer,
  step: number,
): Promise<(batch: Batch) => Float64Array> {
  const tasks = groups.map(({ task }) => task);
  const played = await play(parts, tasks, step, parts.workers.greedyPolicy, 0, 1);
  const scores = new Map<string, number>();
  for (const trajectory of played.all)
    scores.set(
      trajectory.task.id,
      await scoreOf("reward", trajectory, composer, parts.world.turns),
    );
  return ({ trajectoryOf, trajectories }) =>
    Float64Array.from(trajectoryOf, (i) => scores.get(trajectories[i]!.task.id) ?? 0);
}

/** log p − log p_reference of each episode, summed over its tokens. */
function referenceKl(
  { config, workers }: Parts,
  { groups }: Collection,
): (trajectory: Trajectory) => number | undefined {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const batch = packTrajectories(trajectories);
  const model = workers.lora?.base ?? workers.reference!;
  const reference = batchLogprobs(model, batch, passSettings(config));
  const sums = new Map<string, number>();
  for (const [row, i] of batch.trajectoryOf.entries()) {
    let sum = sums.get(trajectories[i]!.id) ?? 0;
    for (let token = batch.rows.offsets[row]!; token < batch.rows.offsets[row + 1]!; token++)
      if (batch.rows.mask[token] === 1) sum += batch.logprobs[token]! - reference[token]!;
    sums.set(trajectories[i]!.id, sum);
  }
  return ({ id }) => sums.get(id);
}
