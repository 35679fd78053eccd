/**
 * @file How a model is run over a batch, as the configuration says: temperature, pass size, precision.
 */
import type { Config } from "../config/index.ts";
import { autocast, type Device } from "../torch/index.ts";

/** How a model is run over a batch. */
export interface PassSettings {
  readonly temperature: number;
  readonly tokensPerPass: number;
  readonly autocast: Config["actor_rollout_ref"]["actor"]["autocast"];
}

export function passSettings({ actor_rollout_ref: { actor, rollout } }: Config): PassSettings {
  return {
    temperature: rollout.temperature,
    tokensPerPass: rollout.log_prob_max_token_len_per_gpu ?? actor.ppo_max_token_len_per_gpu,
    autocast: actor.autocast,
  };
}

/** Runs a pass in the precision that was asked for. */
export function inPrecision<Result>(
  precision: PassSettings["autocast"],
  device: Device,
  run: () => Result,
): Result {
  if (precision === "none") return run();
  return autocast({ dtype: precision, device: device === "cpu" ? "cpu" : "cuda" }, run);
}

/** What rounding can do to a log-probability: half precision has three digits or fewer. */
const HALF_PRECISION = { bfloat16: 0.5, float16: 0.1 } as const;

/** How far the rollout's and the trainer's log-probabilities of a token may be apart. */
export function logprobTolerance({ trainer, actor_rollout_ref: policy }: Config): number {
  const { autocast } = policy.actor;
  const precision = autocast === "none" ? policy.model.dtype : autocast;
  const rounding = precision === "float32" ? 0 : HALF_PRECISION[precision];
  return Math.max(trainer.logprob_tolerance, rounding);
}
