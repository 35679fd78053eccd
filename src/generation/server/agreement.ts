/**
 * @file Whether an answer's text is that of its ids. A server with another tokenizer, or another model's,
 * sends ids that mean something else to us: they must not be trained on.
 *
 * Honest servers differ in small things, which are not compared: white space (some clean it up, and the
 * first token's space may be missing), characters that are not complete yet, whether special and other
 * added tokens are shown, and the end: a stop string, or the token that stopped the answer, is left out.
 */
import type { Tokenizer } from "../../models/index.ts";
import { shown } from "../../network/index.ts";
import { ServerError } from "./errors.ts";

export function requireAgreement(
  text: string,
  ids: readonly number[],
  tokenizer: Tokenizer,
  stopStrings: readonly string[],
): void {
  // A server that was told not to make texts contradicts nothing.
  if (text === "") return;
  const said = compared(text);
  const hidden = Math.max(0, ...stopStrings.map((stop) => stop.length));
  const agrees = READINGS.some((leavesOut) => {
    const read = (part: readonly number[]): string =>
      compared(tokenizer.decode(part.filter((id) => !leavesOut(id, tokenizer))));
    const least = read(ids.slice(0, -1)).length - hidden;
    return said.length >= least && read(ids).startsWith(said);
  });
  if (agrees) return;
  throw new ServerError(
    `the server's answer: its text is ${shown(text, 80)}, but its token ids mean ${shown(tokenizer.decode(ids), 80)} here (is it the same tokenizer?)`,
  );
}

/** Which tokens have no text. */
const READINGS: readonly ((id: number, tokenizer: Tokenizer) => boolean)[] = [
  (id, { specialIds }) => specialIds.has(id),
  () => false,
  (id, { addedIds }) => addedIds.has(id),
];

/** Without what honest servers differ in. */
function compared(text: string): string {
  return text.replace(/[\s\ufffd]+/g, "");
}
