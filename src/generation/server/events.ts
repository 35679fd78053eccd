/**
 * @file Server-sent events: the data of each event of a response's body, as it arrives.
 */

/**
 * Yields the `data` of every event. Pieces of the body may end anywhere, also within a character or
 * between the two halves of a line's end.
 */
export async function* eventData(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let data: string[] = [];
  let rest = "";
  const take = function* (line: string): Generator<string> {
    if (line === "") {
      if (data.length > 0) yield data.join("\n");
      data = [];
    } else if (line.startsWith("data:")) {
      data.push(line.slice(line[5] === " " ? 6 : 5));
    }
    // Comments (":") keep connections alive; other fields say nothing that we need.
  };
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    // A carriage return at the very end may be half of a line's end: it waits for the next piece.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    for (const line of lines) yield* take(line);
  }
  rest += decoder.decode();
  for (const line of rest.split(/\r\n|\n|\r/)) yield* take(line);
  if (data.length > 0) yield data.join("\n");
}
