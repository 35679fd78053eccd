/**
 * @file What a model folder holds, as a table for people.
 */
import type { ModelDescription } from "../../../models/index.ts";

export function modelReport(found: ModelDescription): string {
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

/** Bytes, for people. */
export function size(bytes: number): string {
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
