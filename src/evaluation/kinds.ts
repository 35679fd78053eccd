/**
 * @file Kinds of tasks, for rates by kind. Where several worlds are played as one, a kind begins with its world
 * (`alfworld/pick_heat`), and each world as a whole is a kind, too.
 */

/** All kinds among these, in the order of their names. */
export function kindsOf(types: Iterable<string | undefined>): string[] {
  const kinds = new Set<string>();
  for (const type of types) {
    if (type === undefined) continue;
    kinds.add(type);
    const end = type.indexOf("/");
    if (end > 0) kinds.add(type.slice(0, end));
  }
  return [...kinds].sort();
}

export function isOfKind(type: string | undefined, kind: string): boolean {
  return type === kind || type?.startsWith(`${kind}/`) === true;
}
