/**
 * @file What Python's str() makes of a value: templates that write a tool with `tool | string` (SmolLM3's) were
 * trained on {'name': 'look'}, not on JSON.
 */
import type { Value } from "./jinja.ts";

/** The most characters that one of a text can become: \\U0001f600. */
export const LONGEST_ESCAPE = 10;

/** The text of a list, a dictionary, a number, …; undefined for what no template would write. */
export function pythonText({ type, value }: Value): string | undefined {
  switch (type) {
    case "StringValue":
      return quoted(value as string);
    case "NullValue":
      return "None";
    case "BooleanValue":
      return value ? "True" : "False";
    case "IntegerValue":
      return String(value);
    case "FloatValue":
      return floatText(value as number);
    case "ArrayValue":
    case "TupleValue":
      return joined("[", value as Value[], "]", pythonText);
    case "ObjectValue":
      return joined("{", [...(value as Map<string, Value>)], "}", ([key, item]) => {
        const text = pythonText(item);
        return text === undefined ? undefined : `${quoted(key)}: ${text}`;
      });
    default:
      return undefined;
  }
}

function joined<Item>(
  open: string,
  items: readonly Item[],
  close: string,
  textOf: (item: Item) => string | undefined,
): string | undefined {
  const texts = items.map(textOf);
  return texts.includes(undefined) ? undefined : `${open}${texts.join(", ")}${close}`;
}

const NAMED: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/**
 * In single quotes unless there are such in it, and no double ones. What cannot be printed is escaped; but for
 * the marks of control-tokens.ts, behind which there is text.
 */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === "'") return quote === "'" ? "\\'" : "'";
    if (/[ \uE000\uE001]/.test(character)) return character;
    return NAMED[character] ?? escaped(character.codePointAt(0)!);
  });
  return quote + inside + quote;
}

function escaped(code: number): string {
  const digits = (letter: string, count: number): string =>
    `\\${letter}${code.toString(16).padStart(count, "0")}`;
  if (code < 0x100) return digits("x", 2);
  return code < 0x10000 ? digits("u", 4) : digits("U", 8);
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [digits, exponent] = value.toExponential().split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 16) return Number.isInteger(value) ? `${value}.0` : String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
