/**
 * @file What the tests of GGUF files share: small model folders of every family, and files made by hand, right
 * or wrong.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_ALIGNMENT, MAGIC, padded } from "../../../src/models/gguf/format/header.ts";
import { VALUE } from "../../../src/models/gguf/format/types.ts";
import {
  initModelFolder,
  loadModel,
  type ModelConfig,
  type Numbers,
  presetConfig,
  saveModel,
} from "../../../src/models/index.ts";
import { Generator, noGrad, randn, tidy } from "../../../src/torch/index.ts";
import { temporaryFolder } from "../files.ts";

const TEXT = "the quick brown fox jumps over the lazy dog 12, the dog sleeps.\n".repeat(20);

export interface FolderWishes {
  readonly config?: Partial<ModelConfig>;
  readonly numbers?: Numbers;
  readonly dtype?: "float32" | "bfloat16";
}

/** A model folder whose weights are all different, biases and norms included. */
export function smallFolder(
  family: ModelConfig["family"],
  { config = {}, numbers = "apart", dtype = "float32" }: FolderWishes = {},
): string {
  const parent = temporaryFolder();
  const made = join(parent, "made");
  const sizes = { hiddenSize: 32, headDimension: 16, intermediateSize: 64 };
  initModelFolder(made, {
    config: { ...presetConfig("tiny", { family }), ...sizes, ...config },
    ...{ texts: [TEXT], vocabularySize: 280, numbers, seed: 1 },
  });
  const model = loadModel(made);
  const generator = new Generator(7);
  noGrad(() => {
    for (const parameter of model.parameters.values())
      tidy(() => parameter.copy_(randn(parameter.shape, generator)));
  });
  const folder = join(parent, "model");
  saveModel(model, folder, { tokenizerFolder: made, dtype });
  model.dispose();
  return folder;
}

/** Bytes of numbers and texts as the format has them. */
export const raw = {
  uint32: (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  },
  uint64: (value: number | bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
  },
  text: (value: string | Buffer): Buffer => {
    const bytes = Buffer.from(value);
    return Buffer.concat([raw.uint64(bytes.length), bytes]);
  },
  /** An entry of the metadata with a text. */
  entry: (key: string, value: string): Buffer =>
    Buffer.concat([raw.text(key), raw.uint32(VALUE.string), raw.text(value)]),
};

export interface RawTensor {
  readonly name: string;
  readonly sizes: readonly (number | bigint)[];
  readonly type?: number;
  readonly start?: number | bigint;
}

export interface RawFile {
  readonly magic?: number;
  readonly version?: number;
  readonly entries?: readonly Buffer[];
  readonly entryCount?: number | bigint;
  readonly tensors?: readonly RawTensor[];
  readonly tensorCount?: number | bigint;
  /** Bytes behind the header's padding. */
  readonly data?: number;
}

/** The bytes of a file that is as wrong as asked for. */
export function ggufBytes(wishes: RawFile): Buffer {
  const { magic = MAGIC, version = 3, entries = [], tensors = [], data = 0 } = wishes;
  const header = Buffer.concat([
    ...[raw.uint32(magic), raw.uint32(version)],
    raw.uint64(wishes.tensorCount ?? tensors.length),
    raw.uint64(wishes.entryCount ?? entries.length),
    ...entries,
    ...tensors.flatMap(({ name, sizes, type = 0, start = 0 }) => [
      ...[raw.text(name), raw.uint32(sizes.length), ...sizes.map(raw.uint64)],
      ...[raw.uint32(type), raw.uint64(start)],
    ]),
  ]);
  const rest = padded(header.length, DEFAULT_ALIGNMENT) - header.length;
  return Buffer.concat([header, Buffer.alloc(rest + data)]);
}

/** A file in a folder of the test's. */
export function fileOf(bytes: Uint8Array): string {
  const file = join(temporaryFolder(), "model.gguf");
  writeFileSync(file, bytes);
  return file;
}
