/**
 * @file Server-sent events: the data of each event of a body, as it arrives.
 */
import { ExchangeError } from "./exchange.ts";

/** Where a line ends. */
const END = /\r\n|\n|\r/;

/**
 * Yields the `data` of every event. Pieces of the body may end anywhere, also within a character or
 * between the two halves of a line's end. An event of more than `largest` characters is an
 * ExchangeError. Every character is looked at once, however small the pieces are.
 */
export async function* eventData(
  pieces: AsyncIterable<Uint8Array>,
  largest: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  /** The line that has not ended yet, in parts. */
  let line: string[] = [];
  let data: string[] = [];
  /** Characters of the event so far, its comments and other fields included. */
  let size = 0;
  /** Whether a line feed at the beginning of the next piece belongs to the last line's end. */
  let halfEnded = false;

  function* take(text: string): Generator<string> {
    if (text === "") {
      if (data.length > 0) yield data.join("\n");
      data = [];
      size = 0;
    } else if (text.startsWith("data:")) {
      data.push(text.slice(text[5] === " " ? 6 : 5));
    }
    // Comments (":") keep connections alive; other fields say nothing that we need.
  }

  function* read(text: string): Generator<string> {
    if (text === "") return;
    const lines = (halfEnded && text.startsWith("\n") ? text.slice(1) : text).split(END);
    halfEnded = text.endsWith("\r");
    for (const [i, part] of lines.entries()) {
      line.push(part);
      size += part.length;
      if (size > largest)
        throw new ExchangeError(
          "large",
          true,
          `an event of the stream has more than ${largest} characters`,
        );
      if (i === lines.length - 1) continue;
      const whole = line.join("");
      line = [];
      yield* take(whole);
    }
  }

  for await (const piece of pieces) yield* read(decoder.decode(piece, { stream: true }));
  yield* read(decoder.decode());
  yield* take(line.join(""));
  yield* take("");
}
