/**
 * @file Golden cases of the algorithms: `{ source, cases: [{ name, in, out, note }] }`, inputs and
 * outputs of verl's and verl-agent's own functions on padded matrices. Here each is packed into rows,
 * computed by our functions, and compared under the mask (we give 0 elsewhere, which is checked too).
 *
 * Where the references are wrong, the case says so and what is checked instead is ours: see
 * `reinforceCases` and "+" in `lossCases`.
 */
import { advantageCases } from "./algorithms/advantages.ts";
import { asCase, type GoldenCase, isRecord, type Report } from "./algorithms/case.ts";
import { lossCases } from "./algorithms/losses.ts";
import { mismatchCases } from "./algorithms/mismatch.ts";
import { stepCases } from "./algorithms/steps.ts";
import type { CaseResult } from "./main.ts";

/** Each checks the cases it knows, and gives nothing for others. */
const FAMILIES: ((golden: GoldenCase, before: readonly GoldenCase[]) => Report | undefined)[] = [
  advantageCases,
  stepCases,
  lossCases,
  mismatchCases,
];

export function checkAlgorithms(file: unknown): CaseResult[] {
  if (!isRecord(file) || !Array.isArray(file.cases))
    throw new TypeError('expected an object with a list "cases"');
  const before: GoldenCase[] = [];
  return file.cases.map((value: unknown, number): CaseResult => {
    const golden = asCase(value, number);
    try {
      for (const family of FAMILIES) {
        const report = family(golden, before);
        if (report) return { name: golden.name, ...report };
      }
      return { name: golden.name, problems: ["no checker knows a case of this name"] };
    } catch (error) {
      return { name: golden.name, problems: [error instanceof Error ? error.message : `${error}`] };
    } finally {
      before.push(golden);
    }
  });
}
