/**
 * @file A reply read while it is written: text that is certain is given at once, calls of functions when they are
 * complete. Whoever reads piece by piece and whoever reads the whole get the same.
 */
import { readCalls, type ToolStyle, type WrittenCall } from "./style.ts";

export interface ReplyPiece {
  readonly text: string;
  readonly calls: readonly WrittenCall[];
}

export interface ReplyReader {
  push(text: string): ReplyPiece;
  /** The end of the reply: what was held back. */
  finish(): ReplyPiece;
}

/** Without tools everything is text. */
export function replyReader(style: ToolStyle | undefined): ReplyReader {
  if (!style)
    return {
      push: (text) => ({ text, calls: [] }),
      finish: () => ({ text: "", calls: [] }),
    };
  const { opening, closing, bare } = style;
  let held = "";
  let inside = false;
  let begun = false;
  let hasCalls = false;

  /** Text that is no call. White space before and after calls belongs to them. */
  const given = (text: string): string => {
    if (hasCalls && text.trim() === "") return "";
    return text;
  };

  function step(isEnd: boolean): ReplyPiece {
    let text = "";
    const calls: WrittenCall[] = [];
    for (;;) {
      if (!begun && !inside && bare) {
        const first = held.trimStart();
        if (first === "") break;
        // A reply that begins like an object may be a call: it is one, or none, when it is complete.
        if (first.startsWith("{") || first.startsWith("[") || first.startsWith("`")) {
          if (!isEnd) return { text, calls };
          const read = readCalls(first);
          if (read) {
            hasCalls = true;
            held = "";
            return { text, calls: read };
          }
        }
        begun = true;
      }
      if (inside) {
        const end = closing === "" ? (isEnd ? held.length : -1) : held.indexOf(closing);
        // A reply that was cut off, or forgot the mark, may hold a whole call all the same.
        const stop = end < 0 && isEnd ? held.length : end;
        if (stop < 0) break;
        const body = held.slice(0, stop);
        const read = readCalls(body);
        const rest = end < 0 ? "" : held.slice(stop + closing.length);
        if (read) {
          hasCalls = true;
          calls.push(...read);
        } else text += opening + body + (end < 0 ? "" : closing);
        held = rest;
        inside = false;
        if (stop === 0 && rest === "" && isEnd) break;
        continue;
      }
      const start = held.indexOf(opening);
      if (start >= 0) {
        const before = held.slice(0, start);
        text += given(before.trimEnd() === "" ? "" : before.trimEnd());
        begun = true;
        held = held.slice(start + opening.length);
        inside = true;
        continue;
      }
      const keep = isEnd ? 0 : heldBack(held, opening);
      text += given(held.slice(0, held.length - keep));
      if (held.length > keep && held.trim() !== "") begun = true;
      held = held.slice(held.length - keep);
      break;
    }
    return { text, calls };
  }

  return {
    push(text) {
      held += text;
      return step(false);
    },
    finish: () => step(true),
  };
}

/** How much of a text's end may still become the mark, with the white space before it. */
function heldBack(text: string, mark: string): number {
  let keep = 0;
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (text.endsWith(mark.slice(0, length))) {
      keep = length;
      break;
    }
  const before = text.slice(0, text.length - keep);
  return keep + before.length - before.trimEnd().length;
}

/** The whole of a reply at once. */
export function readReply(style: ToolStyle | undefined, text: string): ReplyPiece {
  const reader = replyReader(style);
  const pieces = [reader.push(text), reader.finish()];
  return {
    text: pieces.map((piece) => piece.text).join(""),
    calls: pieces.flatMap(({ calls }) => calls),
  };
}
