/**
 * @file Words of a text, as Lucene's standard tokenizer cuts them: the word boundaries of Unicode's
 * annex 29, of which only pieces with a letter or a digit are kept.
 *
 * Characters other than ASCII are looked up once and remembered, so that the loop sees only a table.
 */

/** What a character is to the rules of word boundaries. */
const OTHER = 0;
const LETTER = 1;
const DIGIT = 2;
/** A word by itself: ideographs, and the scripts that are written without spaces. */
const SINGLE = 3;
const KATAKANA = 4;
/** The underscore and its like, which join words. */
const JOINER = 5;
/** Accents and invisible marks: they belong to what is before them. */
const MARK = 6;
/** Between letters only (a colon), between digits only (a comma), between either (a dot). */
const MIDDLE_OF_LETTERS = 7;
const MIDDLE_OF_DIGITS = 8;
const MIDDLE_OF_BOTH = 9;

/** Lucene cuts longer words into pieces of this many characters. */
const LONGEST = 255;

const PATTERNS: readonly (readonly [number, RegExp])[] = [
  [MIDDLE_OF_LETTERS, /[:\u00b7\u0387\u05f4\u2027\ufe13\ufe55\uff1a]/],
  [
    MIDDLE_OF_DIGITS,
    /[,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]/,
  ],
  [MIDDLE_OF_BOTH, /['.\u2018\u2019\u2024\ufe52\uff07\uff0e]/],
  [JOINER, /[_\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f]/],
  [KATAKANA, /\p{Script=Katakana}|[\u30fc\uff70]/u],
  [
    SINGLE,
    /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar}/u,
  ],
  [MARK, /\p{M}|\p{Cf}/u],
  [DIGIT, /\p{Nd}/u],
  [LETTER, /\p{L}|\p{Nl}/u],
];

function classOf(character: string): number {
  return PATTERNS.find(([, pattern]) => pattern.test(character))?.[0] ?? OTHER;
}

/** By code point; 255 is not known yet. */
const classes = new Uint8Array(0x110000).fill(255);
for (let code = 0; code < 128; code++) classes[code] = classOf(String.fromCharCode(code));

function classAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  const known = classes[code]!;
  if (known !== 255 && (code < 0xd800 || code > 0xdfff)) return known;
  const point = text.codePointAt(at)!;
  let found = classes[point]!;
  if (found === 255) {
    found = classOf(String.fromCodePoint(point));
    classes[point] = found;
  }
  return found;
}

/** Calls `each` with every word of the text, in order, where it begins and where it ends. */
export function eachWord(text: string, each: (start: number, end: number) => void): void {
  const { length } = text;
  let at = 0;
  while (at < length) {
    const kind = classAt(text, at);
    const width = widthAt(text, at);
    if (kind === SINGLE) {
      each(at, afterMarks(text, at + width));
      at = afterMarks(text, at + width);
    } else if (kind === LETTER || kind === DIGIT || kind === KATAKANA || kind === JOINER) {
      const [end, isWord] = wordFrom(text, at);
      if (isWord) for (let i = at; i < end; i += LONGEST) each(i, Math.min(end, i + LONGEST));
      at = end;
    } else at += width;
  }
}

/** Where the word that begins here ends, and whether it has a letter or digit. */
function wordFrom(text: string, start: number): [number, boolean] {
  const { length } = text;
  let at = start;
  let last = OTHER;
  let isWord = false;
  while (at < length) {
    const kind = classAt(text, at);
    if (kind === MARK && at > start) {
      at += widthAt(text, at);
      continue;
    }
    if (!joins(last, kind)) {
      // A mark in the middle holds only if what follows it is of the same kind.
      const after = afterMarks(text, at + widthAt(text, at));
      if (at === start || after >= length || !bridges(last, kind, classAt(text, after))) break;
      at = after;
      continue;
    }
    isWord ||= kind !== JOINER;
    last = kind;
    at += widthAt(text, at);
  }
  return [at, isWord];
}

function joins(before: number, kind: number): boolean {
  switch (kind) {
    case LETTER:
    case DIGIT:
      return before !== KATAKANA;
    case KATAKANA:
      return before === OTHER || before === KATAKANA || before === JOINER;
    case JOINER:
      return true;
    default:
      return false;
  }
}

function bridges(before: number, middle: number, after: number): boolean {
  if (before !== after) return false;
  if (before === LETTER) return middle === MIDDLE_OF_LETTERS || middle === MIDDLE_OF_BOTH;
  return before === DIGIT && (middle === MIDDLE_OF_DIGITS || middle === MIDDLE_OF_BOTH);
}

function afterMarks(text: string, start: number): number {
  let at = start;
  while (at < text.length && classAt(text, at) === MARK) at += widthAt(text, at);
  return at;
}

/** 2 for a character outside of the basic plane. */
function widthAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff && text.codePointAt(at)! > 0xffff ? 2 : 1;
}
