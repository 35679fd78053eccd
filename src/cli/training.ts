/**
 * @file A training run with somebody at the terminal: they see how it goes, and can interrupt it.
 */
import { type Config, totalIterations } from "../config/index.ts";
import { openTerminal } from "../monitoring/index.ts";
import { type TrainResult, train } from "../training/index.ts";
import { interruptible } from "./interrupt.ts";

export function trainWithView(config: Config, title: string): Promise<TrainResult> {
  const view = openTerminal({ totalSteps: totalIterations(config), title });
  return interruptible(
    (signal) => train({ config, loggers: [view], say: (text) => view.print(text), signal }),
    () => view.print("finishing the iteration, then saving; Ctrl-C again ends at once"),
  );
}
