/**
 * @file What an action says: `search[words]` or `click[thing]`.
 */

export interface Action {
  readonly name: string;
  /** In lower case. Undefined where the action has no brackets with something in them. */
  readonly argument: string | undefined;
}

/**
 * By the original's rule: in the first line, what is before the last bracket that can be one, and what
 * is between it and the last closing bracket. Text after that is ignored.
 */
export function parseAction(action: string): Action {
  const lineEnd = action.indexOf("\n");
  const line = lineEnd < 0 ? action : action.slice(0, lineEnd);
  const close = line.lastIndexOf("]");
  const open = close < 3 ? -1 : line.lastIndexOf("[", close - 2);
  if (open < 1) return { name: action, argument: undefined };
  return { name: line.slice(0, open), argument: line.slice(open + 1, close).toLowerCase() };
}
