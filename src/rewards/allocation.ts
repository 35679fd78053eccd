/**
 * @file From the reward of an episode, R, to its tokens.
 *
 * Spans are the agent's spans of tokens, in order; n_k is the length of the k-th of K, N their sum.
 *
 *   last_token              R on the last token of the last span
 *   uniform_positive        R > 0: R / N on every token; otherwise as last_token
 *   discounted              from the last span back: c / n_k on each of its tokens, then c ← c·γ^{n_k},
 *                           starting with c = R. As published: it hands out more than R
 *                           (K·R with γ = 1)
 *   discounted_normalized   the same, scaled so that the sum is R
 *   steps                   each turn's own reward on its span's last token, and what belongs to the
 *                           episode as a whole on the last span's
 *
 * Where a row is a turn (context `steps`), every row has to be judged by its episode: last_token and
 * uniform_positive give R to each row, as verl-agent does; the other modes share it out over the
 * episode's rows as above. A span without tokens can carry nothing: the one before it does.
 *
 * Where a program's episode has branches, each is judged alone in every mode: by what belongs to the episode as a
 * whole, and to its own turns.
 */
import type { Batch, Trajectory } from "../rollout/index.ts";
import type { ComposedReward } from "./composer.ts";

export const ALLOCATIONS = [
  "last_token",
  "uniform_positive",
  "discounted",
  "discounted_normalized",
  "steps",
] as const;

export type Allocation = (typeof ALLOCATIONS)[number];

export interface AllocationOptions {
  readonly mode?: Allocation;
  /** Per token, for the discounted modes. Default 1. */
  readonly gamma?: number;
}

interface Span {
  start: number;
  end: number;
  turn: number;
  row: number;
}

/** Rewards per token [tokens] of the batch; `rewards` are its trajectories', in their order. */
export function allocateRewards(
  batch: Batch,
  rewards: readonly ComposedReward[],
  { mode = "last_token", gamma = 1 }: AllocationOptions = {},
): Float64Array {
  if (!ALLOCATIONS.includes(mode))
    throw new RangeError(`there is no allocation "${mode}"; there are ${ALLOCATIONS.join(", ")}`);
  if (!(gamma >= 0 && gamma <= 1))
    throw new RangeError(`allocation: gamma must be from 0 to 1, got ${gamma}`);
  if (rewards.length !== batch.trajectories.length)
    throw new RangeError(
      `allocation: ${rewards.length} rewards for ${batch.trajectories.length} episodes`,
    );
  const tokens = new Float64Array(batch.ids.length);
  const spansOf = groupSpans(batch);
  for (const [i, trajectory] of batch.trajectories.entries()) {
    const spans = spansOf[i]!.filter(({ start, end }) => end > start);
    if (spans.length === 0) continue;
    const reward = rewards[i]!;
    if (isBranched(trajectory)) {
      for (const own of byRow(spans))
        spread(tokens, own, rewardOfBranch(reward, trajectory, own[0]!.turn), mode, gamma);
      continue;
    }
    const judgedAlone = trajectory.context === "steps" && mode !== "steps";
    if (judgedAlone && (mode === "last_token" || mode === "uniform_positive"))
      for (const span of spans) spread(tokens, [span], reward, mode, gamma);
    else spread(tokens, spans, reward, mode, gamma);
  }
  return tokens;
}

function isBranched({ turns }: Trajectory): boolean {
  return turns.some(({ branch }) => branch !== turns[0]!.branch);
}

function byRow(spans: readonly Span[]): Span[][] {
  const rows = new Map<number, Span[]>();
  for (const span of spans) rows.set(span.row, [...(rows.get(span.row) ?? []), span]);
  return [...rows.values()];
}

/** The reward as the branch of a turn sees it: without what belongs to turns of others. */
function rewardOfBranch(
  reward: ComposedReward,
  { turns }: Trajectory,
  turn: number,
): ComposedReward {
  const { branch } = turns[turn]!;
  const own = reward.turns.map((value, i) => (turns[i]!.branch === branch ? value : 0));
  return { ...reward, turns: own, total: reward.episode + own.reduce((a, b) => a + b, 0) };
}

/** Shares a reward out over spans. */
function spread(
  tokens: Float64Array,
  spans: readonly Span[],
  reward: ComposedReward,
  mode: Allocation,
  gamma: number,
): void {
  const last = spans.at(-1)!;
  switch (mode) {
    case "last_token":
      tokens[last.end - 1]! += reward.total;
      return;
    case "uniform_positive": {
      if (!(reward.total > 0)) {
        tokens[last.end - 1]! += reward.total;
        return;
      }
      const count = spans.reduce((sum, { start, end }) => sum + end - start, 0);
      for (const { start, end } of spans)
        for (let token = start; token < end; token++) tokens[token]! += reward.total / count;
      return;
    }
    case "discounted":
    case "discounted_normalized": {
      const shares = discountedShares(spans, gamma);
      const sum = shares.reduce((a, b) => a + b, 0);
      const scale = mode === "discounted" ? reward.total : reward.total / sum;
      for (const [k, { start, end }] of spans.entries())
        for (let token = start; token < end; token++)
          tokens[token]! += (shares[k]! * scale) / (end - start);
      return;
    }
    case "steps":
      for (const [turn, value] of reward.turns.entries()) {
        const carrier = spans.findLast((span) => span.turn <= turn) ?? spans[0]!;
        tokens[carrier.end - 1]! += value;
      }
      tokens[last.end - 1]! += reward.episode;
  }
}

/** What each span gets of a reward of 1. */
function discountedShares(spans: readonly Span[], gamma: number): number[] {
  const shares: number[] = new Array(spans.length);
  let current = 1;
  for (let k = spans.length - 1; k >= 0; k--) {
    const { start, end } = spans[k]!;
    shares[k] = current;
    current *= gamma ** (end - start);
  }
  return shares;
}

/** The spans of each trajectory, in the order of its turns. */
function groupSpans({ spans, trajectories }: Batch): Span[][] {
  const groups: Span[][] = trajectories.map(() => []);
  for (let i = 0; i < spans.row.length; i++)
    groups[spans.trajectory[i]!]!.push({
      start: spans.start[i]!,
      end: spans.end[i]!,
      turn: spans.turn[i]!,
      row: spans.row[i]!,
    });
  for (const group of groups) group.sort((a, b) => a.turn - b.turn);
  return groups;
}

/** [spans] of the batch: the reward of each step, for step returns (GiGPO). */
export function stepRewards(batch: Batch, rewards: readonly ComposedReward[]): Float64Array {
  const { spans, trajectories } = batch;
  return Float64Array.from(spans.row, (_, i) => {
    const trajectory = spans.trajectory[i]!;
    const turn = spans.turn[i]!;
    const { turns, episode } = rewards[trajectory]!;
    const played = trajectories[trajectory]!.turns;
    // The episode's reward comes at the end of each branch; without branches, once.
    const isLast = played[turn + 1]?.branch !== played[turn]!.branch || turn === played.length - 1;
    return turns[turn]! + (isLast ? episode : 0);
  });
}
