/**
 * @file Does the policy still play as well as it did? An update shows its harm only in the episodes after
 * it: so the weights of an iteration count as healthy when the next rollout has shown that they are. By
 * that the last good checkpoint is known and kept, and a run that ends with a ruined policy says so.
 */
import { binomialAtMost } from "../../evaluation/index.ts";

export interface Health {
  /** The last iteration whose weights have shown that they play well. */
  readonly step: number;
  /** The share of solved tasks then, a moving average. */
  readonly success: number;
  /** Rollouts in a row since, in which the policy played far worse. */
  readonly fallen: number;
  /** The last update moved the policy further than it may, and no rollout has shown what came of it. */
  readonly suspect: boolean;
}

/** Episodes that were solved, of those that were played to their end. */
export interface Played {
  readonly won: number;
  readonly episodes: number;
}

/** How much a rollout counts in the moving average. */
const WEIGHT = 0.3;
/** Far worse: not even half of the success, beyond chance. */
const HALF = 0.5;
/** Of a policy under suspicion less is enough. */
const MOST = 0.8;
/** A policy that solved fewer tasks has nothing to fall from. */
const LEAST_SUCCESS = 0.1;
const UNLIKELY = 0.05;

/** What an iteration's rollout says of the weights before it. */
export function afterRollout(
  health: Health | undefined,
  iteration: number,
  played: Played,
): Health | undefined {
  // Nobody played: the world's fault or the settings', and no news of the policy.
  if (played.episodes === 0) return health;
  const rate = played.won / played.episodes;
  if (!health) return { step: iteration - 1, success: rate, fallen: 0, suspect: false };
  if (isFarBelow(health, played)) return { ...health, fallen: health.fallen + 1 };
  const success = (1 - WEIGHT) * health.success + WEIGHT * rate;
  return { step: iteration - 1, success, fallen: 0, suspect: false };
}

/** What an update did: `moved` by more than it may. */
export function afterUpdate(health: Health | undefined, ranAway: boolean): Health | undefined {
  return health && ranAway ? { ...health, suspect: true } : health;
}

/** Why a run that ends here, with this validation, ends with a ruined policy; undefined: it does not. */
export function divergence(health: Health | undefined, validation: Played): string | undefined {
  if (!health || !(health.suspect || health.fallen > 0)) return undefined;
  // What was played last decides; without it one bad rollout may be chance.
  const isValidated = validation.episodes > 0;
  const isRuined = isValidated
    ? isFarBelow(health, validation)
    : health.suspect || health.fallen > 1;
  if (!isRuined) return undefined;
  const percent = `${(100 * health.success).toFixed(0)} %`;
  return health.fallen > 0 || isValidated
    ? `it solves far fewer tasks than the ${percent} that it did after iteration ${health.step}`
    : "its last update moved it further than trainer.max_kl, and nothing has shown what came of it";
}

function isFarBelow({ success, suspect }: Health, { won, episodes }: Played): boolean {
  if (success < LEAST_SUCCESS || episodes === 0) return false;
  return binomialAtMost(won, episodes, success * (suspect ? MOST : HALF)) < UNLIKELY;
}
