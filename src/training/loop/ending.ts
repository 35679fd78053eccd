/**
 * @file How a run ends: with a policy that plays, or with one that was ruined; and weights that must not be saved.
 */
import { TRAINABLE } from "../../rollout/index.ts";
import { noGrad, stack, tidy } from "../../torch/index.ts";
import { checkpointFolder, checkpointSteps, type RunState } from "../checkpoint/checkpoint.ts";
import type { Workers } from "../workers/workers.ts";
import type { Stop } from "./guards.ts";
import { divergence } from "./health.ts";
import type { Validation } from "./validate.ts";

/** A run that has not ended well must not end as if it had. */
export function endedDiverged(
  run: string,
  { health, badUpdates, step }: RunState,
  validated: Validation | undefined,
): Stop | undefined {
  const played = validated?.episodes.filter(({ status }) => TRAINABLE.has(status)) ?? [];
  const why =
    badUpdates.actor > 0
      ? `its last ${badUpdates.actor} updates were not finite`
      : divergence(health, {
          won: played.filter(({ won }) => won).length,
          episodes: played.length,
        });
  if (why === undefined) return undefined;
  const kept = checkpointSteps(run).filter((saved) => saved <= (health?.step ?? step));
  const last = kept.at(-1);
  return {
    reason:
      `the policy has diverged: ${why}. Lower the learning rate, or make fewer updates per batch` +
      (last === undefined
        ? ""
        : `; the last checkpoint that played well is ${checkpointFolder(run, last)}`),
    failed: true,
  };
}

/** The first of the trained tensors that has a value that is no number. */
export function brokenWeights({ actor, critic }: Workers): string | undefined {
  for (const { model } of [actor, ...(critic ? [critic] : [])]) {
    const release = model.fetch?.();
    try {
      // Read at once: a device would be waited for once per tensor.
      const sums = tidy(() =>
        noGrad(() =>
          stack([...model.trainable.values()].map((tensor) => tensor.sum().to("float64"))),
        ).toNumbers(),
      );
      const broken = sums.findIndex((sum) => !Number.isFinite(sum));
      if (broken >= 0) return [...model.trainable.keys()][broken];
    } finally {
      release?.();
    }
  }
  return undefined;
}
