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
import { passSettings } from "./pass-settings.ts";
import type { Ranks } from "./ranks.ts";
import { type DrawnTask, shareOf, type TaskOrder, taskShare } from "./task-order.ts";
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
  /** What of the rollout was the model's work. */
  readonly generation: { readonly seconds: number; readonly computedTokens: number };
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
  const share = taskShare(train, ranks);
  const before = { ...workers.engine.statistics };
  // Weights are named by the iterations that made them, in whatever session.
  workers.engine.weightsChanged(step - 1);
  workers.lora?.merge();
  try {
    let collection: Collection;
    const metrics: Metrics = {};
    if (filter.enable) {
      const drawn = new Map<Task, number>();
      const varied = await collectVaried({
        groups: shareOf(config.data.train_batch_size, ranks),
        rounds: filter.max_num_gen_batches,
        draw: (count) =>
          share.next(count).map(({ task, earlier }) => {
            drawn.set(task, earlier);
            return task;
          }),
        collect: (tasks, round) =>
          play(
            parts,
            tasks.map((task) => ({ task, earlier: drawn.get(task)! })),
            {
              step,
              round,
            },
          ),
        score: (trajectory) => scoreOf(filter.metric, trajectory, composer, parts.world.turns),
      });
      metrics["training/sampling_rounds"] = varied.rounds / ranks.size;
      metrics["training/dropped_groups"] = varied.dropped;
      collection = varied;
      // Some processes may have needed more rounds than others.
      train.drawn += ranks.size * Math.max(...ranks.gather(share.count));
    } else {
      const wanted = config.data.train_batch_size + config.env.rollout.oversample;
      collection = await play(parts, share.next(shareOf(wanted, ranks)), { step });
      train.drawn += wanted;
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
    const { seconds, computedTokens } = workers.engine.statistics;
    const generation = {
      seconds: seconds - before.seconds,
      computedTokens: computedTokens - before.computedTokens,
    };
    return {
      ...collection,
      metrics,
      generation,
      ...(kl && { kl }),
      ...(baselines && { baselines }),
    };
  } finally {
    if (workers.lora?.merged) workers.lora.unmerge();
  }
}

interface PlayOptions {
  readonly step: number;
  readonly round?: number;
  readonly policy?: Policy;
  readonly members?: number;
}

function play(
  { config, world, workers, ranks }: Parts,
  drawn: readonly DrawnTask[],
  { step, round = 0, policy = workers.policy, members = groupSize(config) }: PlayOptions,
): Promise<Collection> {
  const { rollout } = config.env;
  const enough = shareOf(config.data.train_batch_size, ranks);
  return collect({
    world: world.world,
    about: world.about,
    agent: workers.agent,
    policy,
    limits: limitsOf(config, world.turns),
    tasks: drawn.map(({ task }) => task),
    earlier: drawn.map(({ earlier }) => earlier),
    members,
    seed: config.trainer.seed,
    step,
    round,
    ...(rollout.concurrency !== undefined && { concurrency: rollout.concurrency }),
    retries: rollout.retries,
    ...(rollout.oversample > 0 && enough > 0 && drawn.length > enough && { enough }),
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
  // Greedy episodes of one task are all the same: one each, whoever asks how often it came.
  const tasks = new Map(groups.map(({ task }) => [task.id, { task, earlier: 0 }]));
  const played = await play(parts, [...tasks.values()], {
    step,
    policy: parts.workers.greedyPolicy,
    members: 1,
  });
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
  // What was recorded is of the model itself, so the reference's must be, whatever is drawn at.
  const reference = batchLogprobs(model, batch, { ...passSettings(config), temperature: 1 });
  const sums = new Map<string, number>();
  for (const [row, i] of batch.trajectoryOf.entries()) {
    let sum = sums.get(trajectories[i]!.id) ?? 0;
    for (let token = batch.rows.offsets[row]!; token < batch.rows.offsets[row + 1]!; token++)
      if (batch.rows.mask[token] === 1) sum += batch.logprobs[token]! - reference[token]!;
    sums.set(trajectories[i]!.id, sum);
  }
  return ({ id }) => sums.get(id);
}
