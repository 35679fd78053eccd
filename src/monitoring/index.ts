/**
 * @file The door of the monitoring room: metrics, what stores and shows them, reports and pictures.
 * Needs no libtorch. See docs/monitoring.md.
 */

export type { Point } from "./curves/band.ts";
export { type Axis, type CurvePicture, curveSvg, type Series } from "./curves/curves.ts";
export { openMetrics, readMetrics, readWholeMetrics } from "./json-lines.ts";
export { type LiveFile, type LiveFileOptions, openLiveFile } from "./live/file.ts";
export { type LiveLine, liveWatch, shortened, type TokenTexts } from "./live/lines.ts";
export { allLoggers, type MetricsFile, type MetricsLogger, type RunEnd } from "./log.ts";
export {
  type KnownLoggers,
  LOGGER_NAMES,
  type LoggerName,
  requireLoggerNames,
} from "./logger-names.ts";
export {
  isTiming,
  type Metrics,
  type MetricsPart,
  mergeMetrics,
  type StepMetrics,
  withoutTimings,
} from "./metrics.ts";
export { type MlflowLogger, type MlflowOptions, openMlflow } from "./mlflow/mlflow.ts";
export {
  formatCount,
  formatNumber,
  formatPercent,
  formatSeconds,
} from "./numbers.ts";
export { NO_PROGRESS, openProgress, type Progress } from "./progress.ts";
export {
  type LoggedAlarm,
  openRunLog,
  type RunLog,
  type RunLogEntry,
  readRunLog,
} from "./run-log.ts";
export { openTensorBoard, type TensorBoardOptions } from "./tensorboard/tensorboard.ts";
export { type Phase, phasesOf } from "./terminal/fields.ts";
export type { TerminalStream } from "./terminal/screen.ts";
export { openTerminal, type TerminalLogger, type TerminalOptions } from "./terminal/terminal.ts";
export {
  decodeTokens,
  encodeTokens,
  openTokenFolder,
  readTokens,
  recordedSteps,
  TokenFileError,
  type TokenFolder,
} from "./tokens/files.ts";
export {
  joinTables,
  type RecordedEpisode,
  type RecordedTurn,
  TOKEN_COLUMNS,
  type TokenColumn,
  type TokenTable,
  tokensOf,
} from "./tokens/table.ts";
