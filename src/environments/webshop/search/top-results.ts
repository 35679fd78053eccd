/**
 * @file The best documents so far, while they come.
 */

export interface Hit {
  readonly document: number;
  readonly score: number;
}

/** The best so far. Documents are offered in ascending order, so an equal score never replaces one. */
export function topResults(limit: number): {
  least(): number;
  offer(document: number, score: number): void;
  list(): Hit[];
} {
  /** Best first. */
  const hits: Hit[] = [];
  let least = 0;
  return {
    /** A document must score more than this. */
    least: () => least,
    offer(document, score) {
      if (score <= least) return;
      let low = 0;
      let high = hits.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (hits[middle]!.score >= score) low = middle + 1;
        else high = middle;
      }
      hits.splice(low, 0, { document, score });
      if (hits.length > limit) hits.pop();
      if (hits.length === limit) least = hits[limit - 1]!.score;
    },
    list: () => hits,
  };
}
