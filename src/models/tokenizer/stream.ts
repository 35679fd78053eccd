/**
 * @file Decoding while tokens arrive: a character whose bytes are not all there yet is held back.
 */

/** Takes ids and gives the text that is certain. */
export interface TextStream {
  push(ids: number | Iterable<number>): string;
  /** The end: what was held back, incomplete characters as U+FFFD. */
  finish(): string;
}

/** For tokens that are bytes. `bytesOf` gives undefined for a token that is to be left out. */
export function byteStream(bytesOf: (id: number) => Uint8Array | undefined): TextStream {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const one = (id: number): string => {
    const bytes = bytesOf(id);
    return bytes === undefined ? "" : decoder.decode(bytes, { stream: true });
  };
  return {
    push: (ids) => (typeof ids === "number" ? one(ids) : Array.from(ids, one).join("")),
    finish: () => decoder.decode(),
  };
}

/**
 * For tokens that are texts, or single bytes where a text has no token (byte fallback). Bytes one after the
 * other are characters together, or if they are not UTF-8, each of them U+FFFD, as in the tokenizers library:
 * so they are held back until a text or the end follows. `pieceOf` gives undefined for what is left out.
 */
export function fallbackStream(pieceOf: (id: number) => string | number | undefined): TextStream {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
  let bytes: number[] = [];
  const flush = (): string => {
    const run = Uint8Array.from(bytes);
    bytes = [];
    try {
      return decoder.decode(run);
    } catch {
      return "\uFFFD".repeat(run.length);
    }
  };
  const one = (id: number): string => {
    const piece = pieceOf(id);
    if (typeof piece === "string") return flush() + piece;
    if (piece !== undefined) bytes.push(piece);
    return "";
  };
  return {
    push: (ids) => (typeof ids === "number" ? one(ids) : Array.from(ids, one).join("")),
    finish: flush,
  };
}

/**
 * For any other tokenizer: decodes all ids again with each push, because what a token means may
 * depend on its neighbours. Replacement characters at the end may still become something.
 */
export function rereadingStream(
  wanted: (id: number) => boolean,
  decode: (ids: number[]) => string,
): TextStream {
  const seen: number[] = [];
  let given = 0;
  const next = (stable: (text: string) => string): string => {
    const text = stable(seen.length === 0 ? "" : decode(seen));
    const fresh = text.slice(given);
    given = Math.max(given, text.length);
    return fresh;
  };
  return {
    push: (ids) => {
      for (const id of typeof ids === "number" ? [ids] : ids) if (wanted(id)) seen.push(id);
      return next((text) => text.replace(/\uFFFD+$/, ""));
    },
    finish: () => next((text) => text),
  };
}
