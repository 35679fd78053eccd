/**
 * @file Actions with blanks: `search[<your query>]`. Entry and action may come from somebody who wants us
 * to be busy, so that no pattern is made from them: each character is looked at a fixed number of times.
 */

/** Whether an action is that of a list's entry, each of its blanks filled in with something. */
export function fits(entry: string, action: string): boolean {
  if (!entry.includes("<")) return entry === action;
  // Blanks cannot hold each other, so that looking for the end of one never goes past the next.
  const [first, ...parts] = entry.split(/<[^<>]*>/) as [string, ...string[]];
  const last = parts.pop();
  if (last === undefined) return entry === action;
  if (!action.startsWith(first) || !action.endsWith(last)) return false;
  // Every part where it comes first, a character at least behind the one before: no other place would
  // leave more room for those that follow.
  let at = first.length;
  for (const part of parts) {
    const found = find(part, action, at + 1);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + 1 <= action.length - last.length;
}

/**
 * Where a part comes first in a text, from some place on; -1: nowhere. (Knuth, Morris and Pratt's way:
 * `indexOf` may compare almost all of the part at every place of the text.)
 */
function find(part: string, text: string, from: number): number {
  if (from + part.length > text.length) return -1;
  const restart = restartsOf(part);
  let matched = 0;
  for (let at = from; matched < part.length && at < text.length; at++) {
    while (matched > 0 && part[matched] !== text[at]) matched = restart[matched - 1]!;
    if (part[matched] === text[at]) matched++;
    if (matched === part.length) return at - part.length + 1;
  }
  return part.length === 0 ? from : -1;
}

/** For every beginning of a part: how much of it is left when its next character does not fit. */
function restartsOf(part: string): number[] {
  const restart = [0];
  let matched = 0;
  for (let at = 1; at < part.length; at++) {
    while (matched > 0 && part[matched] !== part[at]) matched = restart[matched - 1]!;
    if (part[matched] === part[at]) matched++;
    restart.push(matched);
  }
  return restart;
}
