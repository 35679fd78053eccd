/**
 * @file `openmanus-rl model`: new model folders, what is in one, and models from and for others.
 */
import { readFileSync } from "node:fs";
import { resolveConfig, runOptions } from "../../config/index.ts";
import { PUBLISHED_MODELS } from "../../library/index.ts";
import {
  describeModel,
  type Family,
  initModelFolder,
  type ModelConfig,
  NUMBERS,
  type PresetName,
  presetConfig,
  presets,
  readModelConfig,
} from "../../models/index.ts";
import type { Dtype } from "../../torch/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { oneOf, optionsAndWords, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { FETCH_USAGE, fetchCommand, folderOf } from "../support/models/fetch.ts";
import { exportModel, importModel } from "../support/models/files.ts";
import { PUSH_USAGE, pushCommand } from "../support/models/push.ts";
import { modelReport } from "../support/models/report.ts";
import { print } from "../support/print.ts";

const FAMILIES: readonly Family[] = [
  ...(["qwen2", "qwen3", "llama", "mistral", "smollm3", "gemma3_text"] as const),
];
const DTYPES: readonly Dtype[] = ["float32", "bfloat16", "float16"];

export const model: Command = {
  help: [
    "Usage: openmanus-rl model init FOLDER --preset NAME --text FILE… [options]",
    "       openmanus-rl model init FOLDER --preset NAME env.env_name=WORLD … [options]",
    "       openmanus-rl model info FOLDER|NAME [--json]",
    `       ${FETCH_USAGE}`,
    `       ${PUSH_USAGE}`,
    "       openmanus-rl model import FILE.gguf FOLDER [--dtype NAME]",
    "       openmanus-rl model export FOLDER FILE.gguf [--type NAME]",
    "",
    "init makes a new model: a tokenizer learned from the text (special tokens and a chat template",
    "included) and random weights, in a folder that transformers can read. The text is that of files, or",
    "what a world's expert sees and does in training tasks, or both. info shows what a model folder",
    "holds, and what memory it takes. fetch gets a model of the Hub (org/name) into the cache that Python's",
    "huggingface_hub uses, too, or into a folder; every command that takes a model's folder takes such a name.",
    "push sends a model, or a run's best policy, to the Hub, with a card that tells how it was made. The token",
    "is that of the variable HF_TOKEN, or of the file that Python's login writes. import makes a model folder of",
    "a GGUF file (Llama, Qwen2, Qwen3); export makes a GGUF file, for llama.cpp and its like, of a model's folder",
    "or a run's.",
    "",
    ...presets.map(({ name, description }) => `  --preset ${name.padEnd(14)} ${description}`),
    "  --config FOLDER         the sizes of another model instead of a preset's",
    "  --family NAME           qwen2 (the default), qwen3, llama, mistral, smollm3 or gemma3_text",
    "  --text FILE…            what the tokenizer learns from, UTF-8",
    "  env.…=…, --world FILE   a world, set as for train, whose words the tokenizer learns; FILE is YAML",
    "  --tasks N               of so many training tasks (300)",
    "  --vocabulary N          tokens at most (by default the preset's)",
    "  --numbers HOW           apart: digit by digit (the default); joined: up to three with the space before;",
    '                          named: with the word before, too, so that "drawer 12" can be one token, as',
    '                          can codes and marks: "B07XQ2", "[SEP]"',
    "  --seed N                of the weights (by default 0)",
    "  --matching              attention begins by looking at equal tokens: a small model learns sooner to",
    "                          look names up in what was said before",
    "  --dtype NAME            of the weights on disk: float32 (the default), bfloat16 or float16",
    "                          (import: float32 or bfloat16)",
    "  --type NAME             export: of the matrices in the file: f32, bf16 or q8_0 (by default the weights' own)",
    "  --private               push: only its owners see it, where it is new",
    "  --revision BRANCH       push: another branch than main; one that is not there is made",
    "  --json                  info, fetch, push: one JSON object on standard output",
    "",
    ...Object.entries(PUBLISHED_MODELS).map(
      ([name, { summary }]) => `  fetch ${name.padEnd(17)} ${summary}`,
    ),
    "",
    "Example: openmanus-rl model fetch smollm2",
    "         openmanus-rl model fetch Qwen/Qwen2.5-0.5B-Instruct",
    "         openmanus-rl model init models/new --preset small --text stories.txt --seed 1",
    "         openmanus-rl model info models/new --json | jq .parameters",
    "         openmanus-rl model export runs/mine mine.gguf --type q8_0",
  ].join("\n"),
  async run(words) {
    const [what, ...rest] = words;
    if (what === "init") return await init(rest);
    if (what === "info") return await info(rest);
    if (what === "fetch") return await fetchCommand(rest);
    if (what === "push") return await pushCommand(rest);
    if (what === "import") return importModel(rest);
    if (what === "export") return exportModel(rest);
    throw new UsageError(
      "there are model init FOLDER, info FOLDER, fetch NAME, push FOLDER NAME, import FILE.gguf FOLDER and " +
        "export FOLDER FILE.gguf.",
    );
  },
};

