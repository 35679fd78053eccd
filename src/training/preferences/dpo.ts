/**
 * @file Direct preference optimization: the policy learns to find what was better more likely than the reference does,
 * and what was worse less likely. The losses are those of src/algorithms/losses/dpo.ts.
 *
 * The reference is the policy as it begins. What it says of every pair is computed once, before the first update, so it
 * needs no second model; with LoRA it is the base.
 */
import {
  addMetrics,
  answerLogprobs,
  type DpoInput,
  type DpoKind,
  type DpoOptions,
  dpoLoss,
} from "../../algorithms/index.ts";
import { type LoraModel, type Model, tokenOutputs } from "../../models/index.ts";
import {
  backward,
  deriveSeed,
  fromTypedArray,
  Generator,
  noGrad,
  type Tensor,
  tidy,
} from "../../torch/index.ts";
import { allRows, packRows } from "../workers/tokens.ts";
import type { Objective } from "./learn.ts";
import { type Pair, rowsOfPair } from "./pairs.ts";
import { type ItemPass, itemPasses, type PassChoices } from "./passes.ts";

/** A pair, and how likely the reference finds its answers: sums over tokens, or means. */
export interface ReferencedPair extends Pair {
  readonly reference: { readonly chosen: number; readonly rejected: number };
}

export interface DpoSettings extends DpoOptions, PassChoices {
  readonly seed: number;
}

/** What the reference says of each pair. */
export function withReference(
  reference: Model,
  pairs: readonly Pair[],
  { kind, ...passes }: PassChoices & { readonly kind?: DpoKind | undefined } = {},
): ReferencedPair[] {
  const known = new Map<Pair, ReferencedPair["reference"]>();
  for (const pass of itemPasses(pairs, rowsOfPair, reference, passes))
    tidy(() =>
      noGrad(() => {
        const { chosen, rejected } = answersOf(reference, pass, kind, {});
        const [better, worse] = [chosen.toNumbers(), rejected.toNumbers()];
        for (const [i, pair] of pass.items.entries())
          known.set(pair, { chosen: better[i]!, rejected: worse[i]! });
      }),
    );
  return pairs.map((pair) => ({ ...pair, reference: known.get(pair)! }));
}

/** `model`: all of it is trained, or an adapter. */
export function dpoObjective(
  model: Model | LoraModel,
  settings: DpoSettings,
): Objective<ReferencedPair> {
  const { kind, beta, labelSmoothing, sftWeight, checkpointing = false } = settings;
  const holds = (sftWeight ?? 0) > 0;
  const drops = "settings" in model && model.settings.dropout > 0;
  return {
    name: "dpo",
    model,
    compute(pairs, count, learn) {
      const passes = itemPasses(pairs, rowsOfPair, model, settings);
      const dropout =
        learn && drops
          ? new Generator(deriveSeed(settings.seed, "dropout", learn.update), model.device)
          : null;
      const layersPerSegment = learn && checkpointing ? 1 : 0;
      try {
        return addMetrics(
          passes.map((pass) =>
            tidy(() => {
              const answers = answersOf(model, pass, kind, { dropout, layersPerSegment, holds });
              const { loss, metrics } = dpoLoss(
                { ...answers, ...referenceOf(pass.items, answers.chosen), pairs: count },
                { kind, beta, labelSmoothing, sftWeight },
              );
              if (learn) backward(loss);
              return { loss: loss.item(), ...metrics };
            }),
          ),
        );
      } finally {
        dropout?.dispose();
      }
    },
  };
}

function referenceOf(pairs: readonly ReferencedPair[], { dtype, device }: Tensor) {
  const values = (side: "chosen" | "rejected") =>
    fromTypedArray(
      Float64Array.from(pairs, ({ reference }) => reference[side]),
      undefined,
      { dtype, device },
    );
  return { referenceChosen: values("chosen"), referenceRejected: values("rejected") };
}

interface AnswerOptions {
  readonly dropout?: Generator | null;
  readonly layersPerSegment?: number;
  /** Whether the means of the chosen answers are wanted besides. */
  readonly holds?: boolean;
}

/** [pairs] log p of the answers of a pass: sums over their tokens, or means where the kind is of means. */
function answersOf(
  model: Model,
  { rows, items }: ItemPass<Pair>,
  kind: DpoKind | undefined,
  { holds = false, ...options }: AnswerOptions,
): Pick<DpoInput, "chosen" | "rejected" | "chosenMeans"> {
  return tidy(() => {
    // What is dropped of a prefix must not be the same for all that share it.
    const packed = packRows(rows, allRows(rows), model, { sharePrefixes: !options.dropout });
    const { logprobs } = tokenOutputs(model, packed.packed, packed.before, packed.targets, {
      ...options,
      entropy: false,
      allowed: packed.allowed,
    });
    // The rows of an answer stand behind each other: as one row of tokens they are summed at once.
    const { offsets, mask } = packed.rows;
    const ends = [0];
    let row = 0;
    for (const { chosen, rejected } of items) {
      row += chosen.length;
      ends.push(offsets[row]!);
      row += rejected.length;
      ends.push(offsets[row]!);
    }
    const answers = { offsets: Int32Array.from(ends), mask };
    const both = (how: "sum" | "mean") =>
      answerLogprobs(logprobs, answers, how).reshape([items.length, 2]);
    const compared = both(isOfMeans(kind) ? "mean" : "sum");
    return {
      ...{ chosen: compared.select(1, 0), rejected: compared.select(1, 1) },
      ...(holds && { chosenMeans: both("mean").select(1, 0) }),
    };
  });
}

function isOfMeans(kind: DpoKind = "sigmoid"): boolean {
  return kind !== "sigmoid";
}
