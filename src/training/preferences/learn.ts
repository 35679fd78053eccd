/**
 * @file The loop of learning from pairs or labelled episodes: mini-batches in a seeded order, gradients added up over
 * passes and ranks, what is held out looked at every so often, the best kept, checkpoints from which it goes on bitwise.
 *
 * What is learned is an objective's affair (dpo.ts, reward-model.ts).
 */
import type { Metrics } from "../../algorithms/index.ts";
import { OptionError } from "../../assembly/index.ts";
import { seededRandom } from "../../environments/index.ts";
import type { Model } from "../../models/index.ts";
import { adamw, clipFactor, gradientNorm, noGrad, schedule } from "../../torch/index.ts";
import type { WorkCheckpoints, WorkPosition, WorkStart } from "../checkpoint/work.ts";
import { ownShare } from "../ranks/deal.ts";
import { oneRank, type Ranks } from "../ranks/ranks.ts";

/** What is learned from items of some kind. */
export interface Objective<Item> {
  /** "dpo": for messages. */
  readonly name: string;
  readonly model: Model;
  /**
   * The loss (`loss`) and metrics of some items, each their share of a mean over `count`; with `learn`, gradients are
   * added up. Randomness follows from the update.
   */
  compute(
    items: readonly Item[],
    count: number,
    learn: { readonly update: number } | false,
  ): Metrics;
}

export interface LearnOptions {
  readonly epochs: number;
  readonly lr: number;
  /** Items per update. */
  readonly batchSize: number;
  /** Default 0. */
  readonly weightDecay?: number | undefined;
  /** How the rate goes on after it has risen. Default linear, as TRL's. */
  readonly schedule?: "constant" | "linear" | "cosine" | undefined;
  /** Updates over which the rate rises. Default: a tenth of all, 20 at most. */
  readonly warmupUpdates?: number | undefined;
  readonly gradientClip?: number | undefined;
  readonly seed: number;
  /** Updates between two looks at what is held out. Default: those of an epoch. */
  readonly validateEvery?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The processes that learn together: each computes its share of every batch. Default: this one alone. */
  readonly ranks?: Ranks | undefined;
  readonly resume?: WorkStart<LearnPosition> | undefined;
  readonly checkpoints?: WorkCheckpoints<LearnPosition> | undefined;
  /** Saves the weights: they did best so far. */
  readonly saveBest?: (() => void) | undefined;
  readonly onUpdate?: ((progress: LearnProgress) => void) | undefined;
}

export interface LearnPosition extends WorkPosition {
  /** The update after which the held-out loss was lowest, and that loss. */
  readonly best?: { readonly update: number; readonly loss: number } | undefined;
}

export interface LearnProgress {
  /** 0: before the first one, of what is held out alone. */
  readonly update: number;
  readonly updates: number;
  /** As they stand in metrics.jsonl; of what is held out, with `val/` before their names. */
  readonly metrics: Metrics;
}

export interface LearnResult {
  readonly updates: number;
  readonly best: LearnPosition["best"];
  readonly isStopped: boolean;
}

export async function learn<Item>(
  objective: Objective<Item>,
  items: { readonly training: readonly Item[]; readonly validation: readonly Item[] },
  options: LearnOptions,
): Promise<LearnResult> {
  const { model, name } = objective;
  const { training, validation } = items;
  if (training.length === 0) throw new OptionError(`${name}: there is nothing to learn from`);
  const { signal, checkpoints, batchSize, ranks = oneRank() } = options;
  const perEpoch = Math.ceil(training.length / batchSize);
  const updates = perEpoch * options.epochs;
  const { validateEvery = perEpoch } = options;
  const optimizer = adamw(model.trainable, {
    lr: options.lr,
    weightDecay: options.weightDecay ?? 0,
  });
  const factor = schedule({
    kind: options.schedule ?? "linear",
    warmupSteps: options.warmupUpdates ?? Math.min(20, Math.floor(updates / 10)),
    totalSteps: updates + 1,
  });
  let { update, best }: LearnPosition = options.resume?.position ?? { update: 0 };
  let saved = performance.now();
  const save = () => {
    checkpoints?.save({ update, best }, optimizer);
    saved = performance.now();
  };
  const heldOut = (): Metrics => {
    if (validation.length === 0) return {};
    const own = noGrad(() =>
      objective.compute(ownShare(validation, ranks), validation.length, false),
    );
    return named("val/", ranks.addMetrics(own));
  };
  // An interrupt of one is one of all, after the same update.
  let isStopped = ranks.any(signal?.aborted ?? false);
  try {
    options.resume?.loadOptimizer(optimizer);
    if (update === 0 && !isStopped) tell(heldOut());
    let order: readonly Item[] = [];
    while (update < updates && !isStopped) {
      const epoch = Math.floor(update / perEpoch);
      if (order.length === 0 || update % perEpoch === 0)
        order = seededRandom(name, options.seed, epoch).shuffled(training);
      const first = (update - epoch * perEpoch) * batchSize;
      const batch = order.slice(first, first + batchSize);
      const learned = learnFrom(batch, epoch);
      update++;
      const isLook = update % validateEvery === 0 || update === updates;
      const looked = isLook ? heldOut() : {};
      const loss = looked["val/loss"];
      if (loss !== undefined && loss < (best?.loss ?? Number.POSITIVE_INFINITY)) {
        best = { update, loss };
        options.saveBest?.();
      }
      tell({ ...learned, ...looked });
      if (checkpoints && performance.now() - saved >= checkpoints.minutes * 60_000) save();
      await new Promise((resolve) => setImmediate(resolve));
      isStopped = ranks.any(signal?.aborted ?? false);
    }
    if (isStopped && update > 0 && update < updates) save();
  } finally {
    optimizer.clearGradients();
    optimizer.dispose();
  }
  return { updates: update, best, isStopped: isStopped && update < updates };

  function tell(metrics: Metrics): void {
    if (Object.keys(metrics).length > 0) options.onUpdate?.({ update, updates, metrics });
  }

  /** One update. */
  function learnFrom(batch: readonly Item[], epoch: number): Metrics {
    const lr = options.lr * factor(update + 1);
    for (const group of optimizer.groups) group.lr = lr;
    const own = objective.compute(ownShare(batch, ranks), batch.length, { update });
    const metrics = ranks.addMetrics(own);
    ranks.sumGradients(model.trainable);
    const norm = gradientNorm(model.trainable);
    if (!Number.isFinite(metrics.loss) || !Number.isFinite(norm))
      throw new Error(
        `${name}: the loss is ${metrics.loss} and the gradient's norm ${norm} in update ${update + 1}; lower the ` +
          `learning rate (${options.lr})`,
      );
    optimizer.step({ gradientScale: clipFactor(norm, options.gradientClip ?? 1) });
    optimizer.clearGradients();
    return { ...metrics, grad_norm: norm, lr, epoch: epoch + 1 };
  }
}

function named(prefix: string, metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [prefix + name, value]));
}
