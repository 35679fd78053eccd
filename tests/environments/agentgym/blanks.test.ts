/**
 * @file Actions with blanks: the same as a pattern would say, in time that no list and no action can blow
 * up; and how much a server may list.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fits } from "../../../src/environments/agentgym/blanks.ts";
import { KINDS } from "../../../src/environments/agentgym/kinds/index.ts";
import { resultOf } from "../../../src/environments/agentgym/result.ts";
import { textsOf } from "../../../src/environments/agentgym/shape.ts";

/** By a pattern: right, and slow beyond all measure for some texts. */
function fitsPattern(entry: string, action: string): boolean {
  if (!entry.includes("<")) return entry === action;
  const parts = entry.split(/<[^<>]*>/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".+")}$`, "s").test(action);
}

describe("an action fits an entry", () => {
  it.each([
    ["look", "look", true],
    ["look", "looks", false],
    ["search[<your query>]", "search[red shoes]", true],
    ["search[<your query>]", "search[]", false],
    ["search[<your query>]", "search[x", false],
    ["get <count> <item>", "get 2 oak logs", true],
    ["get <count> <item>", "get 2 ", false],
    ["<a><b>", "x", false],
    ["<a><b>", "xy", true],
    ["a<x>a", "a\na", true],
    ["a<x>a", "aa", false],
    ["a < b", "a < b", true],
    ["<", "<", true],
  ])("%j, %j: %s", (entry, action, expected) => {
    expect(fits(entry, action)).toBe(expected);
  });

  it("as a pattern would say", () => {
    const letter = fc.constantFrom("a", "b", "<x>", "<", ">", "[", ".");
    const entry = fc.array(letter, { maxLength: 8 }).map((parts) => parts.join(""));
    const action = fc.string({
      unit: fc.constantFrom("a", "b", "<", "x", ">", "[", "."),
      maxLength: 10,
    });
    fc.assert(
      fc.property(entry, action, (one, other) => {
        expect(fits(one, other)).toBe(fitsPattern(one, other));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ["blanks between equal letters", `${"a<x>".repeat(2500)}b<x>c`, "a".repeat(200_000)],
    ["a part that almost fits", `<x>${"a".repeat(9000)}b<x>c`, "a".repeat(200_000)],
    ["signs that open", "<".repeat(200_000), "a".repeat(200_000)],
    ["blanks that do not end", "<a".repeat(100_000), "a".repeat(200_000)],
  ])("or not, at once: %s", (_, entry, action) => {
    const start = performance.now();
    expect(fits(entry, `${action}c`)).toBe(false);
    expect(performance.now() - start).toBeLessThan(2000);
  });

  it("and the longest list that a server may send is compared in a moment", () => {
    const { reward } = KINDS[0]!;
    const admissible = Array.from({ length: 20_000 }, (_, i) => `<x>aaab<y>${i}`);
    const kind = { ...KINDS[0]!, listsAllActions: true as const, reward };
    const outcome = { text: "", value: 0, done: false, info: {} };
    const start = performance.now();
    const said = { beginning: { text: "", admissible, info: {} }, outcomes: [] };
    const action = `${"a".repeat(4000)}19999`;
    expect(resultOf({ kind, winReward: undefined }, said, action, outcome).admissible).toBe(false);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("a list", () => {
  it("has so many texts, and each so many characters", () => {
    expect(() => textsOf(Array(20_001).fill("x"))).toThrow(/at most 20000 texts, got 20001/);
    expect(() => textsOf(["x", "y".repeat(10_001)])).toThrow(/10000 characters, got one of 10001/);
    expect(textsOf(["x"])).toEqual(["x"]);
  });

  it("that is read from a text has, too", () => {
    const textcraft = KINDS.find(({ name }) => name === "textcraft")!;
    const observation = "craft a using b\n".repeat(30_000);
    expect(() => textcraft.readReset({ observation })).toThrow(/at most 20000 texts/);
    const long = "x".repeat(1_000_001);
    expect(() => textcraft.readReset({ observation: long })).toThrow(/at most 1000000 characters/);
  });
});
