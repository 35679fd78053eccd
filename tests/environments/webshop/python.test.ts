/**
 * @file Texts and random numbers as Python has them.
 */
import { describe, expect, it } from "vitest";
import { floatText, reprText, strip } from "../../../src/environments/python-text.ts";
import { pythonRandom } from "../../../src/environments/webshop/python-random.ts";

describe("as Python writes and draws", () => {
  it("numbers and texts", () => {
    expect([27, 0.1, 1e16, 1e-5, 123456.789, 0].map(floatText)).toEqual([
      ...["27.0", "0.1", "1e+16", "1e-05", "123456.789", "0.0"], //
    ]);
    expect(reprText("it's")).toBe(`"it's"`);
    expect(reprText(`it's "x"`)).toBe(`'it\\'s "x"'`);
    expect(reprText("a\u00a0b\n\\\u200b\u{1f600}\u00e9")).toBe(
      "'a\\xa0b\\n\\\\\\u200b\u{1f600}\u00e9'",
    );
    expect(strip("\u001f\u00a0 x y \u3000\u0085")).toBe("x y");
    expect(strip(" ".repeat(300_000))).toBe("");
  });

  it("random numbers: values of CPython 3.11 with seed 233", () => {
    const random = pythonRandom(233);
    expect([random.unit(), random.unit()]).toEqual([0.6824769139473528, 0.6283202109809801]);
    const order = Array.from({ length: 20 }, (_, i) => i);
    pythonRandom(233).shuffle(order);
    expect(order).toEqual([17, 18, 9, 2, 8, 19, 11, 10, 12, 0, 3, 4, 14, 13, 1, 6, 15, 7, 16, 5]);
    expect(pythonRandom(2 ** 40 + 5).unit()).toBe(0.5043802970418443);
  });
});
