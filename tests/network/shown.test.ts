/**
 * @file What others sent, in our sentences.
 */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { oneLine, shown } from "../../src/network/index.ts";

it("small values are shown as JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value).replace(
        /[\u007f-\u009f]/g,
        (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`,
      );
      expect(shown(value, 100_000)).toBe(json);
      const cut = shown(value, 10);
      expect(cut).toBe(json.length <= 10 ? json : `${json.slice(0, 10)}…`);
    }),
  );
  expect(shown(undefined)).toBe("nothing");
  expect(shown(JSON.parse("1e999"))).toBe("Infinity");
});

it("deep and long ones are cut, without a stack or a copy of them", () => {
  const deep: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  expect(() => JSON.stringify(deep)).toThrow(RangeError);
  expect(shown(deep, 20)).toBe(`${"[".repeat(20)}…`);
  const start = performance.now();
  for (let i = 0; i < 1000; i++) shown("x".repeat(1_000_000));
  expect(performance.now() - start).toBeLessThan(5000);
});

it("texts become one line without characters that a terminal obeys", () => {
  expect(oneLine("  a\r\n\tb\u001b[31mc\u009bd\u2028e ")).toBe("a b [31mc d e");
  expect(oneLine("x".repeat(1000), 5)).toBe("xxxxx…");
  expect(oneLine(`${" ".repeat(10_000)}x`, 5)).toBe("x");
});
