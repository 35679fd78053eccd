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
import { allRows, packRows, passesOf, type TokenRows } from "../workers/tokens.ts";
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
  readonly signal?: AbortSignal | undefined;
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
}

const TOKENS_PER_PASS = 8192;

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
  let update = 0;
  let tokens = 0;
  let epochLoss = 0;
  let validationLoss: number | undefined;
  try {
    for (let epoch = 0; epoch < options.epochs && !options.signal?.aborted; epoch++) {
      const order = seededRandom("sft", options.seed, epoch).shuffled(usable);
      epochLoss = 0;
      for (
        let first = 0;
        first < order.length && !options.signal?.aborted;
        first += options.batchSize
      ) {
        const batch = order.slice(first, first + options.batchSize);
        const lr = options.lr * factor(update + 1);
        for (const group of optimizer.groups) group.lr = lr;
        const learned = batch.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0);
        const loss = lossOf(model, batch, learned, options, true);
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
        await new Promise((resolve) => setImmediate(resolve));
      }
      validationLoss = options.validation && meanLoss(model, options.validation, options);
      await options.onEpoch?.(epoch + 1, validationLoss);
    }
  } finally {
    optimizer.clearGradients();
    optimizer.dispose();
  }
  return { updates: update, tokens, loss: epochLoss, validationLoss };
}

/** The mean loss per learned token. */
export function meanLoss(
  model: Model,
  examples: readonly Example[],
  options: Pick<SftOptions, "tokensPerPass"> = {},
): number {
  const learned = examples.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0);
  return learned === 0 ? 0 : noGrad(() => lossOf(model, examples, learned, options, false));
}

/** The loss of some examples; with `learn`, their gradients are added up. */
function lossOf(
  model: Model,
  examples: readonly Example[],
  learned: number,
  options: Pick<SftOptions, "tokensPerPass" | "checkpointing">,
  learn: boolean,
): number {
  const rows = joined(examples);
  const budget = options.tokensPerPass ?? TOKENS_PER_PASS;
  let total = 0;
  for (const pass of passesOf(rows, allRows(rows), budget))
    total += tidy(() => {
      const { packed, before, targets } = packRows(rows, pass, model.device);
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

/** Examples behind each other, as a pass packs them. */
function joined(examples: readonly Example[]): TokenRows {
  const offsets = new Int32Array(examples.length + 1);
  for (const [i, { ids }] of examples.entries()) offsets[i + 1] = offsets[i]! + ids.length;
  const tokens = offsets[examples.length]!;
  const ids = new Int32Array(tokens);
  const mask = new Uint8Array(tokens);
  for (const [i, example] of examples.entries()) {
    ids.set(example.ids, offsets[i]);
    mask.set(example.mask, offsets[i]);
  }
  return { rows: { offsets, mask }, ids };
}
