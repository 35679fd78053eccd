/**
 * @file What somebody else sent, as part of a sentence of ours: never long, never deep, and without
 * characters that a terminal would obey.
 */

/** A value of JSON, cut off behind `length` characters. */
export function shown(value: unknown, length = 200): string {
  const writer = { text: "", room: length + 1 };
  write(value, writer);
  return writer.text.length <= length ? writer.text : `${writer.text.slice(0, length)}…`;
}

/** A text on one line, cut off behind `length` characters. */
export function oneLine(text: string, length = 300): string {
  // Of what stands behind it nothing is shown, however long it is.
  const start = text.trimStart().slice(0, 4 * length);
  const plain = start.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
  return plain.length <= length ? plain : `${plain.slice(0, length)}…`;
}

interface Writer {
  text: string;
  /** How many characters may still be written. */
  room: number;
}

/** Every level writes a character before it goes deeper, so the room bounds the depth, too. */
function write(value: unknown, writer: Writer): void {
  if (Array.isArray(value)) {
    writeAll("[]", value.length, (i) => write(value[i], writer), writer);
  } else if (typeof value === "object" && value !== null) {
    const names = firstNames(value, writer.room);
    const entry = (i: number): void => {
      write(names[i], writer);
      put(":", writer);
      write((value as Record<string, unknown>)[names[i]!], writer);
    };
    writeAll("{}", names.length, entry, writer);
  } else if (typeof value === "string") {
    // One character more than there is room for: what is cut off shows no closing quote.
    put(escaped(JSON.stringify(value.slice(0, writer.room + 1))), writer);
  } else {
    put(value === undefined ? "nothing" : String(value), writer);
  }
}

function writeAll(
  brackets: string,
  count: number,
  entry: (index: number) => void,
  writer: Writer,
): void {
  put(brackets[0]!, writer);
  for (let i = 0; i < count && writer.room > 0; i++) {
    if (i > 0) put(",", writer);
    entry(i);
  }
  put(brackets[1]!, writer);
}

function put(text: string, writer: Writer): void {
  const part = text.slice(0, writer.room);
  writer.text += part;
  writer.room -= part.length;
}

/** An object may have millions of names: as many as could be shown. */
function firstNames(value: object, most: number): string[] {
  const names: string[] = [];
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue;
    names.push(name);
    if (names.length >= most) break;
  }
  return names;
}

/** JSON escapes the first 32 control characters and leaves those of the second row. */
function escaped(json: string): string {
  return json.replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
