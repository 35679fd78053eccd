/**
 * @file Supervised fine-tuning: the model learns to say what the agent said. Agent tokens only, sequences
 * packed without padding.
 *
 *   loss = − Σ log p(token) / number of learned tokens of the mini-batch
 */
import { OptionError } from "../../assembly/index.ts";
import { seededRandom } from "../../environments/index.ts";
import { type Model, tokenOutputs } from "../../models/index.ts";
import {
  adamw,
  backward,
  clipFactor,
  gradientNorm,
  noGrad,
  type Schedule,
  schedule,
  tidy,
} from "../../torch/index.ts";
import type { WorkCheckpoints, WorkStart } from "../checkpoint/work.ts";
import { ownShare } from "../ranks/deal.ts";
import { oneRank, type Ranks } from "../ranks/ranks.ts";
import { passTokens } from "../workers/pass-tokens.ts";
import { allRows, joinedRows, packRows, passesOf } from "../workers/tokens.ts";
import type { Example } from "./examples.ts";

export interface SftOptions {
  readonly epochs: number;
  readonly lr: number;
  readonly weightDecay?: number;
  /** Sequences per update. */
  readonly batchSize: number;
  /** Tokens of one pass. */
  readonly tokensPerPass?: number;
  readonly warmupUpdates?: number;
  /** What the rate falls to, by a cosine. Default 0.1 of itself. */
  readonly endFactor?: number;
  readonly gradientClip?: number;
  readonly seed: number;
  readonly checkpointing?: boolean;
  /** Held out: their loss is shown after each epoch. */
  readonly validation?: readonly Example[];
  readonly onUpdate?: (progress: SftProgress) => void;
  readonly onEpoch?: (epoch: number, validationLoss: number | undefined) => Promise<void> | void;
  /** Aborted: it stops after the update, and saves. */
  readonly signal?: AbortSignal | undefined;
  /** The processes that learn together: each computes its share of every batch. Default: this one alone. */
  readonly ranks?: Ranks | undefined;
  /** Where it goes on; the model has the weights of that place already. */
  readonly resume?: WorkStart<SftPosition> | undefined;
  readonly checkpoints?: WorkCheckpoints<SftPosition> | undefined;
}

/** How far it has come. */
export interface SftPosition {
  readonly update: number;
  /** Learned tokens so far. */
  readonly tokens: number;
  /** Of the epoch's updates so far. */
  readonly epochLoss: number;
}

export interface SftProgress {
  readonly update: number;
  readonly updates: number;
  readonly loss: number;
  readonly gradientNorm: number;
  readonly lr: number;
  /** Learned tokens so far. */
  readonly tokens: number;
}

export interface SftResult {
  readonly updates: number;
  readonly tokens: number;
  /** Of the last epoch's updates. */
  readonly loss: number;
  readonly validationLoss: number | undefined;
  /** It was stopped before its end, and has saved. */
  readonly isStopped: boolean;
}

const START: SftPosition = { update: 0, tokens: 0, epochLoss: 0 };