async function init(given: readonly string[]): Promise<number> {
  const { settings, values, words } = settingsAndOptions(given, {
    preset: { type: "string" },
    config: { type: "string" },
    family: { type: "string" },
    text: { type: "string", multiple: true, default: [] },
    world: { type: "string", multiple: true, default: [] },
    tasks: { type: "string", default: "300" },
    vocabulary: { type: "string" },
    seed: { type: "string", default: "0" },
    numbers: { type: "string", default: "apart" },
    matching: { type: "boolean", default: false },
    dtype: { type: "string", default: "float32" },
  });
  const world = { files: values.world, overrides: settings };
  const hasWorld = world.files.length + world.overrides.length > 0;
  const [folder, ...more] = words;
  if (folder === undefined) throw new UsageError("init takes the folder of the new model.");
  if (values.text.length === 0 && !hasWorld)
    throw new UsageError(
      "init needs --text FILE, or a world (env.env_name=NAME): the tokenizer is learned from it.",
    );
  const config = await configOf(values);
  const vocabularySize =
    values.vocabulary === undefined
      ? config.vocabularySize
      : whole(values.vocabulary, "vocabulary");
  if (vocabularySize < 259 || vocabularySize > 1_000_000)
    throw new UsageError(
      `--vocabulary takes 259 (256 bytes, 3 special tokens) to 1000000; got ${vocabularySize}.`,
    );
  const made = initModelFolder(folder, {
    config,
    // "--text a b" gives b as a word of its own.
    texts: [
      ...[...values.text, ...more].map(readText),
      ...(hasWorld ? await textsOfWorld(world, whole(values.tasks, "tasks")) : []),
    ],
    vocabularySize,
    seed: whole(values.seed, "seed"),
    numbers: oneOf(values.numbers, NUMBERS, "numbers"),
    matching: values.matching,
    dtype: oneOf(values.dtype, DTYPES, "dtype"),
  });
  print(modelReport(describeModel(folder)));
  if (made.vocabularySize < vocabularySize)
    print(`! The text gave ${made.vocabularySize} tokens; up to ${vocabularySize} were asked for.`);
  return 0;
}

async function textsOfWorld(
  settings: { files: readonly string[]; overrides: readonly string[] },
  tasks: number,
): Promise<string[]> {
  const { agentOf, openRunWorld } = await import("../../assembly/index.ts");
  const { taskOrder, worldTexts } = await import("../../training/index.ts");
  const { config } = resolveConfig(settings);
  const { play, world } = await runOptions(config);
  const { format } = agentOf({ format: play.agent.format ?? "action" });
  const opened = await openRunWorld(world);
  try {
    const order = taskOrder(await opened.world.tasks(opened.trainSplit), 0, true);
    const texts = await worldTexts(opened, order.next(tasks), 0, format);
    // Before every text the template says whose it is: frequent words, too.
    return texts.flatMap((text) => ["user\n", "assistant\n", text]);
  } finally {
    await opened.world.close?.();
  }
}

async function configOf(values: {
  preset?: string;
  config?: string;
  family?: string;
}): Promise<ModelConfig> {
  if ((values.preset === undefined) === (values.config === undefined))
    throw new UsageError("init needs either --preset NAME or --config FOLDER.");
  if (values.config !== undefined) {
    if (values.family !== undefined)
      throw new UsageError("--family goes with --preset; --config has its own.");
    const config = readModelConfig(await folderOf(values.config));
    return { ...config, head: "causal-lm", labels: 0 };
  }
  const names = presets.map(({ name }) => name);
  return presetConfig(oneOf(values.preset!, names, "preset") as PresetName, {
    family: oneOf(values.family ?? "qwen2", FAMILIES, "family"),
  });
}

function whole(value: string, option: string): number {
  if (!/^\d{1,15}$/.test(value))
    throw new UsageError(`--${option} takes a whole number; got "${value}".`);
  return Number(value);
}

function readText(file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}

async function info(given: readonly string[]): Promise<number> {
  const { values, words } = optionsAndWords(given, { json: { type: "boolean", default: false } });
  const [folder, ...more] = words;
  if (folder === undefined || more.length > 0)
    throw new UsageError("info takes one folder: openmanus-rl model info FOLDER.");
  const found = describeModel(await folderOf(folder));
  print(values.json ? JSON.stringify(found, null, 2) : modelReport(found));
  return 0;
}
