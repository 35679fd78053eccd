/**
 * @file The weights as servers read them: a model folder per version, in memory where there is room (/dev/shm), because
 * it is read once and removed.
 */
import { existsSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../folders/index.ts";
import {
  configParameterCount,
  type LoraModel,
  type Model,
  saveLora,
  saveModelFolder,
} from "../../models/index.ts";
import { type Tensor, tidy } from "../../torch/index.ts";

const MEMORY = "/dev/shm";
const BYTES = { float32: 4, bfloat16: 2, float16: 2 } as const;

export interface WeightsPlace {
  readonly folder: string;
  /** Writes the weights of a version; gives their folder. */
  write(model: Model, version: number | "base"): string;
  /** Writes the adapter of a version; gives its folder. */
  writeAdapter(model: LoraModel, version: number): string;
  /** Removes all but this version, and the base of adapters. */
  keepOnly(version: number): void;
  dispose(): void;
}

export interface WeightsPlaceOptions {
  /** Where somebody wants them; undefined: in memory, or in the run's folder. */
  readonly asked: string | undefined;
  readonly runFolder: string;
  readonly dtype: keyof typeof BYTES;
  readonly tokenizerFolder: string;
}

export function weightsPlace(
  { config }: Pick<Model, "config">,
  { asked, runFolder, dtype, tokenizerFolder }: WeightsPlaceOptions,
): WeightsPlace {
  // The output layer is written by itself, and two versions lie there while servers change over.
  const output = config.tiedEmbeddings ? config.vocabularySize * config.hiddenSize : 0;
  const bytes = (configParameterCount(config) + output) * BYTES[dtype];
  const parent = asked ?? (roomInMemory() > 2.2 * bytes ? MEMORY : runFolder);
  const folder = join(parent, `openmanus-rl-weights-${process.pid}-${Date.now().toString(36)}`);
  const versions = new Set<number>();
  const folderOf = (version: number | "base"): string => join(folder, `version-${version}`);
  return {
    folder,
    write(model, version) {
      makeFolder(folder);
      // A server that lost its connection in the middle of reading finds either all or nothing.
      tidy(() => saveModelFolder(folderOf(version), { ...untied(model), dtype, tokenizerFolder }));
      if (version !== "base") versions.add(version);
      return folderOf(version);
    },
    writeAdapter(model, version) {
      makeFolder(folder);
      const [place, part] = [folderOf(version), join(folder, "part")];
      rmSync(part, { recursive: true, force: true });
      tidy(() => saveLora(model, part, { dtype, baseModel: folderOf("base") }));
      renameSync(part, place);
      versions.add(version);
      return place;
    },
    keepOnly(version) {
      for (const old of [...versions].filter((one) => one !== version)) {
        rmSync(folderOf(old), { recursive: true, force: true });
        versions.delete(old);
      }
    },
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function roomInMemory(): number {
  if (!existsSync(MEMORY)) return 0;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize;
}

/**
 * With an output layer of its own, equal to the embeddings: where vLLM computes on a CPU it packs the output layer when
 * it is loaded, and a reload packs only what the files have. Tied, the embeddings would be new and the packed output
 * layer old, under the same name and checksum.
 */
export function untied(model: Model): Pick<Model, "config"> & { tensors: Map<string, Tensor> } {
  const { config } = model;
  const tensors = model.weights();
  if (!config.tiedEmbeddings) return { config, tensors };
  return {
    config: { ...config, tiedEmbeddings: false },
    tensors: new Map([...tensors, ["lm_head.weight", tensors.get("model.embed_tokens.weight")!]]),
  };
}
