/**
 * @file The calculator: values, exactness, errors, limits.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calculate } from "../../../src/environments/tools/calculator/expression.ts";
import { CalculationError } from "../../../src/environments/tools/calculator/work.ts";

describe("the calculator", () => {
  it.each([
    ["1 + 2 * 3", "7"],
    ["(1 + 2) * 3", "9"],
    ["0.1 + 0.2", "0.3"],
    ["1 / 3", "0.333333333333333"],
    ["1/3 + 2/3", "1"],
    ["-2 ^ 2", "-4"],
    ["2 ^ 3 ^ 2", "512"],
    ["2 ** -2", "0.25"],
    ["2 - - 3", "5"],
    ["7 % 3", "1"],
    ["-7 % 3", "2"],
    ["15% * 80", "12"],
    ["200 + 10%", "200.1"],
    ["5!", "120"],
    ["2 × 3 ÷ 4 − 1", "0.5"],
    ["1_000_000 * 1_000_000", "1000000000000"],
    [".5 + 5.", "5.5"],
    ["1.5e3", "1500"],
    ["sqrt(2.25)", "1.5"],
    ["sqrt(2)", "1.4142135623731"],
    ["round(2.5) + round(-2.5)", "0"],
    ["round(1234.5678, 2)", "1234.57"],
    ["round(1234, -2)", "1200"],
    ["floor(-1.5) + ceil(-1.5)", "-3"],
    ["max(1, 5/2, 2) - min(3, 4)", "-0.5"],
    ["mean(1, 2, 4) * 3", "7"],
    ["gcd(12, 18) + lcm(4, 6)", "18"],
    ["comb(52, 5)", "2598960"],
    ["perm(5, 2)", "20"],
    ["log(1000)", "3"],
    ["log(8, 2)", "3"],
    ["PI", "3.14159265358979"],
    ["12345678901234567890 * 98765432109876543210", "1219326311370217952237463801111263526900"],
    ["factorial(25) / factorial(24)", "25"],
    ["7^300 / 3^700", "3.50375475787866e-81"],
    ["1 / (1 / 10^400) / 10^400", "1"],
    ["abs(-1 / 10^400) * 10^400", "1"],
    ["sqrt(1 / 4 ^ 900) * 2 ^ 900", "1"],
    ["1500! / 1499!", "1500"],
    ["comb(1500, 1499)", "1500"],
  ])("%s is %s", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  it.each([
    ["", /expected a number, found the end/],
    ["1 +", /expected a number, found the end/],
    ["(1", /expected "\)"/],
    ["1 2", /expected an operator, found "2"/],
    ["1,000", /write 1000, not "1,000"/],
    ["1 / 0", /division by zero/],
    ["0 ^ -1", /division by zero/],
    ["sqr(4)", /did you mean sqrt\?/],
    ["constructor(1)", /there is no "constructor"/],
    ["__proto__", /cannot read/],
    ["process.exit()", /cannot read "\.exit\(\)"/],
    ["round()", /takes 1 to 2 arguments, got 0/],
    ["sqrt(-1)", /root of a negative/],
    ["9 ^ 9 ^ 9", /too large/],
    ["1e999999", /too large/],
    ["2 ^ 0.5 ^ -99999", /too large|no such number/],
    ["99999!", /factorials go up to/],
    ["(-1)!", /factorial of a negative/],
    ["1.5!", /needs whole numbers/],
    ["(".repeat(2000), /nested too deeply/],
    ["2^".repeat(1500), /nested too deeply/],
    ["1+".repeat(3000), /longer than/],
    ["1 + 💥", /cannot read/],
    ["7^600 / 3 ^ 10", /too large/],
    ["7^6900 / 3^12500", /too much work/],
    [`7^6900 / 3^12500${"-1".repeat(130)}`, /too much work/],
  ])("%s is an error that says why", (expression, message) => {
    expect(() => calculate(expression)).toThrow(message);
    expect(() => calculate(expression)).toThrow(CalculationError);
  });

  it("agrees with JavaScript on whole numbers, and is exact where that is not", () => {
    const number = fc.integer({ min: -1e6, max: 1e6 });
    fc.assert(
      fc.property(number, number, number, (a, b, c) => {
        expect(calculate(`(${a}) * (${b}) + (${c})`)).toBe(
          String(BigInt(a) * BigInt(b) + BigInt(c)),
        );
        if (b !== 0) expect(calculate(`(${a}) / (${b}) * (${b})`)).toBe(String(a));
      }),
    );
  });

  it("answers anything at once, or says what is wrong", () => {
    const piece = fc.constantFrom(
      ...[
        "1",
        "2.5",
        "+",
        "-",
        "*",
        "/",
        "%",
        "^",
        "!",
        "(",
        ")",
        ",",
        "sqrt",
        "max",
        "pi",
        "1e9",
        " ",
      ],
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 30 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary", maxLength: 50 }),
    );
    fc.assert(
      fc.property(text, (expression) => {
        const start = performance.now();
        try {
          expect(typeof calculate(expression)).toBe("string");
        } catch (error) {
          expect(error).toBeInstanceOf(CalculationError);
        }
        expect(performance.now() - start).toBeLessThan(1000);
      }),
      { numRuns: 2000 },
    );
  });
});
