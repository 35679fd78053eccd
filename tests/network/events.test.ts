/**
 * @file Server-sent events, however their bytes are cut.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExchangeError, eventData } from "../../src/network/index.ts";

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(text: string, sizes: readonly number[], largest = 10_000): Promise<string[]> {
  const found: string[] = [];
  for await (const data of eventData(cut(Buffer.from(text), sizes), largest)) found.push(data);
  return found;
}

describe("events", () => {
  it("are the data between empty lines", async () => {
    const text =
      ": hello\n\ndata: one\n\nevent: x\ndata: two\ndata:three\nid: 7\n\n\n\ndata:  four";
    expect(await read(text, [1000])).toEqual(["one", "two\nthree", " four"]);
  });

  it("are the same wherever the pieces end, and whatever ends the lines", async () => {
    const line = fc.constantFrom("data: a", "data: é€😀", "data:", ": note", "event: x", "", "");
    const end = fc.constantFrom("\n", "\r\n", "\r");
    const lines = fc.array(fc.tuple(line, end), { maxLength: 30 });
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(lines, sizes, async (written, cuts) => {
        const text = written.map(([content, ending]) => content + ending).join("");
        const plain = written.map(([content]) => `${content}\n`).join("");
        // A lone carriage return before an empty line that a line feed ends are one line's end.
        fc.pre(!/\r\n/.test(text) || written.every(([, ending]) => ending !== "\r"));
        expect(await read(text, cuts)).toEqual(await read(plain, [100_000]));
      }),
    );
  });

  it("of more than the largest size are an error, of one line or of many", async () => {
    for (const text of [`data: ${"x".repeat(200)}`, "data: xx\n".repeat(50), ":".repeat(200)])
      await expect(read(text, [7], 100)).rejects.toThrow(ExchangeError);
    expect(await read("data: x\n\n".repeat(500), [7], 100)).toHaveLength(500);
  });

  it("cost the same for each character, however long a line is", async () => {
    const text = `data: ${"x".repeat(2_000_000)}\n\n`;
    const start = performance.now();
    const found: string[] = [];
    // Pieces of some bytes: looking at the whole line for each of them would take hours.
    for await (const data of eventData(cut(Buffer.from(text), [16]), 3_000_000)) found.push(data);
    expect(found[0]).toHaveLength(2_000_000);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
