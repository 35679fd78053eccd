/**
 * @file From the action that a reply holds to the one that the world reads.
 *
 * Worlds compare exactly; models write "Go to Desk 1." An action that differs from an admissible one
 * only in case, in white space or in a full stop is that admissible one. Nothing else is repaired.
 */

/** Blanks in admissible actions, to be filled in by the agent: `search[<your query>]`. */
const BLANK = /<[^<>]*>/;

/** The admissible action that is meant, or the action as it stands. */
export function chosenAction(action: string, admissible: readonly string[] | undefined): string {
  if (!admissible || admissible.includes(action)) return action;
  const wanted = plain(action);
  return admissible.find((candidate) => plain(candidate) === wanted) ?? action;
}

/**
 * Whether the action is one of the list, or fills in the blank of one. Only for worlds that do not
 * say it themselves in a step's result.
 */
export function isAdmissible(action: string, admissible: readonly string[]): boolean {
  return admissible.some((candidate) => {
    const blank = BLANK.exec(candidate);
    if (!blank) return candidate === action;
    const before = candidate.slice(0, blank.index);
    const after = candidate.slice(blank.index + blank[0].length);
    const filled = action.slice(before.length, action.length - after.length);
    return action.startsWith(before) && action.endsWith(after) && filled.trim() !== "";
  });
}

function plain(action: string): string {
  return action.trim().replace(/\s+/g, " ").replace(/\.$/, "").toLowerCase();
}
