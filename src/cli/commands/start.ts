/**
 * @file `openmanus-rl start`: the quickstart. From nothing to an agent that reinforcement learning made
 * better, in some minutes, on a CPU.
 */
import { readSettings } from "../../config/index.ts";
import { comparePaired, type SuccessRow } from "../../evaluation/index.ts";
import { type Evaluation, evaluateWith, planOf, type TrainCall } from "../../library/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { INTERRUPTED } from "../support/interrupt.ts";
import { print } from "../support/print.ts";
import { RECIPE, type Recipe } from "../support/recipe.ts";
import { trainInterruptibly } from "./train.ts";

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
      return await quickstart(
        { ...recipe, restart: values.again, folder: values.folder },
        settings,
      );
    },
  };
}

export const start = startCommand(RECIPE);

async function quickstart(
  { evaluationTasks, restart = false, ...recipe }: Recipe,
  own: readonly string[],
): Promise<number> {
  const begun = performance.now();
  const minutes = () => `${((performance.now() - begun) / 60_000).toFixed(1)} min`;
  const say = (text: string) => print(`[${minutes()}] ${text}`);
  const call: TrainCall = { ...recipe, restart, settings: readSettings([], own) };
  const plan = await planOf(call);
  const { iterations, rollout, advantages } = plan.options;
  const inUnseenRooms = (model: string) =>
    evaluateWith(plan, { model, tasks: evaluationTasks, progress: process.stderr });

  let before: Evaluation | undefined;
  const { model, interrupted, stopped, report } = await trainInterruptibly({
    ...call,
    async onPrepared(start) {
      before = await inUnseenRooms(start);
      say(`before: ${shown(before.table.all)} in unseen rooms`);
      say(
        `training with ${advantages.name}, ${iterations} iterations of ${rollout.tasks} tasks × ` +
          `${rollout.groupSize} episodes (Ctrl-C saves; npm start goes on)`,
      );
    },
  });
  if (interrupted) {
    say("stopped, and saved; the same command goes on from here");
    return INTERRUPTED;
  }
  // The run has said why.
  if (stopped?.failed || model === undefined || !before) return 1;
  const after = await inUnseenRooms(model);

  const { difference, pValue } = comparePaired(before.trajectories, after.trajectories);
  print(`
                 success in ${before.trajectories.length} unseen rooms
after warm start ${shown(before.table.all)}
after training   ${shown(after.table.all)}
${(100 * difference).toFixed(1)} points by reinforcement learning (p = ${pValue.toPrecision(1)}), ${minutes()} in all

report             ${report}
watch the agent    npx openmanus-rl play --model ${plan.folder}
another algorithm  npx openmanus-rl start --folder runs/grpo algorithm.adv_estimator=grpo
train on           npx openmanus-rl start --folder ${plan.folder} ${[...own, `trainer.total_training_steps=${2 * iterations}`].join(" ")}`);
  return 0;
}

function shown({ rate, interval }: SuccessRow): string {
  const percent = (share: number) => (100 * share).toFixed(1);
  return `${percent(rate).padStart(5)} %  (95 %: ${percent(interval.low)} to ${percent(interval.high)})`;
}
