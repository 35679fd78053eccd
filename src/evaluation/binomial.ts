/**
 * @file How likely so few successes are: against a known probability, and against other tries.
 */

/** P(X ≤ successes) for n tries that succeed with probability p each. In logarithms: n may be thousands. */
export function binomialAtMost(successes: number, n: number, p: number): number {
  if (successes >= n || p <= 0) return 1;
  if (p >= 1) return 0;
  const odds = Math.log(p) - Math.log1p(-p);
  let term = n * Math.log1p(-p);
  let sum = Math.exp(term);
  for (let k = 1; k <= successes; k++) {
    term += Math.log((n - k + 1) / k) + odds;
    sum += Math.exp(term);
  }
  return Math.min(1, sum);
}

/**
 * Fisher's exact test, one-sided: how likely so few successes, or fewer, are among the tries of the first if both succeed
 * equally often. Without tries nothing is unlikely.
 */
export function fisherAtMost(
  few: { readonly won: number; readonly episodes: number },
  other: { readonly won: number; readonly episodes: number },
): number {
  const all = few.episodes + other.episodes;
  const won = few.won + other.won;
  const table = (k: number) =>
    logChoose(few.episodes, k) + logChoose(other.episodes, won - k) - logChoose(all, won);
  let sum = 0;
  for (let k = Math.max(0, won - other.episodes); k <= Math.min(few.won, few.episodes); k++)
    sum += Math.exp(table(k));
  return Math.min(1, sum);
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

function logFactorial(n: number): number {
  let sum = 0;
  for (let i = 2; i <= n; i++) sum += Math.log(i);
  return sum;
}
