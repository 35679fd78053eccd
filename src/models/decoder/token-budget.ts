/**
 * @file Which sequences share a pass: as many as a number of tokens allows.
 */
import { commonLength, LEAST_SHARED, type Sequence, sortedByTokens } from "./prefix-trees.ts";

/**
 * Splits sequences into batches of at most a number of tokens, counting what neighbours share once: those that
 * begin alike stay together as far as they fit. Returns indices.
 */
export function familiesByTokenBudget(sequences: readonly Sequence[], budget: number): number[][] {
  const families: { members: number[]; tokens: number }[] = [];
  let before: Sequence = [];
  for (const i of sortedByTokens(sequences)) {
    const sequence = sequences[i]!;
    const shared = commonLength(before, sequence);
    const family = shared >= LEAST_SHARED ? families.at(-1) : undefined;
    if (family && family.tokens + sequence.length - shared <= budget) {
      family.members.push(i);
      family.tokens += sequence.length - shared;
    } else {
      families.push({ members: [i], tokens: sequence.length });
    }
    before = sequence;
  }
  families.sort((a, b) => Math.min(...a.members) - Math.min(...b.members));
  const tokens = families.map((family) => family.tokens);
  return byTokenBudget(tokens, budget).map((batch) =>
    batch.flatMap((i) => families[i]!.members).sort((a, b) => a - b),
  );
}

/**
 * Splits work into micro-batches of at most a number of tokens, longest first, so that few large
 * passes are made. A sequence longer than the budget gets a pass of its own. Returns indices.
 */
export function byTokenBudget(lengths: readonly number[], budget: number): number[][] {
  if (!(budget > 0))
    throw new RangeError(`byTokenBudget: expected a budget above 0, got ${budget}`);
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const batches: { members: number[]; tokens: number }[] = [];
  for (const i of order) {
    const batch = batches.find(({ tokens }) => tokens + lengths[i]! <= budget);
    if (batch) {
      batch.members.push(i);
      batch.tokens += lengths[i]!;
    } else {
      batches.push({ members: [i], tokens: lengths[i]! });
    }
  }
  return batches.map(({ members }) => members.sort((a, b) => a - b));
}
