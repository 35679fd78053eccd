/**
 * @file The loggers of a run: those that the configuration names, and those of one's own.
 */
import { join } from "node:path";
import { importOne, OptionError } from "../assembly/index.ts";
import { type Config, LOGGER, withoutSecrets } from "../config/index.ts";
import {
  type MetricsLogger,
  openMlflow,
  openTensorBoard,
  requireLoggerNames,
} from "../monitoring/index.ts";
import type { OpenLogger } from "../training/index.ts";

export async function loggersOf(
  config: Config,
  own: readonly MetricsLogger[],
  say: (text: string) => void,
): Promise<OpenLogger[]> {
  const { offered, files } = requireLoggerNames([config.trainer.logger].flat());
  const fromFiles = await Promise.all(files.map((file) => importOne(file, LOGGER)));
  return [
    ...(offered.includes("tensorboard") ? [tensorBoard] : []),
    ...(offered.includes("mlflow") ? [mlflow(config, say)] : []),
    ...[...fromFiles, ...own].map((logger) => () => logger),
  ];
}

const tensorBoard: OpenLogger = ({ folder, lastStep }) => {
  const file = openTensorBoard(join(folder, "tensorboard"));
  // What a killed run logged after its last checkpoint is logged again.
  file.truncateAfter(lastStep ?? -1);
  return file;
};

function mlflow(config: Config, say: (text: string) => void): OpenLogger {
  const { project_name: experiment, experiment_name: run } = config.trainer;
  return ({ folder }) => {
    try {
      return openMlflow({
        ...{ experiment, run, say },
        params: withoutSecrets(config),
        runFile: join(folder, "mlflow.json"),
      });
    } catch (error) {
      throw new OptionError((error as Error).message);
    }
  };
}
