/**
 * @file How a model is run over a batch: its precision, and what rounding may do to the result.
 */
import { autocast, type Device } from "../../torch/index.ts";
import type { PassOptions } from "../options.ts";

export type Precision = PassOptions["autocast"];

/** What a pass over a batch needs to know. */
export type PassSettings = Pick<PassOptions, "temperature" | "tokensPerPass" | "autocast">;

/** Runs a pass in the precision that was asked for. */
export function inPrecision<Result>(
  precision: Precision,
  device: Device,
  run: () => Result,
): Result {
  if (precision === "none") return run();
  return autocast({ dtype: precision, device: device === "cpu" ? "cpu" : "cuda" }, run);
}

/** What rounding can do to a log-probability: half precision has three digits or fewer. */
const ROUNDING = { float32: 0, bfloat16: 0.5, float16: 0.1 } as const;

/** How far log-probabilities of a token may be apart: as was asked for, and not less than rounding. */
export function logprobTolerance(asked: number, precision: keyof typeof ROUNDING): number {
  return Math.max(asked, ROUNDING[precision]);
}
