/**
 * @file Options that commands which learn from preferences have in common: `dpo` and `reward-model`.
 */
import { readSettings } from "../../config/index.ts";
import type { PreferenceOptions, PreferenceReport } from "../../library/index.ts";
import { print, printError } from "../support/print.ts";
import { numberAbove, numberFrom, oneOf, UsageError, wholeNumber } from "./usage.ts";

const text = { type: "string" } as const;

export const LEARNING_OPTIONS = {
  ...{ preset: text, model: text, out: text },
  config: { type: "string", multiple: true, default: [] as string[] },
  data: { type: "string", multiple: true, default: [] as string[] },
  pairs: { type: "string", default: "all" },
  "pairs-per-group": { type: "string", default: "8" },
  epochs: { type: "string", default: "1" },
  lr: { type: "string", default: "1e-5" },
  batch: { type: "string", default: "16" },
  schedule: { type: "string", default: "linear" },
  warmup: text,
  "lora-rank": text,
  "weight-decay": { type: "string", default: "0" },
  holdout: text,
  "validate-every": text,
  "tokens-per-pass": text,
  "save-minutes": { type: "string", default: "5" },
  seed: { type: "string", default: "0" },
  json: { type: "boolean", default: false },
} as const;

export const LEARNING_HELP = [
  "  --model FOLDER       the model to begin with, or its name on the Hub (org/name)",
  "  --out FOLDER         where the result goes: a new folder; until it is finished, FOLDER.training beside it has",
  "                       checkpoints, from which the same command goes on if it was stopped",
  "  --data PLACE         the folder of a rollout or a run: groups of episodes of a task, and what a search found; or a",
  "                       file of episodes, or of preferences in TRL's form (prompt, chosen, rejected: .jsonl, .parquet).",
  "                       May be given several times",
  "  --pairs WHICH        of folders: episodes (a better one against a worse), steps (that a search compared), all (all)",
  "  --pairs-per-group N  pairs of episodes that one group gives at most (8)",
  "  --epochs N           passes over them (1)",
  "  --lr X               learning rate (1e-5)",
  "  --batch N            pairs, or episodes, per update (16)",
  "  --schedule NAME      of the rate: constant, linear (to 0), cosine (linear)",
  "  --warmup N           updates over which it rises (a tenth, at most 20)",
  "  --weight-decay X     (0)",
  "  --lora-rank N        trains an adapter of this rank instead of all weights (its alpha is twice that)",
  "  --holdout N          so many that are not learned, in whole tasks (a tenth, at most 50); the weights that do best",
  "                       with them are kept. 0: none, the last weights are kept",
  "  --validate-every N   updates between two looks at them (those of an epoch)",
  "  --tokens-per-pass N  tokens that are computed at once; results do not depend on it (by memory)",
  "  --save-minutes X     minutes between two checkpoints (5)",
  "  --seed N             (0)",
  "  --json               one JSON object on standard output; progress goes to standard error",
] as const;

/** As parsed by LEARNING_OPTIONS. */
export interface LearningValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
}

/** What both commands tell the library. */
export function preferenceOptions(
  command: string,
  values: LearningValues,
  settings: readonly string[],
): PreferenceOptions {
  const { out, preset, model } = values as Record<string, string | undefined>;
  const [data, config] = [values.data, values.config] as string[][];
  if (out === undefined) throw new UsageError(`${command} needs --out FOLDER.`);
  if (model === undefined) throw new UsageError(`${command} needs --model FOLDER.`);
  if (data!.length === 0)
    throw new UsageError(
      `${command} needs --data PLACE: the folder of a rollout or a run, or a file of preferences.`,
    );
  const one = (name: string) => values[name] as string;
  const whole = (name: string, least: number) =>
    values[name] === undefined ? undefined : wholeNumber(name, one(name), least);
  const [warmup, every, tokens] = [
    whole("warmup", 0),
    whole("validate-every", 1),
    whole("tokens-per-pass", 1),
  ];
  const rank = whole("lora-rank", 1);
  return {
    ...{ model, out, data: data! },
    ...(preset !== undefined && { preset }),
    settings: readSettings(config!, settings),
    pairs: oneOf(one("pairs"), ["all", "episodes", "steps"], "pairs"),
    pairsPerGroup: wholeNumber("pairs-per-group", one("pairs-per-group"), 1),
    epochs: wholeNumber("epochs", one("epochs"), 1),
    learningRate: numberAbove("lr", one("lr"), 0),
    batchSize: wholeNumber("batch", one("batch"), 1),
    schedule: oneOf(one("schedule"), ["constant", "linear", "cosine"], "schedule"),
    ...(warmup !== undefined && { warmup }),
    ...(rank !== undefined && { lora: { rank } }),
    weightDecay: numberFrom("weight-decay", one("weight-decay")),
    holdout: values.holdout === undefined ? "tenth" : wholeNumber("holdout", one("holdout"), 0),
    ...(every !== undefined && { validateEvery: every }),
    ...(tokens !== undefined && { tokensPerPass: tokens }),
    saveMinutes: numberFrom("save-minutes", one("save-minutes")),
    seed: wholeNumber("seed", one("seed"), 0),
    progress: values.json ? process.stderr : true,
    say: values.json ? printError : print,
  };
}

export function printReport(report: PreferenceReport, what: string, json: boolean): void {
  if (json) {
    print(JSON.stringify(report, null, 2));
    return;
  }
  const { updates, learned, best, model } = report;
  const kept = best === undefined || best.update === updates ? "" : `, kept: update ${best.update}`;
  print(`${updates} updates from ${learned} ${what}${kept}; the model is in ${model}`);
}
