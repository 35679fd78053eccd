/**
 * @file `a.b=c` on a command line, as Hydra reads it: True, False, None, 1e-6, [a, b], 'text', text.
 */

/** What is wrong with a configuration, for the person who wrote it. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

export type Plain = null | boolean | number | string | readonly Plain[] | Tree;

/** Settings by their names, and sections of them. */
export type Tree = { [key: string]: Plain };

export function isTree(value: Plain | undefined): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The words that are overrides: `key=value`, also with Hydra's "+" or "++" before the key. */
export function isOverride(word: string): boolean {
  return /^\+{0,2}[A-Za-z_][\w.]*=/.test(word);
}

/** Overrides as one tree; a later one wins. */
export function parseOverrides(words: readonly string[]): Tree {
  const tree: Tree = {};
  for (const word of words) {
    const [, key, text] = /^\+{0,2}([A-Za-z_][\w.]*)=(.*)$/s.exec(word) ?? [];
    if (key === undefined || text === undefined)
      throw new ConfigError(
        `"${word}" is no setting; expected name=value, as in trainer.total_epochs=150`,
      );
    put(tree, key.split("."), parseValue(text, word), word);
  }
  return tree;
}

function put(tree: Tree, path: readonly string[], value: Plain, word: string) {
  const [first, ...rest] = path;
  if (first === undefined || first === "" || first === "__proto__")
    throw new ConfigError(`"${word}": the name has an empty part`);
  if (rest.length === 0) {
    tree[first] = value;
    return;
  }
  const before = tree[first];
  const inner = isTree(before) ? before : {};
  tree[first] = inner;
  put(inner, rest, value, word);
}

/** One value. What is nothing else is a text. */
export function parseValue(text: string, word = text): Plain {
  const trimmed = text.trim();
  if (/^(true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  if (/^(null|none|~)$/i.test(trimmed)) return null;
  if (/^[-+]?(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed))
    return Number(trimmed.replaceAll("_", ""));
  if (/^(['"]).*\1$/s.test(trimmed) && trimmed.length >= 2) return trimmed.slice(1, -1);
  if (trimmed.startsWith("[")) return parseList(trimmed, word);
  return text;
}

function parseList(text: string, word: string): Plain {
  if (!text.endsWith("]"))
    throw new ConfigError(`"${word}": the list has no end; expected [a, b, c]`);
  const inner = text.slice(1, -1);
  return splitItems(inner, word).map((item) => parseValue(item, word));
}

/** Items between commas that are in no quotes and no inner list. */
function splitItems(text: string, word: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let quote = "";
  let item = "";
  for (const letter of text) {
    if (quote !== "") quote = letter === quote ? "" : quote;
    else if (letter === "'" || letter === '"') quote = letter;
    else if (letter === "[") depth++;
    else if (letter === "]") depth--;
    if (letter === "," && depth === 0 && quote === "") {
      items.push(item.trim());
      item = "";
    } else item += letter;
  }
  if (quote !== "" || depth !== 0)
    throw new ConfigError(`"${word}": quotes or brackets in the list do not match`);
  if (item.trim() !== "") items.push(item.trim());
  return items;
}
