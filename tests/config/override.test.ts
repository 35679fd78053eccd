/**
 * @file Values of `a.b=c`, as Hydra reads them.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOverride, parseOverrides, parseValue } from "../../src/config/index.ts";

describe("a value", () => {
  it.each([
    ["True", true],
    ["false", false],
    ["None", null],
    ["null", null],
    ["3", 3],
    ["-3", -3],
    ["1e-6", 1e-6],
    ["1_000", 1000],
    [".5", 0.5],
    ["2.", 2],
    ["text", "text"],
    ["a=b", "a=b"],
    ["'True'", "True"],
    ['"1"', "1"],
    ["", ""],
    ["[]", []],
    ["[1, two, 'three, four']", [1, "two", "three, four"]],
    ["[[1],[2]]", [[1], [2]]],
    ["['console','wandb']", ["console", "wandb"]],
    ["1.2.3", "1.2.3"],
    ["models/qwen-2.5", "models/qwen-2.5"],
  ])("%s", (text, value) => {
    expect(parseValue(text)).toEqual(value);
  });

  it("never crashes in another way than by its own error", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseValue(text);
        } catch (error) {
          expect((error as Error).name).toBe("ConfigError");
        }
      }),
    );
  });
});

describe("overrides", () => {
  it("become a tree, the later ones winning", () => {
    expect(parseOverrides(["a.b=1", "+a.c=x", "++d=[1]", "a.b=2"])).toEqual({
      a: { b: 2, c: "x" },
      d: [1],
    });
  });

  it("are told from other words", () => {
    expect(["a.b=1", "+a=2", "env_name="].every(isOverride)).toBe(true);
    expect(["--a=1", "a", "=1", "1a=2", "./x=1"].some(isOverride)).toBe(false);
  });

  it("cannot reach prototypes", () => {
    expect(() => parseOverrides(["__proto__.x=1"])).toThrow();
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});
