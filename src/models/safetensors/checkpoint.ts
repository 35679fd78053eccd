/**
 * @file The weights of a model folder: `model.safetensors`, or the shards that
 * `model.safetensors.index.json` names, as one set of tensors.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Dtype, Tensor } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { requireFolder } from "../checkpoint/folder.ts";
import { isJsonObject, readJsonObject } from "../checkpoint/json.ts";
import { type LoadOptions, openSafetensors, type SafetensorsFile } from "./file.ts";

export const SINGLE_FILE = "model.safetensors";
export const INDEX_FILE = "model.safetensors.index.json";

export interface TensorInfo {
  dtype: Dtype;
  shape: readonly number[];
  byteLength: number;
  /** The file that holds it. */
  file: string;
}

/** Open weights. Loaded tensors outlive `close`. */
export interface Checkpoint {
  readonly folder: string;
  readonly names: readonly string[];
  has(name: string): boolean;
  info(name: string): TensorInfo;
  /** Inside `tidy` the tensor belongs to the scope, as any other. */
  load(name: string, options?: LoadOptions): Tensor;
  /** Some of a tensor's numbers, [count]; see SafetensorsFile. */
  loadRange(name: string, start: number, count: number, options?: { dtype?: Dtype }): Tensor;
  close(): void;
}

/** Opens and validates the weights of a folder; whatever is corrupt is refused with the reason. */
export function openCheckpoint(folder: string): Checkpoint {
  // The single file wins, as in transformers.
  if (existsSync(join(folder, SINGLE_FILE)))
    return joined(folder, [openSafetensors(join(folder, SINGLE_FILE))]);
  if (existsSync(join(folder, INDEX_FILE))) return openShards(folder);
  requireFolder(folder);
  throw new ModelFileError(folder, whatIsMissing(folder));
}

function whatIsMissing(folder: string): string {
  const pickled = existsSync(join(folder, "pytorch_model.bin"))
    ? "; pytorch_model.bin is not read (it can run code): convert it with transformers' save_pretrained"
    : "";
  return `has neither ${SINGLE_FILE} nor ${INDEX_FILE}${pickled}`;
}

function openShards(folder: string): Checkpoint {
  const index = join(folder, INDEX_FILE);
  const places = readIndex(index);
  const files: SafetensorsFile[] = [];
  try {
    for (const shard of new Set(places.values())) {
      if (!existsSync(join(folder, shard)))
        throw new ModelFileError(index, `names the shard ${shard}, which does not exist`);
      files.push(openSafetensors(join(folder, shard)));
    }
    requireAgreement(index, places, files, folder);
    return joined(folder, files);
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
}

/** Each tensor's shard. Names with a path are refused: an index must not reach outside its folder. */
function readIndex(index: string): Map<string, string> {
  const map = readJsonObject(index).weight_map;
  if (!isJsonObject(map))
    throw new ModelFileError(index, "weight_map must be an object from tensor names to file names");
  const places = new Map<string, string>();
  for (const [name, shard] of Object.entries(map)) {
    if (typeof shard !== "string" || !/^[^/\\\0]+\.safetensors$/.test(shard))
      throw new ModelFileError(
        index,
        `weight_map gives ${JSON.stringify(name)} the file ${JSON.stringify(shard)}; ` +
          "expected the name of a .safetensors file beside the index",
      );
    places.set(name, shard);
  }
  if (places.size === 0) throw new ModelFileError(index, "weight_map is empty");
  return places;
}

function requireAgreement(
  index: string,
  places: ReadonlyMap<string, string>,
  files: readonly SafetensorsFile[],
  folder: string,
): void {
  const byPath = new Map(files.map((file) => [file.path, file]));
  for (const [name, shard] of places)
    if (!byPath.get(join(folder, shard))!.tensors.has(name))
      throw new ModelFileError(
        index,
        `says that ${shard} holds ${JSON.stringify(name)}; it does not`,
      );
  for (const { path, tensors } of files)
    for (const name of tensors.keys()) {
      const shard = places.get(name);
      if (shard === undefined)
        throw new ModelFileError(
          path,
          `holds ${JSON.stringify(name)}, which the index does not name`,
        );
      if (join(folder, shard) !== path)
        throw new ModelFileError(
          path,
          `holds ${JSON.stringify(name)}, which the index places in ${shard}: a tensor twice`,
        );
    }
}

function joined(folder: string, files: readonly SafetensorsFile[]): Checkpoint {
  const home = new Map(
    files.flatMap((file) => [...file.tensors.keys()].map((name) => [name, file])),
  );
  const find = (name: string): SafetensorsFile => {
    const file = home.get(name);
    if (!file)
      throw new ModelFileError(folder, `the weights have no tensor ${JSON.stringify(name)}`);
    return file;
  };
  return {
    folder,
    names: [...home.keys()],
    has: (name) => home.has(name),
    info: (name) => {
      const file = find(name);
      const { dtype, shape, byteLength } = file.tensors.get(name)!;
      return { dtype, shape, byteLength, file: file.path };
    },
    load: (name, options) => find(name).load(name, options),
    loadRange: (name, ...rest) => find(name).loadRange(name, ...rest),
    close: () => {
      for (const file of files) file.close();
    },
  };
}
