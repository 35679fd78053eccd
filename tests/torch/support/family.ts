/**
 * @file Tables of cases for a family of tensor methods, with the check that none was forgotten.
 */
import { describe, expect, it } from "vitest";
import { type Tensor, tidy } from "../../../src/torch/index.ts";
import { type Expectation, expectTensor, type Plain } from "./values.ts";

export interface Case extends Expectation {
  /** The method or function under test; several cases may share it. */
  of: string;
  /** What is special about this case. */
  that?: string;
  got: () => Tensor;
  want: Plain;
}

/** One test per case, and one that says every name has a case. */
export function testFamily(title: string, names: readonly string[], cases: readonly Case[]): void {
  describe(title, () => {
    it.each(
      cases.map((each) => ({ ...each, title: each.that ? `${each.of}: ${each.that}` : each.of })),
    )("$title", ({ got, want, ...options }) => {
      tidy(() => expectTensor(got(), want, options));
    });
    it("every one has a case", () => {
      const tested = new Set(cases.map((each) => each.of));
      expect(names.filter((name) => !tested.has(name))).toEqual([]);
      expect([...tested].filter((name) => !names.includes(name))).toEqual([]);
    });
  });
}

/** The methods that a class of the chain adds itself. */
export function methodsOf(link: { prototype: object }): string[] {
  return Object.getOwnPropertyNames(link.prototype).filter((name) => name !== "constructor");
}
