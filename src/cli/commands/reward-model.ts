/**
 * @file `openmanus-rl reward-model`: a model learns to score episodes, for rewards and as a judge of searches.
 */
import { readSettings } from "../../config/index.ts";
import { isFirstRank, trainRewardModel } from "../../library/index.ts";
import { REWARD_MODEL_KINDS } from "../../rewards/index.ts";
import {
  LEARNING_HELP,
  LEARNING_OPTIONS,
  preferenceOptions,
  printReport,
} from "../arguments/learning.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { numberAbove, numberFrom, oneOf, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { asRanks } from "../support/local-ranks.ts";

export const rewardModelCommand: Command = {
  help: [
    "Usage: openmanus-rl reward-model --model FOLDER --data PLACE --out FOLDER [key=value …] [options]",
    "",
    "Gives a model one number as its output, and trains it to score episodes of a policy with the same tokenizer. The",
    "result is a reward (train … reward.model=1 reward.model_path=FOLDER) and a judge of searches (rollout … --search",
    "tree_of_thoughts --judge reward_model --judge-path FOLDER).",
    "",
    "  --kind NAME          preferences: which of two answers is better (Bradley-Terry); outcome: whether an episode is",
    "                       won, at its end; steps: how likely that is after each turn (preferences)",
    ...LEARNING_HELP,
    "  --centering X        preferences: scores stay around 0 (0.01)",
    "  --margins            preferences: the better one's score should be higher by what it was better by",
    "  --discount X         steps: what a turn's label loses for each turn that was still to come (1: nothing)",
    "",
    "Example: openmanus-rl rollout household --model models/warm --tasks 100 --episodes 8 --out played",
    "         openmanus-rl reward-model --model models/warm --data played --out models/judge --kind steps --lr 1e-3",
  ].join("\n"),
  async run(given) {
    const { settings, values, words } = settingsAndOptions(given, {
      ...LEARNING_OPTIONS,
      kind: { type: "string", default: "preferences" },
      centering: { type: "string", default: "0.01" },
      margins: { type: "boolean", default: false },
      discount: { type: "string", default: "1" },
    });
    if (words.length > 0) throw new UsageError(`reward-model takes no "${words[0]}".`);
    const options = preferenceOptions("reward-model", values, settings);
    const code = await asRanks(["reward-model", ...given], readSettings(values.config, settings));
    if (code !== undefined) return code;
    const report = await interruptible((signal) =>
      trainRewardModel({
        ...options,
        signal,
        kind: oneOf(values.kind, REWARD_MODEL_KINDS, "kind"),
        centering: numberFrom("centering", values.centering),
        margins: values.margins,
        discount: numberAbove("discount", values.discount, 0),
      }),
    );
    if (isFirstRank())
      printReport(report, values.kind === "preferences" ? "pairs" : "episodes", values.json);
    return 0;
  },
};
