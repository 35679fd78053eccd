/**
 * @file Adapters in PEFT's format: adapter_config.json and adapter_model.safetensors.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeJson } from "../../folders/index.ts";
import { type Dtype, dispose, keep, noGrad, type Tensor, tidy } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { requireFolder } from "../checkpoint/folder.ts";
import type { Model } from "../decoder/model.ts";
import { openSafetensors, type SafetensorsFile } from "../safetensors/file.ts";
import { writeSafetensors } from "../safetensors/writer.ts";
import { ADAPTER_CONFIG_FILE, readAdapterConfig, toAdapterJson } from "./config-file.ts";
import { type LoraModel, loraDtype, requirePlain, withLora } from "./lora.ts";
import { loraShapes } from "./matrices.ts";

export const ADAPTER_FILE = "adapter_model.safetensors";

/** PEFT wraps the model twice, and its names say so. */
const PREFIX = "base_model.model.";

export interface SaveLoraOptions {
  /** Where the base is, for readers who look for it: a folder, or a name on the Hub (`org/name@COMMIT`). */
  baseModel?: string;
  /** Dtype on disk. Default: the adapter's own. */
  dtype?: Dtype;
}

/** Saves an adapter (with a value model's head) into a folder, in place of an older one. */
export function saveLora(model: LoraModel, folder: string, options: SaveLoraOptions = {}): void {
  const { baseModel = null, dtype } = options;
  mkdirSync(folder, { recursive: true });
  const named = [...model.trainable].map(([name, tensor]) => [PREFIX + name, tensor] as const);
  writeSafetensors(join(folder, ADAPTER_FILE), named, dtype === undefined ? {} : { dtype });
  writeJson(
    join(folder, ADAPTER_CONFIG_FILE),
    toAdapterJson(model.settings, model.config.head, baseModel),
  );
}

/** Gives a model the adapter of a folder; the model becomes its base, as in `addLora`. */
export function loadLora(base: Model, folder: string): LoraModel {
  requirePlain(base);
  requireFolder(folder);
  if (!existsSync(join(folder, ADAPTER_FILE)) && existsSync(join(folder, "adapter_model.bin")))
    throw new ModelFileError(
      folder,
      "has only adapter_model.bin, which is not read (it can run code); save it as safetensors",
    );
  const settings = readAdapterConfig(join(folder, ADAPTER_CONFIG_FILE));
  const file = openSafetensors(join(folder, ADAPTER_FILE));
  const matrices = new Map<string, Tensor>();
  try {
    const shapes = loraShapes(base.config, settings);
    const heads = [...base.parameters].filter(([name]) => name.startsWith("score."));
    const expected = [...shapes, ...heads.map(([name, { shape }]) => [name, shape] as const)];
    requireExactly(file, new Map(expected.map(([name, shape]) => [PREFIX + name, shape])));
    const dtype = loraDtype(base);
    for (const name of shapes.keys())
      matrices.set(name, keep(tidy(() => load(file, name, dtype).toDevice(base.device))));
    for (const [name, tensor] of heads)
      tidy(() => noGrad(() => tensor.copy_(load(file, name, tensor.dtype))));
    return withLora(base, settings, matrices);
  } catch (error) {
    dispose(matrices);
    throw error;
  } finally {
    file.close();
  }
}

function load(file: SafetensorsFile, name: string, dtype: Dtype): Tensor {
  return file.load(PREFIX + name, { dtype, copy: true, checkFinite: true });
}

/** Throws an error that names a tensor that is missing, unknown, or of another shape. */
function requireExactly(
  file: SafetensorsFile,
  expected: ReadonlyMap<string, readonly number[]>,
): void {
  const problem = (name: string): string | null => {
    const [found, wanted] = [file.tensors.get(name)?.shape, expected.get(name)];
    if (!found) return `lacks ${name}, [${wanted}]`;
    if (!wanted) return `has ${name}, which the adapter's config and the model do not ask for`;
    return String(found) === String(wanted)
      ? null
      : `${name} has the shape [${found}] instead of [${wanted}]`;
  };
  const problems = [...new Set([...expected.keys(), ...file.tensors.keys()])]
    .map(problem)
    .filter((text) => text !== null);
  if (problems.length > 0)
    throw new ModelFileError(
      file.path,
      problems[0]! + (problems.length > 1 ? `; and ${problems.length - 1} more like this` : ""),
    );
}
