/**
 * @file `openmanus-rl model init|info`: new model folders, and what is in one.
 */
import { readFileSync } from "node:fs";
import { resolveConfig, runOptions } from "../../config/index.ts";
import {
  describeModel,
  type Family,
  initModelFolder,
  type ModelConfig,
  type ModelDescription,
  NUMBERS,
  type PresetName,
  presetConfig,
  presets,
  readModelConfig,
} from "../../models/index.ts";
import type { Dtype } from "../../torch/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { optionsAndWords, UsageError } from "../arguments/usage.ts";
import type { Command } from "../main.ts";

const FAMILIES: readonly Family[] = ["qwen2", "qwen3", "llama", "mistral"];
const DTYPES: readonly Dtype[] = ["float32", "bfloat16", "float16"];

export const model: Command = {
  help: [
    "Usage: openmanus-rl model init FOLDER --preset NAME --text FILE… [options]",
    "       openmanus-rl model init FOLDER --preset NAME env.env_name=WORLD … [options]",
    "       openmanus-rl model info FOLDER [--json]",
    "",
    "init makes a new model: a tokenizer learned from the text (special tokens and a chat template",
    "included) and random weights, in a folder that transformers can read. The text is that of files, or",
    "what a world's expert sees and does in training tasks, or both. info shows what a model folder",
    "holds, and what memory it takes.",
    "",
    ...presets.map(({ name, description }) => `  --preset ${name.padEnd(14)} ${description}`),
    "  --config FOLDER         the sizes of another model instead of a preset's",
    "  --family NAME           qwen2 (the default), qwen3, llama or mistral",
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
    "  --json                  info: one JSON object on standard output",
    "",
    "Example: openmanus-rl model init models/new --preset small --text stories.txt --seed 1",
    "         openmanus-rl model info models/new --json | jq .parameters",
  ].join("\n"),
  async run(words) {
    const [what, ...rest] = words;
    if (what === "init") return await init(rest);
    if (what === "info") return info(rest);
    throw new UsageError("there are model init FOLDER and model info FOLDER.");
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
  const config = configOf(values);
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
  console.log(report(describeModel(folder)));
  if (made.vocabularySize < vocabularySize)
    console.log(
      `! The text gave ${made.vocabularySize} tokens; up to ${vocabularySize} were asked for.`,
    );
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

function configOf(values: { preset?: string; config?: string; family?: string }): ModelConfig {
  if ((values.preset === undefined) === (values.config === undefined))
    throw new UsageError("init needs either --preset NAME or --config FOLDER.");
  if (values.config !== undefined) {
    if (values.family !== undefined)
      throw new UsageError("--family goes with --preset; --config has its own.");
    const config = readModelConfig(values.config);
    return { ...config, head: "causal-lm", labels: 0 };
  }
  const names = presets.map(({ name }) => name);
  return presetConfig(oneOf(values.preset!, names, "preset") as PresetName, {
    family: oneOf(values.family ?? "qwen2", FAMILIES, "family"),
  });
}

function oneOf<Name extends string>(value: string, names: readonly Name[], option: string): Name {
  const found = names.find((name) => name === value);
  if (found === undefined)
    throw new UsageError(`--${option} takes one of ${names.join(", ")}; got "${value}".`);
  return found;
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

function info(given: readonly string[]): number {
  const { values, words } = optionsAndWords(given, { json: { type: "boolean", default: false } });
  const [folder, ...more] = words;
  if (folder === undefined || more.length > 0)
    throw new UsageError("info takes one folder: openmanus-rl model info FOLDER.");
  const found = describeModel(folder);
  console.log(values.json ? JSON.stringify(found, null, 2) : report(found));
  return 0;
}

function report(found: ModelDescription): string {
  const { memory, tokenizer, slidingWindow: window } = found;
  const heads = `${found.heads} heads of ${found.headDimension} (${found.keyValueHeads} for keys and values)`;
  const special = (["bos", "eos", "pad", "endOfTurn"] as const)
    .filter((name) => tokenizer?.[name])
    .map((name) => `${name === "endOfTurn" ? "end of turn" : name} ${tokenizer![name]}`);
  const rows: [string, string][] = [
    ["folder", found.folder],
    ["architecture", found.architecture],
    [
      "parameters",
      `${amount(found.parameters)}, ${amount(found.embeddingParameters)} of them embeddings` +
        (found.tiedEmbeddings ? " (tied)" : ""),
    ],
    ["layers", `${found.layers} of ${found.hiddenSize}, ${heads}, inner ${found.intermediateSize}`],
    [
      "context",
      `${found.context} tokens, rope ${found.rope}` +
        (window ? `; ${window.layers} layers see ${window.tokens}` : ""),
    ],
    [
      "weights",
      Object.entries(found.weights)
        .map(([dtype, bytes]) => `${size(bytes)} of ${dtype}`)
        .join(", "),
    ],
    ["vocabulary", `${found.vocabularySize}${tokenizer ? `, tokenizer ${tokenizer.tokens}` : ""}`],
    ["special tokens", special.join(", ") || "unknown"],
    [
      "memory",
      `${size(memory.training)} to train all of it in float32, ${size(memory.lora)} with LoRA of rank 16`,
    ],
    [
      "per token",
      `${size(memory.activationsPerToken)} of activations (${size(memory.checkpointedPerToken)} with ` +
        `checkpoints), ${size(memory.cachePerToken)} of cache`,
    ],
  ];
  const lines = rows.map(([name, text]) => `${name.padEnd(15)} ${text}`);
  return [...lines, ...found.remarks.map((text) => `! ${text}`)].join("\n");
}

function size(bytes: number): string {
  for (const [unit, factor] of [
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
  ] as const)
    if (bytes >= factor) return `${Number((bytes / factor).toPrecision(3))} ${unit}`;
  return `${bytes} bytes`;
}

function amount(count: number): string {
  return count < 1e6
    ? count.toLocaleString("en")
    : `${Number((count / 1e6).toPrecision(3))} million`;
}
