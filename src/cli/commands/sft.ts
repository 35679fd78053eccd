/**
 * @file `openmanus-rl sft`: a model learns from episodes before it learns by itself.
 */
import { readSettings } from "../../config/index.ts";
import { evaluate, isFirstRank, type SftReport, sft } from "../../library/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { oneOf, UsageError, wholeNumber } from "../arguments/usage.ts";
import { KEPT_EPISODES } from "../../training/index.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { asRanks } from "../support/local-ranks.ts";
import { print, printError } from "../support/print.ts";

/** Flags that had other names: they still work, with a note. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  "--slips": "--mistakes",
  "--again": "--repeat-mistakes",
  "--wanders": "--random-actions",
  "--whims": "--random-pattern",
  "--corrected": "--dagger",
  "--everything": "--all-tokens",
};

export const sftCommand: Command = {
  help: [
    "Usage: openmanus-rl sft --out FOLDER [--model FOLDER] [--preset NAME] [--config FILE …] [key=value …] [options]",
    "",
    "Trains a model on episodes: of the world's scripted expert (made on the fly), or from files. What",
    "the agent says is learned, nothing else by default. World, format and context are set as for train",
    "(env.*), so that a run of train goes on in the same form.",
    "",
    "  --out FOLDER         where the model goes: a new folder; until it is finished, FOLDER.training beside it",
    "                       has checkpoints, from which the same command goes on if it was stopped",
    "  --model FOLDER       the model to begin with, or its name on the Hub (org/name)",
    "  --episodes N         expert episodes of the training split (100); more than it has tasks: each is",
    "                       played again, by an expert with another seed",
    "  --data FILE          instead: trajectories or chats (.jsonl, .parquet), or a folder of trajectories",
    "  --keep WHICH         of trajectories: all, won, or best (of each task): what a search or many tries found is",
    "                       an expert where there is none (all)",
    "  --mistakes X         share of turns in which the expert does something wrong and goes on (0.1): the",
    "                       model learns to go on after a mistake, and not the mistake",
    "  --repeat-mistakes X  how likely it tries the same mistake again, each time (0): to learn to leave circles",
    "  --random-actions X   share of turns in which it does something at random that can be done there (0):",
    "                       such a model knows how to do things and has to learn what for",
    "  --random-pattern P   what it may do then, a regular expression (^(go|look|examine|open|inventory))",
    "  --dagger X           instead of mistakes: the model itself acts in this share of turns, and the expert",
    "                       goes on from there; for a model that has learned the form already",
    "  --all-tokens         what the world says is learned, too: for a model from nothing, which has to",
    "                       learn the world's language",
    "  --epochs N           passes over them (10)",
    "  --lr X               learning rate (1e-3)",
    "  --batch N            sequences per update (8)",
    "  --holdout N          sequences that are not learned, for the validation loss (a tenth, at most 50)",
    "  --save-minutes X     minutes between two checkpoints (5)",
    "  --evaluate N         tasks of the validation split to play afterwards (0)",
    "  --seed N             (0)",
    "  --json               one JSON object on standard output; progress goes to standard error",
    "",
    "Example: openmanus-rl sft --preset small-model --model models/new --out models/warm --episodes 200 \\",
    "           env.env_name=household",
  ].join("\n"),
  async run(given) {
    const { settings, values, words } = settingsAndOptions(renamed(given), {
      preset: { type: "string" },
      config: { type: "string", multiple: true, default: [] },
      out: { type: "string" },
      model: { type: "string" },
      episodes: { type: "string", default: "100" },
      data: { type: "string" },
      keep: { type: "string", default: "all" },
      mistakes: { type: "string", default: "0.1" },
      "repeat-mistakes": { type: "string", default: "0" },
      "random-actions": { type: "string", default: "0" },
      "random-pattern": { type: "string", default: "^(go|look|examine|open|inventory)" },
      dagger: { type: "string", default: "0" },
      "all-tokens": { type: "boolean", default: false },
      epochs: { type: "string", default: "10" },
      lr: { type: "string", default: "1e-3" },
      batch: { type: "string", default: "8" },
      holdout: { type: "string" },
      "save-minutes": { type: "string", default: "5" },
      evaluate: { type: "string", default: "0" },
      seed: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
    });
    if (words.length > 0) throw new UsageError(`sft takes no "${words[0]}".`);
    const { out, data, preset, model } = values;
    if (out === undefined) throw new UsageError("sft needs --out FOLDER.");
    const code = await asRanks(["sft", ...given], readSettings(values.config, settings));
    if (code !== undefined) return code;
    const seed = wholeNumber("seed", values.seed, 0);
    const tasks = wholeNumber("evaluate", values.evaluate, 0);
    const choices = {
      ...(preset !== undefined && { preset }),
      settings: readSettings(values.config, settings),
      progress: values.json ? process.stderr : true,
      say: values.json ? printError : print,
    };
    const report = await interruptible((signal) =>
      sft({
        ...choices,
        ...{ out, seed, taskSeed: seed, signal },
        ...(model !== undefined && { model }),
        ...(data !== undefined && { data }),
        keep: oneOf(values.keep, KEPT_EPISODES, "keep"),
        episodes: wholeNumber("episodes", values.episodes, 1),
        mistakes: share("mistakes", values.mistakes),
        repeatMistakes: share("repeat-mistakes", values["repeat-mistakes"]),
        randomActions: share("random-actions", values["random-actions"]),
        randomPattern: pattern("random-pattern", values["random-pattern"]),
        dagger: share("dagger", values.dagger),
        allTokens: values["all-tokens"],
        epochs: wholeNumber("epochs", values.epochs, 1),
        learningRate: Number(values.lr) > 0 ? Number(values.lr) : wrong("lr", values.lr),
        batchSize: wholeNumber("batch", values.batch, 1),
        saveMinutes: minutes("save-minutes", values["save-minutes"]),
        holdout: values.holdout === undefined ? "tenth" : wholeNumber("holdout", values.holdout, 0),
      }),
    );
    const played =
      tasks > 0 ? await evaluate({ ...choices, model: out, tasks, progress: false }) : undefined;
    if (!isFirstRank()) return 0;
    if (values.json) print(JSON.stringify({ ...report, success: played?.table ?? null }, null, 2));
    else {
      print(summary(report));
      if (played) {
        const { won, episodes } = played.table.all;
        print(`${played.split}: ${won} of ${episodes} tasks solved`);
      }
    }
    return 0;
  },
};

function renamed(given: readonly string[]): string[] {
  return given.map((word) => {
    const [flag, ...rest] = word.split("=");
    const name = Object.hasOwn(OLD_NAMES, flag!) ? OLD_NAMES[flag!] : undefined;
    if (name === undefined) return word;
    printError(`note: ${flag} is called ${name} now`);
    return [name, ...rest].join("=");
  });
}

function summary({ updates, tokens, loss, model }: SftReport): string {
  return `${updates} updates, ${tokens} tokens learned, loss ${loss.toFixed(4)}; the model is in ${model}`;
}

function share(name: string, value: string): number {
  const parsed = Number(value);
  return parsed >= 0 && parsed < 1 ? parsed : wrong(name, value);
}

function minutes(name: string, value: string): number {
  const parsed = Number(value);
  return value.trim() !== "" && parsed >= 0 ? parsed : wrong(name, value);
}

function pattern(name: string, value: string): RegExp {
  try {
    return new RegExp(value, "u");
  } catch {
    return wrong(name, value);
  }
}

function wrong(name: string, value: string): never {
  throw new UsageError(`--${name} cannot be "${value}".`);
}
