/**
 * @file How a model is run over a batch: its precision, and what rounding may do to the result.
 */
import type { Model } from "../../models/index.ts";
import { autocast, type Device } from "../../torch/index.ts";
import type { PassOptions, PassSize } from "../options.ts";
import { atOnce, type Steps } from "./steps.ts";

export type Precision = PassOptions["autocast"];

/** What a pass over a batch needs to know. */
export type PassSettings = PassSize & Pick<PassOptions, "temperature" | "autocast">;

/** Runs a pass in the precision that was asked for. */
export function inPrecision<Result>(
  precision: Precision,
  device: Device,
  run: () => Result,
): Result {
  if (precision === "none") return run();
  return autocast({ dtype: precision, device }, run);
}

/**
 * Calls `run` for each pass. With sharded weights all ranks make as many passes as the one that has most:
 * where this one has no more, `run` gets undefined. `records`: backward is part of a pass.
 */
export function forPasses<Pass>(
  model: Pick<Model, "units" | "fetch">,
  records: boolean,
  passes: readonly Pass[],
  run: (pass: Pass | undefined) => void,
): void {
  atOnce(passSteps(model, records, passes, run));
}

/** The same, a step for each pass. */
export function* passSteps<Pass>(
  { units, fetch }: Pick<Model, "units" | "fetch">,
  records: boolean,
  passes: readonly Pass[],
  run: (pass: Pass | undefined) => void,
): Steps<void> {
  const count = units ? units.most(passes.length) : passes.length;
  const release = units ? undefined : fetch?.();
  try {
    for (let i = 0; i < count; i++) {
      if (units) units.pass(records, () => run(passes[i]));
      else run(passes[i]);
      yield;
    }
  } finally {
    release?.();
  }
}

/**
 * What rounding can do to a log-probability: half precision has three digits or fewer, weights in int8 have two, and
 * what is unlikely is moved most (1.3 at the most in 768 tokens of SmolLM2 after random ones, 0.07 on average).
 */
const ROUNDING = { float32: 0, bfloat16: 0.5, float16: 0.1, int8: 4 } as const;

/**
 * How far log-probabilities of a token may be apart: as was asked for, and not less than rounding, of training and
 * of generation.
 */
export function logprobTolerance(
  asked: number,
  ...precisions: readonly (keyof typeof ROUNDING)[]
): number {
  return Math.max(asked, ...precisions.map((precision) => ROUNDING[precision]));
}
