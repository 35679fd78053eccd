/**
 * @file What differs between two descriptions of the same work, for the sentence that refuses to mix them.
 */

/** So many are told. */
const TOLD = 8;

/** A line each: "  actor.lr: 0.001 there, 0.5 now". */
export function differences(there: unknown, now: unknown): string[] {
  return differing(there, now)
    .slice(0, TOLD)
    .map(({ path, before, after }) => `  ${path}: ${before} there, ${after} now`);
}

export function differing(
  before: unknown,
  after: unknown,
  path: readonly string[] = [],
): { path: string; before: string; after: string }[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isTree = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isTree(before) || !isTree(after))
    return [
      {
        path: path.join("."),
        before: JSON.stringify(before) ?? "unset",
        after: JSON.stringify(after) ?? "unset",
      },
    ];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => differing(before[key], after[key], [...path, key]));
}
