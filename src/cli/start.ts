/**
 * @file `openmanus-rl start`: the quickstart. From nothing to an agent that reinforcement learning made
 * better, in some minutes, on a CPU.
 */
import { rmSync } from "node:fs";
import { groupSize, totalIterations } from "../config/index.ts";
import {
  comparePaired,
  openConfiguredWorld,
  type SuccessRow,
  successTable,
} from "../evaluation/index.ts";
import { writeRunReport } from "../training/index.ts";
import { INTERRUPTED } from "./interrupt.ts";
import type { Command } from "./main.ts";
import {
  type QuickstartFolders,
  quickstartConfig,
  quickstartFolders,
  quickstartSettings,
  RECIPE,
  type Recipe,
} from "./quickstart/recipe.ts";
import { inUnseenRooms, makeModel, warmUp } from "./quickstart/steps.ts";
import { settingsAndOptions } from "./settings.ts";
import { trainWithView } from "./training.ts";
import { UsageError } from "./usage.ts";
import { progressLine } from "./world.ts";

/** The command with a recipe's numbers: the tests have one that takes seconds. */
export function startCommand(recipe: Recipe): Command {
  return {
    help: [
      "Usage: openmanus-rl start [key=value …] [--folder FOLDER] [--again]",
      "",
      "The quickstart: makes a small model and tokenizer, warms it up on episodes of the built-in household's",
      "expert, plays in rooms it has never seen, trains with GiGPO, and plays there again. What is there",
      "already is not done again: a stopped run goes on.",
      "",
      "  --folder FOLDER   where everything goes (runs/quickstart)",
      "  --again           begins anew: removes what the quickstart made there",
      "",
      "Example: openmanus-rl start --folder runs/grpo algorithm.adv_estimator=grpo",
    ].join("\n"),
    async run(given) {
      const { settings, values, words } = settingsAndOptions(given, {
        folder: { type: "string", default: "runs/quickstart" },
        again: { type: "boolean", default: false },
      });
      if (words.length > 0) throw new UsageError(`start takes no "${words[0]}".`);
      const folders = quickstartFolders(values.folder);
      // Not the folder itself: it is whatever the user named.
      if (values.again)
        for (const folder of Object.values(folders))
          rmSync(folder, { recursive: true, force: true });
      return await quickstart(recipe, folders, settings);
    },
  };
}

export const start = startCommand(RECIPE);

async function quickstart(
  recipe: Recipe,
  folders: QuickstartFolders,
  own: readonly string[],
): Promise<number> {
  const begun = performance.now();
  const minutes = () => `${((performance.now() - begun) / 60_000).toFixed(1)} min`;
  const say = (text: string) => console.log(`[${minutes()}] ${text}`);
  const settings = [...quickstartSettings(recipe, folders), ...own];
  const config = quickstartConfig(settings);
  const iterations = totalIterations(config);
  const world = await openConfiguredWorld(config);
  try {
    await makeModel(recipe, world, folders, say);
    const line = progressLine();
    await warmUp(recipe, config, world, folders, say, (share, loss) =>
      line.show(`warm start: ${(100 * share).toFixed(0)} %, loss ${loss.toFixed(2)}`),
    );
    line.clear();
    const before = await inUnseenRooms(recipe, config, world, folders.warm);
    say(`before: ${shown(successTable(before).all)} in unseen rooms`);

    say(
      `training with ${config.algorithm.adv_estimator}, ${iterations} iterations of ` +
        `${config.data.train_batch_size} tasks × ${groupSize(config)} episodes (Ctrl-C saves; npm start goes on)`,
    );
    const { folder, model, interrupted, stopped } = await trainWithView(config, "quickstart");
    if (interrupted) {
      say("stopped, and saved; the same command goes on from here");
      return INTERRUPTED;
    }
    // The run has said why.
    if (stopped?.failed || model === undefined) return 1;
    const after = await inUnseenRooms(recipe, config, world, model);
    const report = await writeRunReport(folder);

    const { difference, pValue } = comparePaired(before, after);
    console.log("");
    console.log(`                 success in ${before.length} unseen rooms`);
    console.log(`after warm start ${shown(successTable(before).all)}`);
    console.log(`after training   ${shown(successTable(after).all)}`);
    console.log(
      `${(100 * difference).toFixed(1)} points by reinforcement learning (p = ${pValue.toPrecision(1)}), ${minutes()} in all`,
    );
    console.log("");
    console.log(`report             ${report}`);
    console.log(
      `watch the agent    npx openmanus-rl play household difficulty=easy --split valid_unseen --model ${model}`,
    );
    console.log(
      `another algorithm  npx openmanus-rl start --folder runs/grpo algorithm.adv_estimator=grpo`,
    );
    console.log(
      `train on           npx openmanus-rl train --preset small-model ${settings.filter((word) => !word.startsWith("trainer.total")).join(" ")} trainer.total_epochs=${2 * iterations}`,
    );
    return 0;
  } finally {
    await world.world.close?.();
  }
}

function shown({ rate, interval }: SuccessRow): string {
  const percent = (share: number) => (100 * share).toFixed(1);
  return `${percent(rate).padStart(5)} %  (95 %: ${percent(interval.low)} to ${percent(interval.high)})`;
}
