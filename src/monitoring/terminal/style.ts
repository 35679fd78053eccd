/**
 * @file Styled text of a known width: pieces, joined and cut to fit a terminal's line.
 */

/** SGR codes: how terminals write colours. */
const CODES = {
  bold: "1",
  dim: "2",
  green: "32",
  yellow: "33",
  blue: "34",
  magenta: "35",
  cyan: "36",
  red: "31",
} as const;

export type Style = keyof typeof CODES;

export interface Piece {
  readonly text: string;
  readonly style?: Style;
}

/** What takes two columns: East Asian scripts and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
/** What takes none, or would move the cursor. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Mn}]/gu;

/** Without what would break a line of a terminal. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").replace(INVISIBLE, "").trim();
}

/** In columns. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : 1;
  return width;
}

export function lineWidth(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** As the terminal takes it, at most `width` columns; what is cut off is marked by an ellipsis. */
export function renderLine(pieces: readonly Piece[], width: number, color: boolean): string {
  const fits = lineWidth(pieces) <= width;
  let room = fits ? width : width - 1;
  let line = "";
  for (const { text, style } of pieces) {
    const kept = cut(text, room);
    room -= widthOf(kept);
    line += color && style && kept ? `\x1b[${CODES[style]}m${kept}\x1b[0m` : kept;
    if (kept !== text) break;
  }
  return fits || width < 1 ? line : `${line}…`;
}

function cut(text: string, width: number): string {
  let kept = "";
  let room = width;
  for (const character of text) {
    room -= widthOf(character);
    if (room < 0) break;
    kept += character;
  }
  return kept;
}
