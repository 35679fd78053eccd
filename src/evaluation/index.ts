/**
 * @file The door of the evaluation room: success rates with their intervals, comparisons, tables. Only
 * statistics: who plays is the assembly's affair.
 */
export type {
  Alarm,
  AlarmName,
  AlarmOptions,
  Evidence,
  Grade,
  Reading,
  Remedy,
  Seen,
  Solved,
} from "./alarms/alarm.ts";
export {
  ALARM_NAMES,
  ALARMS,
  type AlarmEvent,
  type AlarmState,
  forgetRecent,
  NO_ALARMS,
  type RaisedAlarm,
  type Watched,
  watchAlarms,
} from "./alarms/watch.ts";
export { binomialAtMost, fisherAtMost } from "./binomial.ts";
export { type Convergence, convergence } from "./convergence.ts";
export { FAILURES, type Failure, failureOf } from "./failures.ts";
export { type Interval, wilson } from "./intervals.ts";
export { isOfKind, kindsOf } from "./kinds.ts";
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
