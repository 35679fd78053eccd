/**
 * @file The door of the dashboard room: run folders as a page that follows them.
 */

export type { OpenServer } from "../network/index.ts";
export type {
  BeginPlay,
  Columns,
  EpisodeList,
  EpisodePage,
  EpisodeRow,
  FailureClass,
  FailureList,
  LiveEvent,
  PlayTable,
  RaisedAlarmRow,
  Rate,
  RunPage,
  RunRow,
  RunState as DashboardRunState,
  StepGroupPage,
  TokenView,
  TurnView,
  Verdict,
} from "./api.ts";
export {
  type Diagnosis,
  diagnose,
  type EpisodeExcerpt,
  type Finding,
} from "./diagnose/diagnose.ts";
export { diagnosisText } from "./diagnose/text.ts";
export { type ReportAnswers, writeRunReport } from "./report.ts";
export { type DashboardOptions, type PlayPermission, serveDashboard } from "./serve.ts";
