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
import type { Model } from "../../models/index.ts";
import type { Batch } from "../../rollout/index.ts";
import {
  adamw,
  backward,
  clipFactor,
  type OptimizerState,
  type Schedule,
  schedule,
  type Tensor,
  tidy,
} from "../../torch/index.ts";
import type { BatchingOptions, OptimizerOptions, PassSize, TrainingOptions } from "../options.ts";
import type { DealtRows } from "../ranks/deal.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { gradientExchange } from "../sharding/exchange.ts";
import type { ShardGroups } from "../sharding/groups.ts";
import { stateBytes } from "../sharding/state-bytes.ts";
import { createLossScale, type LossScale } from "./loss-scale.ts";
import { miniBatches } from "./mini-batches.ts";
import type { Allocate } from "./offload.ts";
import { type Precision, passSteps } from "./passes.ts";
import type { Steps } from "./steps.ts";
import { passesOf, trainedTokensOf } from "./tokens.ts";

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
  /** This process's rows among those of all. Default: there are no others. */
  readonly dealt?: Pick<DealtRows, "count" | "own"> | undefined;
  /** Rows of all processes to learn from, where it is not each of them once. */
  readonly rows?: readonly number[] | undefined;
  /** Rows whose gradient is known to be 0: they count, and are not computed. */
  readonly idle?: ReadonlySet<number> | undefined;
}

/** How an iteration's batch is cut into updates of one of the two. */
export function updateOptions(
  { seed, actor, critic }: Pick<TrainingOptions, "seed" | "actor" | "critic">,
  name: "actor" | "critic",
  iteration: number,
): UpdateOptions {
  return { ...(name === "actor" ? actor : critic).batching, iteration, seed, name };
}

/** One forward pass over some rows, and its loss: of all rows of the mini-batch, of those that are computed. */
export type LossOfPass = (
  pass: readonly number[],
  counts: Counts,
  computed: Counts,
  /** The number of the mini-batch in the iteration, from 0. */
  miniBatch: number,
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
  update(batch: Batch, options: UpdateOptions & PassSize, loss: LossOfPass): Steps<UpdateResult>;
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
  /** Where the weights are in shards. */
  groups?: ShardGroups,
): TrainedModel {
  const exchange = gradientExchange(model, ranks, groups);
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

  function* update(
    batch: Batch,
    options: UpdateOptions & PassSize,
    loss: LossOfPass,
  ): Steps<UpdateResult> {
    const release = model.fetch?.({ changes: true });
    try {
      return yield* updated(batch, options, loss);
    } finally {
      release?.();
    }
  }

  function* updated(
    batch: Batch,
    options: UpdateOptions & PassSize,
    loss: LossOfPass,
  ): Steps<UpdateResult> {
    const { name } = options;
    const all: Metrics[] = [];
    const skipped: SkippedUpdate[] = [];
    let made = 0;
    let number = -1;
    for (const { members, share } of miniBatches(batch, options)) {
      number++;
      const counts = countsOfAll(batch, members);
      if (counts.tokens === 0) continue;
      const working = workingRows(batch, members, options, ranks);
      const computed = options.idle ? countsOfAll(batch, working) : counts;
      const lr = settings.lr * factor(options.iteration - 1 + share);
      for (const group of optimizer.groups) group.lr = lr;
      const { problem, metrics: own } = yield* gradients(batch, working, options, (pass) =>
        loss(pass, counts, computed, number),
      );
      exchange.sum();
      const norm = exchange.norm() / lossScale.value;
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
      ...(groups && { [`${name}/state_bytes_per_rank`]: stateBytes({ model, state }).total }),
      ...(precision === "float16" && { [`${name}/loss_scale`]: lossScale.value }),
    };
    return { metrics, updates: made, skipped };
  }

  /** Of some rows of this process and the same of all others. */
  function countsOfAll(batch: Batch, members: readonly number[]): Counts {
    return addCounts(ranks.gather(countsOf(trainedTokensOf(batch, members).rows)));
  }

  /** The gradients of a mini-batch, their metrics; what went wrong, if something did. */
  function* gradients(
    batch: Batch,
    members: readonly number[],
    options: PassSize,
    loss: (pass: readonly number[]) => ReturnType<LossOfPass>,
  ): Steps<{ problem: SkippedUpdate | undefined; metrics: Metrics }> {
    const parts: Metrics[] = [];
    let problem: SkippedUpdate | undefined;
    yield* passSteps(model, true, passesOf(batch, members, model, options), (pass) => {
      // Without more to do, or after a problem, the others are only kept company.
      if (!pass) return;
      problem ??= tidy(() => {
        const bad = (reason: string, rows: readonly number[]): SkippedUpdate => ({
          reason,
          episodes: episodesOf(batch, rows),
          isOverflow: false,
        });
        try {
          const { loss: value, metrics } = loss(pass);
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
    });
    return { problem, metrics: addMetrics(parts) };
  }

  const state = () => ({ ...optimizer.state() });
  return {
    model,
    get updates() {
      return updates;
    },
    update,
    lossScale,
    state,
    load(state) {
      optimizer.load(state);
      updates = state.step;
    },
    dispose: () => optimizer.dispose(),
  };
}

/**
 * Those that are computed. At least one of all processes, the shortest: an update without a gradient is made all the
 * same, as moments and decay move the weights.
 */
function workingRows(
  { rows: { offsets, mask } }: Batch,
  members: readonly number[],
  { idle, dealt }: Pick<UpdateOptions, "idle" | "dealt">,
  ranks: Ranks,
): readonly number[] {
  if (!idle) return members;
  const working = members.filter((row) => !idle.has(row));
  const trained = members
    .filter((row) => mask.subarray(offsets[row]!, offsets[row + 1]!).includes(1))
    .map((row) => ({
      length: offsets[row + 1]! - offsets[row]!,
      number: dealt?.own[row] ?? row,
      row,
    }));
  const byLength = (a: (typeof trained)[number], b: (typeof trained)[number]) =>
    a.length - b.length || a.number - b.number;
  const [shortest] = trained.sort(byLength);
  const all = ranks.gather({ working: working.length, shortest });
  if (all.some((one) => one.working > 0)) return working;
  const [chosen] = all.flatMap((one) => one.shortest ?? []).sort(byLength);
  return shortest !== undefined && chosen?.number === shortest.number ? [shortest.row] : [];
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

function episodesOf({ trajectories, trajectoryOf }: Batch, pass: readonly number[]): string[] {
  return [...new Set(pass.map((row) => trajectories[trajectoryOf[row]!]!.id))];
}

/** The names of a pass's episodes, for messages. */
export function describeSkipped({ reason, episodes }: SkippedUpdate): string {
  const shown = episodes.slice(0, 3).join(", ");
  const more = episodes.length > 3 ? ` and ${episodes.length - 3} more` : "";
  return episodes.length === 0 ? reason : `${reason} (episodes ${shown}${more})`;
}
