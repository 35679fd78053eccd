/**
 * @file The references' numbers, and that the checker of golden files sees what is wrong.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkAlgorithms } from "../../tools/golden/algorithms.ts";
import { isMissing, sharedFile } from "../support/shared.ts";

const GOLDEN = "golden/algorithms.json";

describe.skipIf(isMissing(GOLDEN))("the golden file", () => {
  const read = () =>
    JSON.parse(readFileSync(sharedFile(GOLDEN), "utf8")) as { cases: GoldenLike[] };
  interface GoldenLike {
    name: string;
    in: Record<string, unknown>;
    out: Record<string, unknown>;
  }

  it("agrees case by case", () => {
    const results = checkAlgorithms(read());
    expect(results.length).toBeGreaterThan(0);
    expect(results.filter(({ problems }) => problems.length > 0)).toEqual([]);
  });

  it("fails when one number of a case is off by 1e-4", () => {
    const file = read();
    // These have no number that must agree: the file says that the reference is wrong.
    const wrongInReference = /BUGGY|\+$/;
    const shift = (value: unknown): unknown => {
      if (typeof value === "number") return value * (1 + 1e-4) + 1e-4;
      return Array.isArray(value) ? [shift(value[0]), ...value.slice(1)] : value;
    };
    for (const golden of file.cases)
      for (const [name, value] of Object.entries(golden.out)) {
        if (wrongInReference.test(golden.name) || name === "returns_shipped") continue;
        const altered = { ...golden, out: { ...golden.out, [name]: shift(value) } };
        // A case without inputs has those of the one before it.
        const before = file.cases.slice(0, file.cases.indexOf(golden)).slice(-2);
        const result = checkAlgorithms({ cases: [...before, altered] }).at(-1)!;
        const first = (golden.in.mask as number[][] | undefined)?.[0]?.[0];
        // The first number of a matrix may stand under mask 0, where it does not count.
        if (Array.isArray(value) && Array.isArray(value[0]) && first === 0) continue;
        expect(result.problems.join(), `${golden.name} ${name}`).not.toBe("");
      }
  });
});

describe("the checker", () => {
  it("says that it does not know a name", () => {
    const [result] = checkAlgorithms({ cases: [{ name: "alchemy", in: {}, out: {} }] });
    expect(result!.problems).toEqual(["no checker knows a case of this name"]);
  });

  it("turns a broken input into a failed case", () => {
    const [result] = checkAlgorithms({ cases: [{ name: "grpo", in: { mask: 3 }, out: {} }] });
    expect(result!.problems).toEqual(["input mask: expected a list"]);
  });

  it.each([[[]], [{}], [{ cases: 3 }], [{ cases: [{ name: 1 }] }]])("refuses %j", (file) => {
    expect(() => checkAlgorithms(file)).toThrow(/expected/);
  });
});