export async function fineTune(
  model: Model,
  examples: readonly Example[],
  options: SftOptions,
): Promise<SftResult> {
  const usable = examples.filter(({ mask }) => mask.includes(1));
  if (usable.length === 0)
    throw new OptionError(
      "sft: there is nothing to learn from (no episode was solved, or no reply)",
    );
  const longest = usable.reduce((most, { ids }) => Math.max(most, ids.length), 0);
  if (longest > model.config.maximumPositions)
    throw new OptionError(
      `sft: a sequence has ${longest} tokens, the model takes ${model.config.maximumPositions}`,
    );
  const perEpoch = Math.ceil(usable.length / options.batchSize);
  const updates = perEpoch * options.epochs;
  const optimizer = adamw(model.trainable, {
    lr: options.lr,
    // Short runs: a second moment that remembers a thousand updates would lag behind.
    beta2: 0.95,
    weightDecay: options.weightDecay ?? 0.01,
  });
  const factor: Schedule = schedule({
    kind: "cosine",
    warmupSteps: options.warmupUpdates ?? Math.min(20, Math.floor(updates / 10)),
    totalSteps: Math.max(updates, 2) + 1,
    endFactor: options.endFactor ?? 0.1,
  });
  const { signal, checkpoints, ranks = oneRank() } = options;
  let { update, tokens, epochLoss } = options.resume?.position ?? START;
  let validationLoss: number | undefined;
  let saved = performance.now();
  const save = () => {
    checkpoints?.save({ update, tokens, epochLoss }, optimizer);
    saved = performance.now();
  };
  // An interrupt of one is one of all, after the same update.
  let isStopped = ranks.any(signal?.aborted ?? false);
  try {
    options.resume?.loadOptimizer(optimizer);
    for (let epoch = Math.floor(update / perEpoch); epoch < options.epochs; epoch++) {
      const order = seededRandom("sft", options.seed, epoch).shuffled(usable);
      const done = update - epoch * perEpoch;
      if (done === 0) epochLoss = 0;
      for (
        let first = done * options.batchSize;
        first < order.length && !isStopped;
        first += options.batchSize
      ) {
        const batch = order.slice(first, first + options.batchSize);
        const lr = options.lr * factor(update + 1);
        for (const group of optimizer.groups) group.lr = lr;
        const learned = batch.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0);
        const own = lossOf(model, ownShare(batch, ranks), learned, options, true);
        const [loss = 0] = ranks.sum([own]);
        ranks.sumGradients(model.trainable);
        const norm = gradientNorm(model.trainable);
        if (!Number.isFinite(loss) || !Number.isFinite(norm))
          throw new Error(
            `sft: the loss is ${loss} and the gradient's norm ${norm} in update ${update + 1}; lower the learning rate (${options.lr})`,
          );
        optimizer.step({ gradientScale: clipFactor(norm, options.gradientClip ?? 1) });
        optimizer.clearGradients();
        update++;
        tokens += learned;
        epochLoss += loss / perEpoch;
        options.onUpdate?.({ update, updates, loss, gradientNorm: norm, lr, tokens });
        if (checkpoints && performance.now() - saved >= checkpoints.minutes * 60_000) save();
        await new Promise((resolve) => setImmediate(resolve));
        isStopped = ranks.any(signal?.aborted ?? false);
      }
      if (isStopped) break;
      validationLoss = options.validation && meanLoss(model, options.validation, options);
      await options.onEpoch?.(epoch + 1, validationLoss);
    }
    if (isStopped && update > 0) save();
    // It was stopped after its last update.
    else validationLoss ??= options.validation && meanLoss(model, options.validation, options);
  } finally {
    optimizer.clearGradients();
    optimizer.dispose();
  }
  return { updates: update, tokens, loss: epochLoss, validationLoss, isStopped };
}

/** The mean loss per learned token. */
export function meanLoss(
  model: Model,
  examples: readonly Example[],
  { ranks = oneRank(), ...options }: Pick<SftOptions, "tokensPerPass" | "ranks"> = {},
): number {
  const learned = examples.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0);
  if (learned === 0) return 0;
  const own = noGrad(() => lossOf(model, ownShare(examples, ranks), learned, options, false));
  return ranks.sum([own])[0]!;
}

/** The loss of some examples; with `learn`, their gradients are added up. */
function lossOf(
  model: Model,
  examples: readonly Example[],
  learned: number,
  options: Pick<SftOptions, "tokensPerPass" | "checkpointing">,
  learn: boolean,
): number {
  const rows = joinedRows(examples);
  const { tokensPerPass = passTokens(model.config, options.checkpointing ?? false) } = options;
  const size = { tokensPerPass, sharePrefixes: true };
  let total = 0;
  for (const pass of passesOf(rows, allRows(rows), model, size))
    total += tidy(() => {
      const { packed, before, targets } = packRows(rows, pass, model, size);
      const { logprobs } = tokenOutputs(model, packed, before, targets, {
        entropy: false,
        layersPerSegment: options.checkpointing ? 1 : 0,
      });
      const loss = logprobs.sum().mul(-1 / learned);
      if (learn) backward(loss);
      return loss.item();
    });
  return total;
}
