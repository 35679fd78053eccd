/**
 * @file When a number of ours agrees with one of a reference that computed in float32.
 *
 *   |ours − theirs| ≤ 1e-5·max(|theirs|, min(1, largest in the same array))  and never asked to be
 *   below 2e-7
 *
 * That is 1e-5 relative, except near 0: a difference of numbers of size 1 carries their rounding
 * error, some 1e-7 in float32, and is compared on the scale of the array it stands in.
 */

const RELATIVE = 1e-5;
const ROUNDING = 2e-7;

export function largestOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** What is wrong with our values, in at most a few words per place; empty when they agree. */
export function compareNumbers(
  what: string,
  ours: readonly number[],
  theirs: readonly number[],
): string[] {
  if (ours.length !== theirs.length)
    return [`${what}: ${ours.length} values, the reference has ${theirs.length}`];
  const scale = Math.min(1, largestOf(theirs));
  const wrong = theirs.flatMap((expected, i) => {
    const allowed = Math.max(ROUNDING, RELATIVE * Math.max(Math.abs(expected), scale));
    const fits = Object.is(ours[i], expected) || Math.abs(ours[i]! - expected) <= allowed;
    return fits ? [] : [`${what}[${i}]: ${ours[i]}, the reference has ${expected}`];
  });
  const shown = wrong.slice(0, 3);
  return wrong.length > 3 ? [...shown, `${what}: and ${wrong.length - 3} more`] : shown;
}
