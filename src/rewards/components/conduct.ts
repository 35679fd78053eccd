/**
 * @file Rewards for how the agent went about it: time, length, form, repetition, exploration, and whether
 * it does what it says.
 *
 * Penalties give numbers up to 0. What belongs to a turn is given for each turn.
 */
import { wordsOf } from "../../agents/index.ts";
import { isValidTurn, isWellFormed, type Turn, type ValidityRule } from "../../rollout/index.ts";
import { type RewardComponent, rewardFunction } from "../component.ts";

/** −1 / (turns that there could have been) for each turn: the whole of it for using them all. */
export function timePenalty(weight = 1): RewardComponent {
  return rewardFunction("time_penalty", weight, ({ trajectory, maximumTurns }) =>
    trajectory.turns.map(() => -1 / maximumTurns),
  );
}

export interface LengthPenaltyOptions {
  /** Tokens of a reply that cost nothing. Default 500. */
  readonly maximum?: number;
  /** Shorter replies cost, too, by their lack. Default 0. */
  readonly minimum?: number;
  /** How the cost grows with x, the excess as a share of the maximum: x, x² or log(1 + x). */
  readonly growth?: "linear" | "quadratic" | "log";
}

/** For each turn, what its reply is too long or too short by. */
export function lengthPenalty(weight = 1, options: LengthPenaltyOptions = {}): RewardComponent {
  const { maximum = 500, minimum = 0, growth = "linear" } = options;
  if (!(maximum > 0 && minimum >= 0 && minimum <= maximum))
    throw new RangeError(
      `length_penalty: expected 0 ≤ minimum ≤ maximum and maximum > 0, got ${minimum} and ${maximum}`,
    );
  const grown = { linear: (x: number) => x, quadratic: (x: number) => x * x, log: Math.log1p };
  const cost = grown[growth];
  if (!cost)
    throw new RangeError(
      `length_penalty: there is no growth "${growth}"; there are linear, quadratic, log`,
    );
  return rewardFunction("length_penalty", weight, ({ trajectory }) =>
    trajectory.turns.map(({ reply: { ids } }) => {
      if (ids.length > maximum) return -cost((ids.length - maximum) / maximum);
      if (ids.length < minimum) return -(minimum - ids.length) / minimum;
      return 0;
    }),
  );
}

/** The share of replies that had the form asked for. */
export function format(weight = 1): RewardComponent {
  return rewardFunction("format", weight, ({ trajectory: { turns } }) =>
    share(turns, isWellFormed),
  );
}

/** −1 for each turn whose action is invalid by the rule. */
export function invalidActions(weight = 0.1, rule: ValidityRule = "both"): RewardComponent {
  return rewardFunction("invalid_actions", weight, ({ trajectory }) =>
    trajectory.turns.map((turn) => (isValidTurn(turn, rule) ? 0 : -1)),
  );
}

/** −1 for each turn that does in a state what was done in that state before. */
export function repetition(weight = 0.1): RewardComponent {
  return rewardFunction("repetition", weight, ({ trajectory }) => {
    const done = new Set<string>();
    return trajectory.turns.map(({ anchor, action, reply }) => {
      const repeated = JSON.stringify([anchor, action ?? reply.text]);
      if (done.has(repeated)) return -1;
      done.add(repeated);
      return 0;
    });
  });
}

/**
 * For each turn, 1 / (episodes of the group that saw the state) when the episode sees it for the first
 * time: 1 for a state that nobody else of the group saw.
 */
export function exploration(weight = 0.1): RewardComponent {
  return rewardFunction("exploration", weight, ({ trajectory, group }) => {
    const visitors = new Map<string, number>();
    for (const { turns } of group)
      for (const anchor of new Set(turns.map((turn) => turn.anchor)))
        visitors.set(anchor, (visitors.get(anchor) ?? 0) + 1);
    const seen = new Set<string>();
    return trajectory.turns.map(({ anchor }) => {
      if (seen.has(anchor)) return 0;
      seen.add(anchor);
      return 1 / (visitors.get(anchor) ?? 1);
    });
  });
}

/**
 * How much of the actions stands in the plans of the same replies: the mean, over the turns that state a
 * plan, of the share of the action's words that the plan has, too. 0 without any plan.
 */
export function consistency(weight = 0.1): RewardComponent {
  return rewardFunction("consistency", weight, ({ trajectory }) => {
    const planned = trajectory.turns.filter((turn) => planOf(turn) !== undefined && turn.action);
    if (planned.length === 0) return 0;
    const agreement = planned.map((turn) => {
      const plan = new Set(wordsOf(planOf(turn)!));
      const words = wordsOf(turn.action!);
      return words.length === 0 ? 1 : share(words, (word) => plan.has(word));
    });
    return agreement.reduce((sum, value) => sum + value, 0) / agreement.length;
  });
}

/** −(log p − log p_reference) per sampled token, on average: how far the policy has gone. */
export function klPenalty(weight = 0.01): RewardComponent {
  return {
    name: "kl",
    weight,
    needsKl: true,
    compute({ trajectory, kl }) {
      if (kl === undefined)
        throw new Error("there is no KL to the reference policy for this episode");
      const tokens = trajectory.turns.reduce((sum, { reply }) => sum + reply.ids.length, 0);
      return tokens === 0 ? 0 : -kl / tokens;
    },
  };
}

/** The field in which the formats state what is to be done. */
function planOf({ parts }: Turn): string | undefined {
  return parts.plan ?? parts.think ?? parts.Thought;
}

function share<Item>(items: readonly Item[], holds: (item: Item) => boolean): number {
  return items.length === 0 ? 0 : items.filter(holds).length / items.length;
}
