/**
 * @file `openmanus-rl dpo`: a model learns from pairs of answers, of which one was better.
 */
import { DPO_KINDS } from "../../algorithms/index.ts";
import { readSettings } from "../../config/index.ts";
import { dpo, isFirstRank } from "../../library/index.ts";
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

export const dpoCommand: Command = {
  help: [
    "Usage: openmanus-rl dpo --model FOLDER --data PLACE --out FOLDER [key=value …] [options]",
    "",
    "Direct preference optimization: what was better becomes likelier, what was worse less likely, measured from the",
    "model as it begins (the reference).",
    "",
    ...LEARNING_HELP,
    "  --kind NAME          sigmoid (DPO), sigmoid_norm (of means per token), ipo (sigmoid)",
    "  --beta X             how near to the reference it stays (0.1)",
    "  --sft X              how much the better answers are learned besides, so that they do not become less likely (0)",
    "  --label-smoothing X  the probability that a pair is the wrong way round, below 0.5 (0)",
    "",
    "Example: openmanus-rl rollout household --model models/warm --tasks 100 --episodes 8 --out played",
    "         openmanus-rl dpo --model models/warm --data played --out models/better --lr 1e-4 --epochs 3",
  ].join("\n"),
  async run(given) {
    const { settings, values, words } = settingsAndOptions(given, {
      ...LEARNING_OPTIONS,
      kind: { type: "string", default: "sigmoid" },
      beta: { type: "string", default: "0.1" },
      "label-smoothing": { type: "string", default: "0" },
      sft: { type: "string", default: "0" },
    });
    if (words.length > 0) throw new UsageError(`dpo takes no "${words[0]}".`);
    const options = preferenceOptions("dpo", values, settings);
    const labelSmoothing = numberFrom("label-smoothing", values["label-smoothing"]);
    if (labelSmoothing >= 0.5) throw new UsageError("--label-smoothing must be below 0.5.");
    const code = await asRanks(["dpo", ...given], readSettings(values.config, settings));
    if (code !== undefined) return code;
    const report = await interruptible((signal) =>
      dpo({
        ...options,
        ...{ labelSmoothing, signal, sftWeight: numberFrom("sft", values.sft) },
        kind: oneOf(values.kind, DPO_KINDS, "kind"),
        beta: numberAbove("beta", values.beta, 0),
      }),
    );
    if (isFirstRank()) printReport(report, "pairs", values.json);
    return 0;
  },
};
