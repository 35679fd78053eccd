/**
 * @file Text inside of HTML and SVG.
 */

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** What XML has no way to write, not even escaped; halves of a pair of surrogates among it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\p{Cs}\ufffe\uffff]/gu;

/** For the text and the attributes of HTML and SVG. */
export function escapeMarkup(text: string): string {
  return text.replace(FORBIDDEN, "\ufffd").replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
