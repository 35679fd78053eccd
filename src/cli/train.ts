/**
 * @file `openmanus-rl train`: one command trains an agent.
 */
import { stringify } from "yaml";
import {
  type Config,
  groupSize,
  PRESETS,
  resolveConfig,
  totalIterations,
} from "../config/index.ts";
import { runPath, writeRunReport } from "../training/index.ts";
import { INTERRUPTED } from "./interrupt.ts";
import type { Command } from "./main.ts";
import { settingsAndOptions } from "./settings.ts";
import { planText } from "./train-plan.ts";
import { trainWithView } from "./training.ts";
import { UsageError } from "./usage.ts";

export const train: Command = {
  help: [
    "Usage: openmanus-rl train [--preset NAME] [--config FILE …] [key=value …] [--dry-run]",
    "",
    "Trains an agent with reinforcement learning. Settings have verl's names; docs/configuration.md lists",
    "all of them. A run lives in a folder (runs/PROJECT/EXPERIMENT): the same command goes on where it",
    "was stopped. Ctrl-C finishes the iteration, saves and ends with exit code 130; twice ends at once.",
    "",
    ...Object.entries(PRESETS).map(([name, { about }]) => `  --preset ${name.padEnd(14)} ${about}`),
    "  --config FILE           YAML with settings; may be given more than once",
    "  --dry-run               prints the resolved configuration and the plan, and trains nothing",
    "",
    "Example: openmanus-rl train --preset small-model actor_rollout_ref.model.path=models/warm \\",
    "           env.env_name=household env.options.difficulty=easy trainer.total_epochs=100",
  ].join("\n"),
  async run(given) {
    const { settings, values, words } = settingsAndOptions(given, {
      preset: { type: "string" },
      config: { type: "string", multiple: true, default: [] },
      "dry-run": { type: "boolean", default: false },
    });
    if (words.length > 0) throw new UsageError(`"${words[0]}" is no setting; expected key=value.`);
    const { config, notes } = resolveConfig({
      preset: values.preset,
      files: values.config,
      overrides: settings,
    });
    for (const note of notes) console.error(`note: ${note}`);
    return values["dry-run"] ? await dryRun(config) : await runNow(config);
  },
};

async function dryRun(config: Config): Promise<number> {
  console.log(stringify(config));
  console.log(await planText(config));
  return 0;
}

async function runNow(config: Config): Promise<number> {
  const result = await trainWithView(
    config,
    `${config.algorithm.adv_estimator} in ${config.env.env_name}, ${config.data.train_batch_size} × ${groupSize(config)} episodes`,
  );
  const report = await writeRunReport(result.folder);
  console.log(
    `\n${result.state.step} of ${totalIterations(config)} iterations, ${result.state.episodes} episodes.`,
  );
  if (result.model) console.log(`policy   ${result.model}`);
  const { best } = result.state;
  if (best)
    console.log(
      `best     step ${best.step}, ${(100 * best.successRate).toFixed(1)} % in validation`,
    );
  console.log(`report   ${report}`);
  console.log(`episodes openmanus-rl trajectories list ${result.folder}/trajectories`);
  if (result.interrupted) {
    console.log(`The same command goes on from here (${runPath(config)}).`);
    return INTERRUPTED;
  }
  return result.stopped?.failed ? 1 : 0;
}
