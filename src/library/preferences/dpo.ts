/**
 * @file Direct preference optimization of a model: from pairs of episodes, of single steps, or of a file.
 */
import type { DpoKind } from "../../algorithms/index.ts";
import { loadModel } from "../../models/index.ts";
import {
  dpoObjective,
  fingerprintOfPairs,
  type Pair,
  pairsIn,
  type Ranks,
  type ReferencedPair,
  rowsOfPair,
  withReference,
} from "../../training/index.ts";
import { learnFrom, type PreferenceOptions, type PreferenceReport } from "./preferences.ts";
import { withRanks } from "../ranks.ts";

export interface DpoOptions extends PreferenceOptions {
  /** sigmoid: DPO; sigmoid_norm: of means per token; ipo. Default sigmoid. */
  readonly kind?: DpoKind;
  /** How near to the reference it stays. Default 0.1. */
  readonly beta?: number;
  /** The probability that a pair is the wrong way round, below 0.5. Default 0. */
  readonly labelSmoothing?: number;
  /** How much the chosen answers are learned besides, as in SFT: it keeps them from becoming less likely. Default 0. */
  readonly sftWeight?: number;
}

/** A model learns from pairs of answers, of which one was better. The reference is the model as it begins. */
export function dpo(options: DpoOptions): Promise<PreferenceReport> {
  return withRanks((ranks) => dpoOnRanks(options, ranks));
}

function dpoOnRanks(options: DpoOptions, ranks: Ranks): Promise<PreferenceReport> {
  const { kind = "sigmoid", beta = 0.1, labelSmoothing = 0, sftWeight = 0 } = options;
  const settings = { kind, beta, labelSmoothing, sftWeight };
  return learnFrom<Pair, ReferencedPair>(options, ranks, {
    ...{ command: "dpo", what: "pairs", load: loadModel, rows: rowsOfPair },
    made: (sources) => pairsIn(sources, options),
    ready: (pairs, model, passes) => withReference(model, pairs, { kind, ...passes }),
    objective: (model, passes) => dpoObjective(model, { ...settings, ...passes }),
    ...{ fingerprint: fingerprintOfPairs, identity: settings },
  });
}
