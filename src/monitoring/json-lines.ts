/**
 * @file metrics.jsonl: a line `{"step": 1, "actor/pg_loss": …}` per step. A number that is not finite
 * is null, because JSON has no other word for it.
 */
import { existsSync, readFileSync } from "node:fs";
import { openAppendFile } from "./append-file.ts";
import { checkStep, type MetricsFile } from "./log.ts";
import type { StepMetrics } from "./metrics.ts";

const NEWLINE = 10;

/** A file of metrics that cannot be read; the message names the line. */
export class MetricsFileError extends Error {
  override name = "MetricsFileError";
}

/** Opens a run's metrics to go on with them; a last line without its end is cut off. */
export function openMetrics(file: string): MetricsFile {
  const target = openAppendFile(file);
  try {
    const bytes = target.read();
    const whole = bytes.lastIndexOf(NEWLINE) + 1;
    if (whole < bytes.length) target.truncate(whole);
    let { lastStep } = endAfter(file, bytes.subarray(0, whole), Number.POSITIVE_INFINITY);
    return {
      file,
      repaired: bytes.length - whole,
      get lastStep() {
        return lastStep;
      },
      log(step, metrics) {
        checkStep(file, lastStep, step, metrics);
        target.append(Buffer.from(`${JSON.stringify({ step, ...metrics })}\n`));
        lastStep = step;
      },
      truncateAfter(step) {
        const end = endAfter(file, target.read(), step);
        target.truncate(end.size);
        lastStep = end.lastStep;
      },
      close: () => target.close(),
    };
  } catch (error) {
    target.close();
    throw error;
  }
}

/** Null becomes NaN. A last line without its end is left out: it was being written. */
export function readMetrics(file: string): StepMetrics[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line, i) => parseLine(line, `${file}, line ${i + 1}`));
}

/** The lines that can be read, and how many cannot: for whoever looks at a run that was damaged. */
export function readWholeMetrics(file: string): { lines: StepMetrics[]; bad: number } {
  const lines: StepMetrics[] = [];
  let bad = 0;
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  for (const line of text.split("\n"))
    try {
      if (line !== "") lines.push(parseLine(line, file));
    } catch {
      bad++;
    }
  return { lines, bad };
}

/** Where the last line with at most this step ends. Looked for from the end, as steps only go up. */
function endAfter(file: string, bytes: Buffer, step: number): { size: number; lastStep?: number } {
  for (let end = bytes.length; end > 0; ) {
    const start = end > 1 ? bytes.lastIndexOf(NEWLINE, end - 2) + 1 : 0;
    const line = parseLine(bytes.toString("utf8", start, end - 1), `${file}, byte ${start}`);
    if (line.step <= step) return { size: end, lastStep: line.step };
    end = start;
  }
  return { size: 0 };
}

function parseLine(line: string, place: string): StepMetrics {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new MetricsFileError(
      `${place}: no JSON (${(error as Error).message}); is this a metrics file? Take the line out, or give another file`,
    );
  }
  const { step, ...metrics } = Object(value ?? {}) as Record<string, unknown>;
  if (!Number.isSafeInteger(step))
    throw new MetricsFileError(`${place}: expected an object with a whole number "step"`);
  for (const [name, measured] of Object.entries(metrics)) {
    if (measured === null) metrics[name] = Number.NaN;
    else if (typeof measured !== "number")
      throw new MetricsFileError(`${place}: expected "${name}" to be a number or null`);
  }
  return { step: step as number, metrics: metrics as Record<string, number> };
}
