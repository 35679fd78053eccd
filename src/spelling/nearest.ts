/**
 * @file "Did you mean …": the known name that is nearest to a mistyped one.
 */

/** The candidate with the fewest edits, if that is few enough to be what was meant. Ignores case. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // Long nonsense has no near name, and measuring it would be slow.
  if (word.length > 100) return undefined;
  let best: string | undefined;
  let fewest = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < fewest) [best, fewest] = [candidate, edits];
  }
  return best;
}

/** Levenshtein's distance: insertions, deletions and substitutions. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substitution = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, substitution));
    }
    row = next;
  }
  return row[to.length]!;
}
