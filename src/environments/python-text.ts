/**
 * @file How Python writes things: the original's pages and addresses hold them, and its reward reads
 * them.
 */

/** What Python's str.strip() takes away; not the same as trim(). */
const SPACE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts these as spaces.
  /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export function strip(text: string): string {
  // Most texts have nothing to take away.
  if (text.length === 0) return text;
  return isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(text.length - 1))
    ? text
    : stripSlowly(text);
}

/** ASCII, and no space. */
function isPlain(code: number): boolean {
  return code > 0x20 && code < 0x7f;
}

/** By hand: a pattern for the end would be tried at every space, which is slow on long runs of them. */
function stripSlowly(text: string): string {
  let start = 0;
  let end = text.length;
  while (end > 0 && SPACE.test(text[end - 1]!)) end--;
  while (start < end && SPACE.test(text[start]!)) start++;
  return text.slice(start, end);
}

/** A number as Python prints a float: 27 is 27.0. */
export function floatText(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    const [digits, exponent] = value.toExponential().split("e");
    const sign = exponent!.startsWith("-") ? "-" : "+";
    return `${digits}e${sign}${exponent!.slice(1).padStart(2, "0")}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** A text as Python's repr() writes it: in quotes, with what cannot be printed escaped. */
export function reprText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let written = "";
  for (const character of text) {
    if (character === quote || character === "\\") written += `\\${character}`;
    else if (character === "\n") written += "\\n";
    else if (character === "\r") written += "\\r";
    else if (character === "\t") written += "\\t";
    else if (character !== " " && /[\p{C}\p{Z}]/u.test(character)) written += escaped(character);
    else written += character;
  }
  return quote + written + quote;
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

type Pairs = readonly (readonly [string, string])[];

/** A dictionary of texts as repr() writes it. */
export function reprDictionary(pairs: Pairs): string {
  return `{${pairs.map(([key, value]) => `${reprText(key)}: ${reprText(value)}`).join(", ")}}`;
}

/** A dictionary of texts as json.dumps() writes it: ASCII only, with a space after comma and colon. */
export function jsonDictionary(pairs: Pairs): string {
  return `{${pairs.map(([key, value]) => `${jsonText(key)}: ${jsonText(value)}`).join(", ")}}`;
}

/** The same as Flask puts it into a page: keys sorted, and without characters that mean something there. */
export function pageJsonDictionary(pairs: Pairs): string {
  const sorted = [...pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return jsonDictionary(sorted).replace(/[<>&']/g, (character) => unicodeEscape(character));
}

function jsonText(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => unicodeEscape(unit));
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
