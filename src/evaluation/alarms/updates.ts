/**
 * @file Alarms about the updates themselves: how far they move the policy, gradients, numbers that are none, and whether what
 * was sampled is what is trained.
 */
import { type Alarm, type AlarmName, medianOf, type Seen, short } from "./alarm.ts";

/** Iterations that say what is usual. */
const USUAL = 8;
const LEAST_USUAL = 4;
/** A spike is so many times the usual, and large in itself. */
const TIMES = 10;
const LARGE_KL = 0.2;
const LARGE_GRADIENT = 1;
/** Rollout and trainer: mean KL per token (k3), and the largest difference of one token. */
const DRIFT_KL = 0.005;
const DRIFT_TOKEN = 0.5;

/** The median of earlier iterations; undefined: too few have measured it. */
function usual(seen: Seen, name: string): number | undefined {
  const earlier = seen
    .upTo(USUAL)
    .slice(0, -1)
    .flatMap((one) => one[name] ?? []);
  const sizes = earlier.map(Math.abs).filter((value) => value > 0);
  return sizes.length < LEAST_USUAL ? undefined : medianOf(sizes);
}

export const UPDATES = {
  kl_spike: {
    grade: "ruin",
    means: "an iteration's updates moved the policy much further than they should",
    tries: "lower the actor's learning rate (optim.lr), or make fewer updates per batch",
    remedies: ["lower the learning rate", "fewer updates per batch"],
    check(seen) {
      const moved = Math.abs(seen.now["actor/ppo_kl"] ?? 0);
      const { maxKl } = seen.options;
      if (moved > maxKl)
        return {
          text: `the policy moved by a KL of ${short(moved)} in one iteration (trainer.max_kl is ${short(maxKl)})`,
          level: moved / maxKl,
        };
      const typical = usual(seen, "actor/ppo_kl");
      if (moved < LARGE_KL || (typical !== undefined && moved < TIMES * typical)) return undefined;
      return {
        text:
          `the policy moved by a KL of ${short(moved)} in one iteration` +
          (typical === undefined ? "" : `, usually by ${short(typical)}`),
        level: moved / LARGE_KL,
      };
    },
  },
  gradient_spike: {
    grade: "notice",
    means:
      "a gradient is many times as large as usual; clipping bounds what it does, not what it points at",
    tries:
      "look at the rewards and the episodes of that iteration; if it comes back, lower the learning rate",
    remedies: ["lower the learning rate"],
    check(seen) {
      for (const who of ["actor", "critic"]) {
        const name = `${who}/grad_norm`;
        const typical = usual(seen, name);
        const now = seen.now[name];
        if (now === undefined || typical === undefined) continue;
        if (now >= LARGE_GRADIENT && now >= TIMES * typical)
          return {
            text: `the ${who}'s gradient norm is ${short(now)}, usually ${short(typical)}`,
            level: now / typical,
          };
      }
      return undefined;
    },
  },
  logprob_drift: {
    grade: "setup",
    means:
      "the probabilities of the sampled tokens are not those that the trainer computes: rollouts come from other weights, another temperature or another precision",
    tries:
      "look whether the engine or server has the newest weights and the same settings; weigh the difference (rollout correction) where it cannot be avoided",
    remedies: ["importance weights"],
    check({ now }) {
      const kl = now["rollout_corr/k3_kl"];
      const largest = now["training/rollout_logprob_diff_max"];
      if (kl !== undefined && kl > DRIFT_KL)
        return {
          text: `a mean KL of ${short(kl)} per token between the two`,
          level: kl / DRIFT_KL,
        };
      if (kl === undefined && largest !== undefined && largest > DRIFT_TOKEN)
        return {
          text: `log-probabilities of a token differ by up to ${short(largest)}`,
          level: largest / DRIFT_TOKEN,
        };
      return undefined;
    },
  },
  update_skipped: {
    grade: "notice",
    means: "an update was not finite and was not made",
    tries: "lower the learning rate, or look at the rewards of the episodes that are named",
    remedies: ["lower the learning rate"],
    check({ now }) {
      const bad = now["training/bad_updates"] ?? 0;
      return bad > 0 ? { text: `${bad} updates were skipped`, level: bad } : undefined;
    },
  },
  nothing_played: {
    grade: "notice",
    means: "no episode of an iteration can be trained on",
    tries: "look at the errors above: the world, its server, a reward or the limits of time",
    remedies: [],
    check({ now }) {
      return now["training/usable_episodes"] === 0
        ? { text: "nothing can be learned from", level: 1 }
        : undefined;
    },
  },
} as const satisfies Partial<Record<AlarmName, Alarm>>;
