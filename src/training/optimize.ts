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
} from "../algorithms/index.ts";
import type { Config } from "../config/index.ts";
import { seededRandom } from "../environments/index.ts";
import type { Model } from "../models/index.ts";
import type { Batch } from "../rollout/index.ts";
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
} from "../torch/index.ts";
import { createLossScale, type LossScale } from "./loss-scale.ts";
import type { Allocate } from "./offload.ts";
import type { Ranks } from "./ranks.ts";
import { passesOf, trainedTokensOf } from "./tokens.ts";

type OptimizerConfig = Config["critic"]["optim"];

/** An update that was not made, and why. */
export interface SkippedUpdate {
  readonly reason: string;
  /** The episodes of the pass in which it showed. */
  readonly episodes: readonly string[];
  /** Only the scaled gradients were too large for float16: the scale falls, nothing is wrong. */
  readonly isOverflow: boolean;
}

export interface UpdateOptions {
  /** Rows per update, of all processes together. */
  readonly miniBatchRows: number;
  readonly epochs: number;
  readonly shuffle: boolean;
  /** Tokens of one pass. */
  readonly tokensPerPass: number;
  readonly gradientClip: number;
  /** The iteration: shuffling follows from it. */
  readonly step: number;
  readonly seed: number;
  /** "actor" or "critic": for metrics and shuffling. */
  readonly name: string;
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
  settings: OptimizerConfig,
  iterations: number,
  autocast: Config["actor_rollout_ref"]["actor"]["autocast"],
  ranks: Ranks,
  /** Where the optimiser's moments go; memory unless said. */
  allocate?: Allocate,
): TrainedModel {
  const optimizer = adamw(
    model.trainable,
    {
      lr: settings.lr,
      beta1: settings.betas[0],
      beta2: settings.betas[1],
      epsilon: settings.eps,
      weightDecay: settings.weight_decay,
    },
    allocate,
  );
  const factor = scheduleOf(settings, iterations);
  const lossScale = createLossScale(autocast === "float16");
  let updates = 0;

  function update(batch: Batch, options: UpdateOptions, loss: LossOfPass): UpdateResult {
    const { name } = options;
    const all: Metrics[] = [];
    const skipped: SkippedUpdate[] = [];
    let made = 0;
    for (const { members, share } of miniBatches(batch, options, ranks)) {
      const counts = addCounts(ranks.gather(countsOf(trainedTokensOf(batch, members).rows)));
      if (counts.tokens === 0) continue;
      const lr = settings.lr * factor(options.step - 1 + share);
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
      ...(autocast === "float16" && { [`${name}/loss_scale`]: lossScale.value }),
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
function scheduleOf(settings: OptimizerConfig, iterations: number): Schedule {
  const warmupSteps =
    settings.lr_warmup_steps >= 0
      ? settings.lr_warmup_steps
      : Math.floor(settings.lr_warmup_steps_ratio * iterations);
  const kind = settings.lr_scheduler_type ?? settings.warmup_style;
  return schedule({
    kind,
    warmupSteps,
    totalSteps: Math.max(iterations, warmupSteps + 1),
    endFactor: settings.min_lr_ratio,
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
  const { miniBatchRows, epochs, shuffle, step, seed, name } = options;
  const count = batch.rows.offsets.length - 1;
  const [total = 0] = ranks.sum([count]);
  const parts = Math.max(1, Math.round(total / miniBatchRows));
  for (let epoch = 0; epoch < epochs; epoch++) {
    const rows = Array.from({ length: count }, (_, row) => row);
    const order = shuffle
      ? seededRandom("mini-batches", name, seed, step, epoch, ranks.rank).shuffled(rows)
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
