/**
 * @file What things are called, and how lists of them read.
 */

/**
 * Sorts as Python does, by code point. JavaScript compares UTF-16 units, which is the same where no
 * character takes two of them; games with such characters are refused when they are read.
 */
export function byCodePoint(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A copy with memory of its own. A piece of a text keeps the whole text alive, and a game would keep
 * its whole file.
 */
export function detached(text: string): string {
  return ` ${text}`.slice(1);
}

/**
 * The names of all ids that the facts mention: class and number, "locker 3". Numbers count down in
 * the order of the ids, so that lists, which are in that order, show the highest number first.
 */
export function displayNames(ids: Iterable<string>): Map<string, string> {
  const classes = new Map<string, string[]>();
  for (const id of [...new Set(ids)].sort(byCodePoint)) {
    const name = className(id);
    const members = classes.get(name);
    if (members) members.push(id);
    else classes.set(name, [id]);
  }
  const names = new Map<string, string>();
  for (const [name, members] of classes)
    for (const [i, id] of members.entries()) names.set(id, `${name} ${members.length - i}`);
  return names;
}

/** "sink_bar_…_bar_sinkbasin" is a sinkbasin, "locker_bar_…" a locker. */
function className(id: string): string {
  const end = id.indexOf("_bar_");
  const name = end < 0 ? id : id.slice(0, end);
  return id.includes("basin") ? `${name}basin` : name;
}

/** "nothing", "x", "x, and y", "x, y, and z". */
export function listed(items: readonly string[]): string {
  if (items.length === 0) return "nothing";
  if (items.length === 1) return items[0]!;
  return `${items.slice(0, -1).join(", ")}, and ${items.at(-1)}`;
}
