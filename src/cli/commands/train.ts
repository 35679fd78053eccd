/**
 * @file `openmanus-rl train`: one command trains an agent.
 */
import { stringify } from "yaml";
import { PRESETS, readSettings, withoutSecrets } from "../../config/index.ts";
import {
  isFirstRank,
  planOf,
  type Run,
  type TrainCall,
  tellingRanks,
  train,
} from "../../library/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { dashboardBeside } from "../support/dashboard-beside.ts";
import { INTERRUPTED, interruptible } from "../support/interrupt.ts";
import { asRanks } from "../support/local-ranks.ts";
import { print, printError } from "../support/print.ts";
import { planText } from "../support/train-plan.ts";

const help = [
  "Usage: openmanus-rl train [--model FOLDER] [--preset NAME] [--config FILE …] [key=value …] [--dry-run]",
  "",
  "Trains an agent with reinforcement learning. Settings have verl's names; docs/configuration.md lists",
  "all of them. A run lives in a folder (runs/PROJECT/EXPERIMENT): the same command goes on where it",
  "was stopped. Ctrl-C finishes the iteration, saves and ends with exit code 130; twice ends at once.",
  "",
  "  --model FOLDER          the model to begin with, or its name on the Hub (org/name), which is fetched;",
  "                          what its folder says of the form of prompts and replies (openmanus-rl.json)",
  "                          holds where nothing else is given",
  ...Object.entries(PRESETS).map(([name, { about }]) => `  --preset ${name.padEnd(14)} ${about}`),
  "  --config FILE           YAML with settings; may be given more than once",
  "  --dry-run               prints the resolved configuration and the plan, and trains nothing",
  "  --dashboard             shows the run in the browser while it trains; its address is printed",
  "  --json                  one JSON object on standard output at the end; progress goes to standard error",
  "",
  "trainer.n_gpus_per_node=4 trains with four processes, on CPUs as on GPUs; torchrun, mpirun and srun start",
  "them on several machines, trainer.launcher=ray on a Ray cluster (docs/scale.md).",
  "",
  "World, reward, format, prompts, tools, history, estimator, loss and logger may be files of your own:",
  "env.env_name, reward.files, env.format, env.prompts, env.tools, env.history, algorithm.adv_estimator,",
  "actor's policy_loss.loss_mode and trainer.logger take paths like ./reward.ts (docs/tutorials).",
  "",
  "Example: openmanus-rl train --preset small-model --model models/warm \\",
  "           env.env_name=household env.options.difficulty=easy trainer.total_epochs=100",
].join("\n");

export const trainCommand: Command = {
  help,
  async run(given) {
    const { settings, values, words } = settingsAndOptions(given, {
      model: { type: "string" },
      preset: { type: "string" },
      config: { type: "string", multiple: true, default: [] },
      "dry-run": { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      dashboard: { type: "boolean", default: false },
    });
    if (words.length > 0) throw new UsageError(`"${words[0]}" is no setting; expected key=value.`);
    const chosen = readSettings(values.config, settings);
    const code = values["dry-run"] ? undefined : await asRanks(["train", ...given], chosen);
    if (code !== undefined) return code;
    const call: TrainCall = {
      ...(values.model !== undefined && { model: values.model }),
      ...(values.preset !== undefined && { preset: values.preset }),
      settings: chosen,
      progress: values.json ? process.stderr : true,
    };
    const plan = await tellingRanks(() => planOf(call));
    if (isFirstRank()) for (const note of plan.notes) printError(`note: ${note}`);
    if (values["dry-run"]) {
      print(stringify(withoutSecrets(plan.config)));
      print(await planText(plan.options));
      return 0;
    }
    const beside =
      values.dashboard && isFirstRank()
        ? dashboardBeside(plan.folder, (text) => printError(text))
        : undefined;
    const run = await trainInterruptibly(call).finally(() => beside?.stop());
    // Rank 0 has the report, and speaks for all.
    if (run.report === undefined) return run.interrupted ? INTERRUPTED : 0;
    const { iterations } = plan.options;
    print(values.json ? JSON.stringify(facts(run), null, 2) : `\n${summary(run, iterations)}`);
    if (run.interrupted) return INTERRUPTED;
    return run.stopped?.failed ? 1 : 0;
  },
};

/** Ctrl-C finishes the iteration and saves; the run says so. A second one ends at once. */
export function trainInterruptibly(call: TrainCall): Promise<Run> {
  return interruptible((signal) => train({ ...call, signal }));
}

function facts(run: Run) {
  const { folder, state, model, best, report, resumedFrom, interrupted, stopped } = run;
  const { step: iterations, episodes, tokens, minutes } = state;
  return {
    ...{ folder, iterations, episodes, tokens, minutes, resumedFrom, interrupted },
    ...{ stopped: stopped ?? null, model: model ?? null, best: best ?? null, report },
  };
}

function summary(
  { folder, state, model, best, report, interrupted }: Run,
  iterations: number,
): string {
  const percent = best && `${(100 * best.successRate).toFixed(1)} % in validation`;
  return [
    `${state.step} of ${iterations} iterations, ${state.episodes} episodes.`,
    ...(model ? [`policy   ${model}`] : []),
    ...(best ? [`best     ${best.folder} (${when(best.iteration)}, ${percent})`] : []),
    `report   ${report}`,
    `episodes openmanus-rl trajectories list ${folder}`,
    `play     openmanus-rl play --model ${folder}`,
    ...(interrupted ? [`The same command goes on from here (${folder}).`] : []),
  ].join("\n");
}

function when(iteration: number): string {
  return iteration === 0 ? "before training" : `iteration ${iteration}`;
}
