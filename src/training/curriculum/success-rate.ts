/**
 * @file Tasks by their success rates: those are drawn most that are solved about half of the time, because only groups whose
 * members differ teach something.
 */
import type { SuccessRateCurriculum } from "../options.ts";
import type { Records } from "./records.ts";

/** 4 p (1 − p): 1 where half of the episodes are won, 0 where all or none are; but never below the floor. */
export function informativeness(successRate: number, floor: number): number {
  return Math.max(floor, 4 * successRate * (1 - successRate));
}

/** [tasks, or kinds of task] How much more often than others each is drawn. */
export function drawingWeights(
  count: number,
  records: Records,
  { floor, unseen }: SuccessRateCurriculum,
): Float64Array {
  return Float64Array.from({ length: count }, (_, index) => {
    const rate = records.successRate(index);
    return rate === undefined ? unseen : informativeness(rate, floor);
  });
}
