/**
 * @file A GGUF file from a model folder, as llama.cpp's converter writes it.
 */
import { existsSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { makeFolder } from "../../folders/index.ts";
import { fromTypedArray, type Tensor } from "../../torch/index.ts";
import { ModelFileError, messageOf } from "../checkpoint/errors.ts";
import { verifyCheckpoint } from "../checkpoint/verify.ts";
import { readGenerationConfig } from "../config/generation.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { parameterShapes } from "../config/parameters.ts";
import { readModelConfig } from "../config/parse.ts";
import { type Checkpoint, openCheckpoint } from "../safetensors/checkpoint.ts";
import { TENSOR_TYPES } from "./format/types.ts";
import { type PlannedTensor, type WrittenType, writeGguf } from "./format/writer.ts";
import { configEntries } from "./metadata.ts";
import { ggufName, halvesToNeighbours, ROPE_FACTORS, reorderedHeads } from "./names.ts";
import { llama3Divisors } from "./rope.ts";
import { tokenizerEntries } from "./tokenizer/entries.ts";
import { vocabularyOfFolder } from "./tokenizer/from-folder.ts";

/** Of the matrices; vectors are always in 32 bits. */
export type ExportType = "f32" | "bf16" | "q8_0";
export const EXPORT_TYPES: readonly ExportType[] = ["f32", "bf16", "q8_0"];

export interface ExportOptions {
  /** Default: bf16 where the weights are bfloat16, otherwise f32; nothing is lost by either. */
  readonly type?: ExportType;
  /** Called as weights are written: how many of how many numbers. */
  onProgress?(done: number, total: number): void;
}

export interface ExportReport {
  readonly type: ExportType;
  readonly bytes: number;
  /** What llama.cpp will do differently, in sentences. */
  readonly remarks: readonly string[];
}

const WRITTEN: Readonly<Record<ExportType, WrittenType>> = {
  f32: "F32",
  bf16: "BF16",
  q8_0: "Q8_0",
};
/** llama.cpp's numbers for what a file mostly consists of. */
const FILE_TYPES: Readonly<Record<ExportType, number>> = { f32: 0, bf16: 32, q8_0: 7 };

/** Writes a file where there was none; it is complete or not there. */
export function exportGguf(
  folder: string,
  file: string,
  options: ExportOptions = {},
): ExportReport {
  if (existsSync(file))
    throw new ModelFileError(file, "exists already; choose another name or remove it first");
  const config = readModelConfig(folder);
  const checkpoint = openCheckpoint(folder);
  try {
    verifyCheckpoint(checkpoint, config);
    const type = options.type ?? ownType(checkpoint);
    const name = basename(resolve(folder));
    const { vocabulary, remarks } = vocabularyOfFolder(folder, config.vocabularySize);
    const metadata = new Map([
      ...configEntries(config, name, FILE_TYPES[type], folder),
      ...tokenizerEntries(vocabulary, readGenerationConfig(folder, config).eosTokenIds),
    ]);
    const tensors = plannedTensors(checkpoint, config, WRITTEN[type], options);
    try {
      makeFolder(dirname(resolve(file)));
      writeGguf(file, metadata, tensors);
    } catch (error) {
      // No room, no permission: nothing is there now that was not there before.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      throw new ModelFileError(file, `cannot be written (${messageOf(error)})`, { cause: error });
    }
    return { type, bytes: statSync(file).size, remarks };
  } finally {
    checkpoint.close();
  }
}

function ownType(checkpoint: Checkpoint): ExportType {
  const isBfloat16 = checkpoint.names.every((name) => checkpoint.info(name).dtype === "bfloat16");
  return isBfloat16 ? "bf16" : "f32";
}

function plannedTensors(
  checkpoint: Checkpoint,
  config: ModelConfig,
  type: WrittenType,
  { onProgress }: ExportOptions,
): PlannedTensor[] {
  const shapes = [...parameterShapes(config)];
  const size = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);
  const total = shapes.reduce((sum, [, shape]) => sum + size(shape), 0);
  let done = 0;
  const load = (name: string, shape: readonly number[]): Tensor => {
    const stored = checkpoint.load(name, { dtype: "float32", copy: true, checkFinite: true });
    const heads = reorderedHeads(name, config);
    done += size(shape);
    onProgress?.(done, total);
    return heads === undefined ? stored : halvesToNeighbours(stored, heads);
  };
  const weights = shapes.map(
    ([name, shape]): PlannedTensor => ({
      name: ggufName(name),
      type: typeOf(type, shape),
      shape,
      load: () => load(name, shape),
    }),
  );
  const { rope, headDimension } = config;
  if (rope.kind !== "llama3") return weights;
  const divisors = llama3Divisors(rope, headDimension);
  return [
    {
      ...{ name: ROPE_FACTORS, type: "F32", shape: [divisors.length] },
      load: () => fromTypedArray(divisors),
    },
    ...weights,
  ];
}

/** Rows that are no whole blocks are written in 16 bits, as llama.cpp's converter does. */
function typeOf(type: WrittenType, shape: readonly number[]): WrittenType {
  if (shape.length < 2) return "F32";
  return shape.at(-1)! % TENSOR_TYPES[type].blockElements === 0 ? type : "F16";
}
