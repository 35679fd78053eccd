/**
 * @file Metrics as a TensorBoard event file. A run that is resumed goes on with the same file, cut
 * back to its checkpoint, so that TensorBoard never shows a step twice.
 */
import { join } from "node:path";
import { type AppendFile, closedOnError, openAppendFile } from "../append-file.ts";
import { checkStep, type MetricsFile } from "../log.ts";
import { scalarsEvent, stepOfEvent, versionEvent } from "./event.ts";
import { frameRecord, unframeRecords } from "./records.ts";

export interface TensorBoardOptions {
  /** Milliseconds since 1970, which TensorBoard shows beside each step. Default: the clock's. */
  readonly now?: () => number;
}

/** TensorBoard takes any file with "tfevents" in its name. */
const FILE = "events.out.tfevents.0.openmanus-rl";

export function openTensorBoard(folder: string, options: TensorBoardOptions = {}): MetricsFile {
  const { now = Date.now } = options;
  const target = openAppendFile(join(folder, FILE));
  const { file } = target;
  let { size, lastStep, repaired } = closedOnError(target, () => beginning(target, now));
  return {
    file,
    repaired,
    get lastStep() {
      return lastStep;
    },
    log(step, metrics) {
      checkStep(file, lastStep, step, metrics);
      target.append(frameRecord(scalarsEvent(now() / 1000, step, metrics)));
      lastStep = step;
    },
    truncateAfter(step) {
      ({ size, lastStep } = endAfter(target.read(), step));
      target.truncate(size);
    },
    close: () => target.close(),
  };
}

/** Cuts off what is half-written, and begins a file that is empty. */
function beginning(target: AppendFile, now: () => number) {
  const bytes = target.read();
  checkBeginning(target.file, bytes);
  const end = endAfter(bytes, Number.POSITIVE_INFINITY);
  const repaired = bytes.length - end.size;
  if (repaired > 0) target.truncate(end.size);
  if (end.size === 0) target.append(frameRecord(versionEvent(now() / 1000)));
  return { ...end, repaired };
}

/** A file whose first record was being written is empty; any other one that has none is not ours. */
function checkBeginning(file: string, bytes: Buffer): void {
  const first = frameRecord(versionEvent(0)).length;
  if (bytes.length < first || !unframeRecords(bytes).next().done) return;
  throw new Error(`${file}: is no TensorBoard event file; move it away, or choose another folder`);
}

/** Where the last whole record with at most this step ends. */
function endAfter(bytes: Buffer, step: number): { size: number; lastStep: number | undefined } {
  let size = 0;
  let lastStep: number | undefined;
  for (const { data, end } of unframeRecords(bytes)) {
    const found = stepOfEvent(data);
    if (found !== undefined && found > step) break;
    if (found !== undefined) lastStep = found;
    size = end;
  }
  return { size, lastStep };
}
