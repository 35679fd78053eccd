/**
 * @file The loggers of a run: those that the configuration names, and those of one's own.
 */
import { join } from "node:path";
import { importOne, isFileName } from "../assembly/index.ts";
import { type Config, LOGGER } from "../config/index.ts";
import { type MetricsLogger, openTensorBoard } from "../monitoring/index.ts";
import type { OpenLogger } from "../training/index.ts";

export async function loggersOf(
  { trainer }: Config,
  own: readonly MetricsLogger[],
): Promise<OpenLogger[]> {
  const names = [trainer.logger].flat();
  const files = await Promise.all(names.filter(isFileName).map((file) => importOne(file, LOGGER)));
  return [
    ...(names.includes("tensorboard") ? [tensorBoard] : []),
    ...[...files, ...own].map((logger) => () => logger),
  ];
}

const tensorBoard: OpenLogger = ({ folder, lastStep }) => {
  const file = openTensorBoard(join(folder, "tensorboard"));
  // What a killed run logged after its last checkpoint is logged again.
  file.truncateAfter(lastStep ?? -1);
  return file;
};
