/**
 * @file The door of the evaluation room: success rates with their intervals, comparisons, tables. Only
 * statistics: who plays is the assembly's affair.
 */
export { type Convergence, convergence } from "./convergence.ts";
export { type Interval, wilson } from "./intervals.ts";
export { comparePaired, type PairedComparison, signTest } from "./paired.ts";
export { type PhaseTime, phaseTimes } from "./phases.ts";
export {
  type EpisodeFacts,
  episodeFacts,
  type SuccessRow,
  type SuccessTable,
  successRates,
  successTable,
} from "./success.ts";
export { aligned, successReport } from "./table.ts";
