/**
 * @file The door of the monitoring room: metrics, what stores and shows them, reports and pictures.
 * Needs no libtorch. See docs/monitoring.md.
 */

export type { Point } from "./curves/band.ts";
export { type Axis, type CurvePicture, curveSvg, type Series } from "./curves/curves.ts";
export { openMetrics, readMetrics } from "./json-lines.ts";
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
export { type Chart, type ChartGroup, defaultGroups } from "./report/charts.ts";
export {
  type Estimate,
  type ExampleEpisode,
  type ExampleTurn,
  type Report,
  type SummaryRow,
  writeReport,
} from "./report/report.ts";
export { openTensorBoard, type TensorBoardOptions } from "./tensorboard/tensorboard.ts";
export { type Phase, phasesOf } from "./terminal/fields.ts";
export type { TerminalStream } from "./terminal/screen.ts";
export { openTerminal, type TerminalLogger, type TerminalOptions } from "./terminal/terminal.ts";
