/**
 * @file Texts of others on a terminal. A world, a model or a server may say anything, and a terminal does
 * what some characters say: moves its cursor, writes over what stands there, changes the order of letters.
 * What is shown must be only shown.
 */

/**
 * Control characters (the second set of them, too), what turns the direction of writing, and other ends
 * of lines. Not the ends of lines and the tabs that texts have.
 */
const COMMANDS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\p{Cs}]/gu;

/** The text with its commands spelled out: `\u001b[2J`. In JSON that means the same as before. */
export function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(COMMANDS, (command) => `\\u${command.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visible(text.replace(/[\n\t]/g, " "));
}
