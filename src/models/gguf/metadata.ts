/**
 * @file A model's configuration as the metadata that llama.cpp's converter writes.
 */
import { ModelFileError } from "../checkpoint/errors.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { Entry } from "./format/writer.ts";
import { ARCHITECTURE } from "./names.ts";

const uint32 = (value: number): Entry => ({ type: "uint32", value });
const float32 = (value: number): Entry => ({ type: "float32", value });
const string = (value: string): Entry => ({ type: "string", value });

/** Throws, with the reason, for models that llama.cpp would compute differently. `folder`: for messages. */
export function configEntries(
  config: ModelConfig,
  name: string,
  fileType: number,
  folder: string,
): Map<string, Entry> {
  const fail = (reason: string): never => {
    throw new ModelFileError(folder, `cannot be exported to GGUF: ${reason}`);
  };
  if (config.head !== "causal-lm") fail("it is a value model, and llama.cpp has only policies");
  if (config.slidingWindows.some((window) => window !== null))
    fail("its layers see a window, which llama.cpp does not have for this family");
  if (config.outputBias && config.family !== "llama")
    fail("its attention's output has a bias, which llama.cpp has only for Llama");
  const architecture =
    ARCHITECTURE[config.family] ??
    fail(`models of the family ${config.family} are not written here (Llama, Mistral, Qwen are)`);
  const own: [string, Entry][] = [
    ["block_count", uint32(config.layers)],
    ["context_length", uint32(config.maximumPositions)],
    ["embedding_length", uint32(config.hiddenSize)],
    ["feed_forward_length", uint32(config.intermediateSize)],
    ["attention.head_count", uint32(config.heads)],
    ["attention.head_count_kv", uint32(config.keyValueHeads)],
    ["attention.key_length", uint32(config.headDimension)],
    ["attention.value_length", uint32(config.headDimension)],
    ["attention.layer_norm_rms_epsilon", float32(config.normEpsilon)],
    ["vocab_size", uint32(config.vocabularySize)],
    ["rope.dimension_count", uint32(config.headDimension)],
    ["rope.freq_base", float32(config.rope.theta)],
    ...ropeEntries(config, fail),
  ];
  return new Map<string, Entry>([
    ["general.architecture", string(architecture)],
    ["general.type", string("model")],
    ["general.name", string(name)],
    ["general.file_type", uint32(fileType)],
    ["general.quantization_version", uint32(2)],
    ...own.map(([key, entry]): [string, Entry] => [`${architecture}.${key}`, entry]),
  ]);
}

function ropeEntries(
  { rope, maximumPositions, family }: ModelConfig,
  fail: (reason: string) => never,
): [string, Entry][] {
  const scaled = (kind: string, factor: number): [string, Entry][] => [
    ["rope.scaling.type", string(kind)],
    ["rope.scaling.factor", float32(factor)],
  ];
  switch (rope.kind) {
    case "default":
      return [];
    case "linear":
      return scaled("linear", rope.factor);
    case "llama3":
      // A tensor of its own says it (rope.ts), which only Llama has.
      return ARCHITECTURE[family] === "llama"
        ? []
        : fail("its rope is scaled as Llama 3's, which llama.cpp has only for Llama");
    case "yarn": {
      const isPlain =
        rope.attentionFactor === null && rope.mscale === null && rope.mscaleAllDimensions === null;
      if (!isPlain || !rope.truncate || rope.betaFast !== 32 || rope.betaSlow !== 1)
        return fail("its yarn has settings of its own, which the file cannot say");
      const original = rope.originalMaximumPositions || maximumPositions;
      return [
        ...scaled("yarn", rope.factor),
        ["rope.scaling.original_context_length", uint32(original)],
      ];
    }
    case "dynamic":
      return fail("its rope changes with the text's length (dynamic), which llama.cpp does not do");
  }
}
