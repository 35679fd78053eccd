/**
 * @file `openmanus-rl start`: the quickstart. From nothing to an agent that reinforcement learning made
 * better, in some minutes, on a CPU.
 */
import { rmSync } from "node:fs";
import {
  comparePaired,
  openConfiguredWorld,
  type SuccessRow,
  successTable,
} from "../evaluation/index.ts";
import { openTerminal } from "../monitoring/index.ts";
import { train, writeRunReport } from "../training/index.ts";
import type { Command } from "./main.ts";
import {
  quickstartConfig,
  quickstartFolders,
  quickstartSettings,
  RECIPE,
} from "./quickstart/recipe.ts";
import { inUnseenRooms, makeModel, warmUp } from "./quickstart/steps.ts";
import { optionsAndWords, UsageError } from "./usage.ts";
import { progressLine } from "./world.ts";

export const start: Command = {
  help: [
    "Usage: openmanus-rl start [key=value …] [--folder FOLDER] [--again]",
    "",
    "The quickstart: makes a small model and tokenizer, warms it up on episodes of the built-in household's",
    "expert, plays in rooms it has never seen, trains with GiGPO, and plays there again. What is there",
    "already is not done again: a stopped run goes on.",
    "",
    "  --folder FOLDER   where everything goes (runs/quickstart)",
    "  --again           begins anew",
    "",
    "Example: openmanus-rl start --folder runs/grpo algorithm.adv_estimator=grpo",
  ].join("\n"),
  async run(given) {
    const isSetting = (word: string) => /^[a-z_]+(\.[a-z_]+)+=/.test(word);
    const { values, words } = optionsAndWords(
      given.filter((word) => !isSetting(word)),
      {
        folder: { type: "string", default: "runs/quickstart" },
        again: { type: "boolean", default: false },
      },
    );
    if (words.length > 0) throw new UsageError(`start takes no "${words[0]}".`);
    if (values.again) rmSync(values.folder, { recursive: true, force: true });
    return await quickstart(values.folder, given.filter(isSetting));
  },
};

async function quickstart(root: string, settings: readonly string[]): Promise<number> {
  const begun = performance.now();
  const folders = quickstartFolders(root);
  const config = quickstartConfig(folders, settings);
  const minutes = () => `${((performance.now() - begun) / 60_000).toFixed(1)} min`;
  const say = (text: string) => console.log(`[${minutes()}] ${text}`);
  const world = await openConfiguredWorld(config);
  const line = progressLine();

  await makeModel(world, folders, say);
  await warmUp(config, world, folders, say, (share, loss) =>
    line.show(`warm start: ${(100 * share).toFixed(0)} %, loss ${loss.toFixed(2)}`),
  );
  line.clear();
  const before = await inUnseenRooms(config, world, folders.warm);
  say(`before: ${shown(successTable(before).all)} in unseen rooms`);

  say(
    `training with ${config.algorithm.adv_estimator}, ${RECIPE.iterations} iterations of ` +
      `${config.data.train_batch_size} tasks × ${config.env.rollout.n} episodes (Ctrl-C saves; npm start goes on)`,
  );
  const stopping = new AbortController();
  const view = openTerminal({ totalSteps: RECIPE.iterations, title: "quickstart" });
  const onInterrupt = () => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort();
    view.print("finishing the iteration, then saving; Ctrl-C again ends at once");
  };
  process.on("SIGINT", onInterrupt);
  let model: string | undefined;
  try {
    const result = await train({
      config,
      loggers: [view],
      say: (text) => view.print(text),
      signal: stopping.signal,
    });
    if (result.interrupted) return 130;
    model = result.model;
  } finally {
    process.off("SIGINT", onInterrupt);
  }
  const after = await inUnseenRooms(config, world, model!);
  const report = await writeRunReport(folders.run);
  await world.world.close?.();

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
    `train on           npx openmanus-rl train --preset small-model ${[...quickstartSettings(folders), ...settings].filter((word) => !word.startsWith("trainer.total")).join(" ")} trainer.total_epochs=${2 * RECIPE.iterations}`,
  );
  return 0;
}

function shown({ rate, interval }: SuccessRow): string {
  const percent = (share: number) => (100 * share).toFixed(1);
  return `${percent(rate).padStart(5)} %  (95 %: ${percent(interval.low)} to ${percent(interval.high)})`;
}
