/**
 * @file Starts a run as several ranks, whose limits are this process's. The first argument is how many, the
 * others are settings.
 */
import { launch } from "../../../src/torch/index.ts";

const [processes, ...settings] = process.argv.slice(2);
await launch(new URL("./run.ts", import.meta.url), {
  processes: Number(processes),
  arguments: settings,
});
