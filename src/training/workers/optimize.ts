/**
 * @file What actor and critic share: an optimiser with its schedule, and updates in mini-batches whose
 * gradients are summed over passes and processes, checked, clipped and applied.
 */
import {
  addCounts,
  addMetrics,
  type Counts,
  countsOf,
  type Metrics,
  NonFiniteError,
  reduceMetrics,
} from "../../algorithms/index.ts";
import { seededRandom } from "../../environments/index.ts";
import type { Model } from "../../models/index.ts";
import type { Batch } from "../../rollout/index.ts";
import {
  adamw,
  backward,
  clipFactor,
  gradientNorm,
  type OptimizerState,
  type Schedule,
  schedule,
  type Tensor,
  tidy,
} from "../../torch/index.ts";
import type { BatchingOptions, OptimizerOptions, TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { createLossScale, type LossScale } from "./loss-scale.ts";
import type { Allocate } from "./offload.ts";
import type { Precision } from "./passes.ts";
import { allRows, passesOf, trainedTokensOf } from "./tokens.ts";

/** An update that was not made, and why. */
export interface SkippedUpdate {
  readonly reason: string;
  /** The episodes of the pass in which it showed. */
  readonly episodes: readonly string[];
  /** Only the scaled gradients were too large for float16: the scale falls, nothing is wrong. */
  readonly isOverflow: boolean;
}

export interface UpdateOptions extends BatchingOptions {
  /** Shuffling follows from it. */
  readonly iteration: number;
  readonly seed: number;
  /** "actor" or "critic": for metrics and shuffling. */
  readonly name: string;
  /** Rows to learn from, where it is not each of them once. */
  readonly rows?: readonly number[] | undefined;
}

/** How an iteration's batch is cut into updates of one of the two. */
export function updateOptions(
  { seed, actor, critic }: Pick<TrainingOptions, "seed" | "actor" | "critic">,
  name: "actor" | "critic",
  iteration: number,
): UpdateOptions {
  return { ...(name === "actor" ? actor : critic).batching, iteration, seed, name };
}

/** How many updates an epoch over so many rows (of all ranks) has. */
export function updatesPerEpoch(rows: number, { miniBatchRows }: BatchingOptions): number {
  return Math.max(1, Math.round(rows / miniBatchRows));
}

/** One forward pass over some rows, and its loss. */
export type LossOfPass = (
  pass: readonly number[],
  counts: Counts,
) => { loss: Tensor; metrics: Metrics };

export interface UpdateResult {
  readonly metrics: Metrics;
  readonly updates: number;
  readonly skipped: readonly SkippedUpdate[];
}

export interface TrainedModel {
  readonly model: Model;
  /** How many updates were made. */
  readonly updates: number;
  update(batch: Batch, options: UpdateOptions, loss: LossOfPass): UpdateResult;
  state(): OptimizerState;
  load(state: OptimizerState): void;
  readonly lossScale: LossScale;
  dispose(): void;
}

export function createTrainedModel(
  model: Model,
  settings: OptimizerOptions,
  iterations: number,
  precision: Precision,
  ranks: Ranks,
  /** Where the optimiser's moments go. Default: memory. */
  allocate?: Allocate,
): TrainedModel {
  const optimizer = adamw(
    model.trainable,
    {
      lr: settings.lr,
      beta1: settings.betas[0],
      beta2: settings.betas[1],
      epsilon: settings.epsilon,
      weightDecay: settings.weightDecay,
    },
    allocate,
  );
  const factor = scheduleOf(settings, iterations);
  const lossScale = createLossScale(precision === "float16");
  let updates = 0;

  function update(batch: Batch, options: UpdateOptions, loss: LossOfPass): UpdateResult {
    const { name } = options;
    const all: Metrics[] = [];
    const skipped: SkippedUpdate[] = [];
    let made = 0;
    for (const { members, share } of miniBatches(batch, options, ranks)) {
      const counts = addCounts(ranks.gather(countsOf(trainedTokensOf(batch, members).rows)));
      if (counts.tokens === 0) continue;
      const lr = settings.lr * factor(options.iteration - 1 + share);
      for (const group of optimizer.groups) group.lr = lr;
      const { problem, metrics: own } = gradients(batch, members, options, counts, loss);
      ranks.sumGradients(model.trainable);
      const norm = gradientNorm(model.trainable) / lossScale.value;
      // All processes see the same norm, and so decide the same; a problem of one is told to all.
      const problems = ranks.gather(problem).filter((one) => one !== undefined);
      const passed = ranks.addMetrics(own);
      if (problems.length > 0 || !Number.isFinite(norm)) {
        skipped.push(
          problems[0] ?? {
            reason: `the gradient's norm is ${norm}`,
            episodes: episodesOf(batch, members),
            isOverflow: lossScale.value > 1,
          },
        );
        lossScale.failed();
      } else {
        all.push(passed);
        const clip = clipFactor(norm, options.gradientClip);
        optimizer.step({ gradientScale: clip / lossScale.value });
        lossScale.succeeded();
        updates++;
        made++;
        all.push({ [`${name}/grad_norm`]: norm, [`${name}/lr`]: lr });
      }
      optimizer.clearGradients();
    }
    const metrics = {
      ...reduceMetrics(all),
      [`${name}/updates`]: made,
      [`${name}/skipped_updates`]: skipped.length,
      ...(precision === "float16" && { [`${name}/loss_scale`]: lossScale.value }),
    };
    return { metrics, updates: made, skipped };
  }

  /** The gradients of a mini-batch, their metrics; what went wrong, if something did. */
  function gradients(
    batch: Batch,
    members: readonly number[],
    { tokensPerPass }: UpdateOptions,
    counts: Counts,
    loss: LossOfPass,
  ): { problem: SkippedUpdate | undefined; metrics: Metrics } {
    const parts: Metrics[] = [];
    let problem: SkippedUpdate | undefined;
    for (const pass of passesOf(batch, members, tokensPerPass)) {
      problem ??= tidy(() => {
        const bad = (reason: string, rows: readonly number[]): SkippedUpdate => ({
          reason,
          episodes: episodesOf(batch, rows),
          isOverflow: false,
        });
        try {
          const { loss: value, metrics } = loss(pass, counts);
          const number = value.item();
          if (!Number.isFinite(number)) return bad(`the loss is ${number}`, pass);
          backward(lossScale.value === 1 ? value : value.mul(lossScale.value));
          parts.push(metrics);
          return undefined;
        } catch (error) {
          if (!(error instanceof NonFiniteError)) throw error;
          return bad(error.message, [pass[error.row]!]);
        }
      });
    }
    return { problem, metrics: addMetrics(parts) };
  }

  return {
    model,
    get updates() {
      return updates;
    },
    update,
    lossScale,
    state: () => ({ ...optimizer.state() }),
    load(state) {
      optimizer.load(state);
      updates = state.step;
    },
    dispose: () => optimizer.dispose(),
  };
}

/**
 * By iterations, as verl counts: how many updates an iteration has is only known when it has been
 * played (in the context `steps` it depends on the turns). Between them it moves on smoothly.
 */
function scheduleOf(settings: OptimizerOptions, iterations: number): Schedule {
  const { schedule: kind, warmupIterations: warmupSteps, endFactor } = settings;
  return schedule({
    kind,
    warmupSteps,
    totalSteps: Math.max(iterations, warmupSteps + 1),
    endFactor,
  });
}

interface MiniBatch {
  /** Rows, in order. */
  readonly members: number[];
  /** How much of the iteration's updates lies before it, 0 to 1. */
  readonly share: number;
}

/**
 * The rows of each update, for this process. All processes make the same number of updates; each gives
 * its share of rows to every one.
 */
function* miniBatches(batch: Batch, options: UpdateOptions, ranks: Ranks): Generator<MiniBatch> {
  const { epochs, shuffle, iteration, seed, name } = options;
  const rows = options.rows ?? allRows(batch);
  const count = rows.length;
  const [total = 0] = ranks.sum([count]);
  const parts = updatesPerEpoch(total, options);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = shuffle
      ? seededRandom("mini-batches", name, seed, iteration, epoch, ranks.rank).shuffled(rows)
      : rows;
    for (let part = 0; part < parts; part++)
      yield {
        members: order
          .slice(Math.floor((part * count) / parts), Math.floor(((part + 1) * count) / parts))
          .sort((a, b) => a - b),
        share: (epoch * parts + part) / (epochs * parts),
      };
  }
}

function episodesOf({ trajectories, trajectoryOf }: Batch, pass: readonly number[]): string[] {
  return [...new Set(pass.map((row) => trajectories[trajectoryOf[row]!]!.id))];
}

/** The names of a pass's episodes, for messages. */
export function describeSkipped({ reason, episodes }: SkippedUpdate): string {
  const shown = episodes.slice(0, 3).join(", ");
  const more = episodes.length > 3 ? ` and ${episodes.length - 3} more` : "";
  return episodes.length === 0 ? reason : `${reason} (episodes ${shown}${more})`;
}
