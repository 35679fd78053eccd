/**
 * @file What takes a run's metrics, step by step: files, TensorBoard, the terminal, or your own.
 */
import type { Metrics } from "./metrics.ts";

export interface MetricsLogger {
  /** Once per step; steps only go up. */
  log(step: number, metrics: Metrics): void;
  /** How the run ends: said before it is closed, to loggers that want to know. */
  endAs?(status: RunEnd): void;
  /** Nothing more is logged. */
  close(): void;
  /**
   * Where a logger sends things in the background: resolves when everything was sent, or given up after a
   * while; after close(), when that is done, too. Never rejects because somebody else does not answer.
   */
  flush?(): Promise<void>;
}

/** killed: interrupted; it may go on later. */
export type RunEnd = "finished" | "failed" | "killed";

/** A logger with a file, which a run that is resumed goes on with. */
export interface MetricsFile extends MetricsLogger {
  readonly file: string;
  /** The last step in the file; undefined while there is none. */
  readonly lastStep: number | undefined;
  /** Bytes of a half-written end that were cut off when the file was opened. */
  readonly repaired: number;
  /** Forgets the steps after this one: a run that is resumed from its checkpoint does them again. */
  truncateAfter(step: number): void;
}

/** Several loggers as one. One that fails keeps none of the others from its metrics. */
export function allLoggers(...loggers: readonly MetricsLogger[]): MetricsLogger {
  function each(what: string, action: (logger: MetricsLogger) => void): void {
    const errors: unknown[] = [];
    for (const logger of loggers) {
      try {
        action(logger);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) {
      const reasons = errors.map((error) => (error instanceof Error ? error.message : error));
      throw new AggregateError(errors, `${what}: ${reasons.join("; ")}`);
    }
  }
  return {
    log: (step, metrics) => each(`logging step ${step}`, (logger) => logger.log(step, metrics)),
    endAs: (status) => each("ending the run", (logger) => logger.endAs?.(status)),
    close: () => each("closing the loggers", (logger) => logger.close()),
    async flush() {
      await Promise.all(loggers.map((logger) => logger.flush?.()));
    },
  };
}

/** Throws unless this step may follow the last one and all metrics are numbers. */
export function checkStep(
  file: string,
  lastStep: number | undefined,
  step: number,
  metrics: Metrics,
): void {
  if (!Number.isSafeInteger(step) || step < 0)
    throw new Error(`${file}: step ${step}; expected a whole number from 0 up`);
  if (lastStep !== undefined && step <= lastStep)
    throw new Error(
      `${file}: step ${step} comes after step ${lastStep}; a step is logged once, in order. ` +
        `To go on from a checkpoint, call truncateAfter with its step first`,
    );
  for (const [name, value] of Object.entries(metrics)) {
    if (typeof value !== "number")
      throw new Error(`${file}: step ${step}: ${name} is ${typeof value}, expected a number`);
    if (name === "step" || name === "")
      throw new Error(`${file}: step ${step}: a metric cannot have the name "${name}"`);
  }
}
