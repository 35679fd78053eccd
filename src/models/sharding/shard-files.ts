/**
 * @file A sharded model's vectors in files as they lie in the ranks, for models that are too large to be
 * gathered often: a file per rank, and config.json. Any number of ranks reads them, one included.
 *
 *   config.json
 *   part-00000-of-00004.safetensors   weights.root [part], first_moment.root [part], …
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { writeJson } from "../../folders/index.ts";
import { cat, type Dtype, keep, type Tensor, tidy } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { readModelConfig } from "../config/parse.ts";
import { toConfigJson } from "../config/write.ts";
import { type LoadModelOptions, type Model, modelOf } from "../decoder/model.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/file.ts";
import { writeSafetensors } from "../safetensors/writer.ts";
import { unitsOf } from "./layout.ts";
import type { ShardPlace } from "./load.ts";

const PART = /^part-(\d{5})-of-(\d{5})\.safetensors$/;

/** What a unit's weights are called in these files. */
export const WEIGHTS = "weights";

export function isShardFolder(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((name) => PART.test(name));
}

/** Writes a rank's file; the first also writes the configuration. `vectors` by `<kind>.<unit>`. */
export function writeShardFile(
  folder: string,
  { index, count }: ShardPlace,
  config: ModelConfig,
  vectors: ReadonlyMap<string, Tensor>,
): void {
  mkdirSync(folder, { recursive: true });
  const digits = (value: number): string => String(value).padStart(5, "0");
  writeSafetensors(
    join(folder, `part-${digits(index)}-of-${digits(count)}.safetensors`),
    [...vectors].map(([name, tensor]) => [name, tensor.detach()] as const),
  );
  if (index === 0)
    writeJson(join(folder, "config.json"), toConfigJson({ ...config, dtype: "float32" }));
}

export interface ShardFiles {
  readonly config: ModelConfig;
  /** Kinds of vectors besides weights: first_moment, … */
  readonly kinds: readonly string[];
  /** Numbers [start, start + count) of a vector, whoever wrote them. */
  read(vector: string, start: number, count: number, dtype: Dtype): Tensor;
  close(): void;
}

export function openShardFiles(folder: string): ShardFiles {
  const names = readdirSync(folder)
    .filter((name) => PART.test(name))
    .sort();
  const count = Number(PART.exec(names[0] ?? "")?.[2] ?? 0);
  if (names.length !== count || names.some((name, i) => Number(PART.exec(name)![1]) !== i))
    throw new ModelFileError(folder, `has ${names.length} parts of ${count}; all are needed`);
  const files: SafetensorsFile[] = [];
  const close = (): void => {
    for (const file of files) file.close();
  };
  try {
    for (const name of names) files.push(openSafetensors(join(folder, name)));
    const kinds = [...files[0]!.tensors.keys()].flatMap(
      (name) => /^(\w+)\.root$/.exec(name)?.[1] ?? [],
    );
    return {
      config: readModelConfig(folder),
      kinds: kinds.filter((kind) => kind !== WEIGHTS),
      read: (vector, start, length, dtype) =>
        tidy(() => cat(piecesFrom(files, vector, start, length, dtype), 0)),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function piecesFrom(
  files: readonly SafetensorsFile[],
  vector: string,
  start: number,
  length: number,
  dtype: Dtype,
): Tensor[] {
  const part = files[0]!.tensors.get(vector)?.shape[0];
  if (part === undefined) throw new ModelFileError(files[0]!.path, `has no vector ${vector}`);
  const pieces: Tensor[] = [];
  for (let at = start; at < start + length; ) {
    const index = Math.floor(at / part);
    const count = Math.min(start + length, (index + 1) * part) - at;
    pieces.push(files[index]!.loadRange(vector, at - index * part, count, { dtype }));
    at += count;
  }
  return pieces;
}

/** The whole model of such files, in one process. */
export function modelFromShards(folder: string, { dtype = "float32" }: LoadModelOptions): Model {
  const files = openShardFiles(folder);
  try {
    return modelOf(files.config, wholeFrom(files, WEIGHTS, dtype));
  } finally {
    files.close();
  }
}

/** All tensors of a kind by the names that they have in memory, kept. */
export function wholeFrom(files: ShardFiles, kind: string, dtype: Dtype): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const unit of unitsOf(files.config))
    for (const { name, shape, start, numel } of unit.pieces)
      tensors.set(
        name,
        keep(tidy(() => files.read(`${kind}.${unit.name}`, start, numel, dtype).view(shape))),
      );
  return tensors;
}
