/**
 * @file From the tokens of a reply to what a client is given of it: without special tokens, without the string that
 * ended it, and with its calls of functions apart. Token by token, so that the whole and a stream are the same.
 */
import type { Tokenizer } from "../../models/index.ts";
import { type ReplyPiece, replyReader } from "../tools/reader.ts";
import type { ToolStyle } from "../tools/style.ts";

export interface ReplyText {
  push(id: number): ReplyPiece;
  finish(): ReplyPiece;
}

export function replyText(
  tokenizer: Tokenizer,
  style: ToolStyle | undefined,
  stops: readonly string[],
): ReplyText {
  const stream = tokenizer.stream();
  const reader = replyReader(style);
  const cutter = stopCutter(stops);
  // Llama's mark of a call is a special token.
  const isShown = (id: number): boolean =>
    !tokenizer.specialIds.has(id) ||
    (style !== undefined && tokenizer.idToToken(id) === style.opening);
  return {
    push: (id) => (isShown(id) ? reader.push(cutter.push(stream.push(id))) : NOTHING),
    finish() {
      const first = reader.push(cutter.push(stream.finish()) + cutter.finish());
      const last = reader.finish();
      return { text: first.text + last.text, calls: [...first.calls, ...last.calls] };
    },
  };
}

const NOTHING: ReplyPiece = { text: "", calls: [] };

/** Gives text up to the first of the strings, and holds back what may become one. */
function stopCutter(stops: readonly string[]): { push(text: string): string; finish(): string } {
  const longest = Math.max(0, ...stops.map(({ length }) => length)) - 1;
  let held = "";
  let over = false;
  return {
    push(text) {
      if (over) return "";
      if (longest < 0) return text;
      held += text;
      const places = stops.map((stop) => held.indexOf(stop)).filter((place) => place >= 0);
      const end = places.length > 0 ? Math.min(...places) : held.length - longest;
      over = places.length > 0;
      if (end <= 0) return "";
      const given = held.slice(0, end);
      held = over ? "" : held.slice(end);
      return given;
    },
    finish() {
      const rest = over ? "" : held;
      held = "";
      return rest;
    },
  };
}
