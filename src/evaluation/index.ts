/**
 * @file The door of the evaluation room: success rates, their intervals, tables.
 */
export { type Interval, wilson } from "./intervals.ts";
export {
  type EpisodeFacts,
  episodeFacts,
  type SuccessRow,
  type SuccessTable,
  successRates,
  successTable,
} from "./success.ts";
export { aligned, successReport } from "./table.ts";
