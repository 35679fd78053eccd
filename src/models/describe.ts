/**
 * @file What a model folder holds, in facts for people and scripts, without loading its weights.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Dtype } from "../torch/index.ts";
import { ModelFileError } from "./checkpoint/errors.ts";
import { verifyCheckpoint } from "./checkpoint/verify.ts";
import { architectureName } from "./config/families.ts";
import type { Family, Head, ModelConfig, RopeConfig } from "./config/model-config.ts";
import { parameterCount } from "./config/parameters.ts";
import { readModelConfig } from "./config/parse.ts";
import { loraShapes } from "./lora/matrices.ts";
import { LORA_TARGETS, loraSettings } from "./lora/options.ts";
import { openCheckpoint } from "./safetensors/checkpoint.ts";
import { Chat } from "./tokenizer/chat/chat.ts";
import { loadChatTemplate } from "./tokenizer/chat/template.ts";
import { loadTokenizer } from "./tokenizer/files.ts";

export interface ModelDescription {
  folder: string;
  architecture: string;
  family: Family;
  head: Head;
  parameters: number;
  /** Of them in the embedding (and the output layer, where it is another matrix). */
  embeddingParameters: number;
  layers: number;
  hiddenSize: number;
  heads: number;
  keyValueHeads: number;
  headDimension: number;
  intermediateSize: number;
  vocabularySize: number;
  tiedEmbeddings: boolean;
  /** Tokens. */
  context: number;
  rope: string;
  /** Layers that see only a window, and its size. */
  slidingWindow: { layers: number; tokens: number } | null;
  /** How many bytes the files hold per dtype. */
  weights: Partial<Record<Dtype, number>>;
  tokenizer: TokenizerDescription | null;
  memory: MemoryEstimate;
  remarks: string[];
}

export interface TokenizerDescription {
  tokens: number;
  bos: string | null;
  eos: string | null;
  pad: string | null;
  /** What ends an assistant's turn by the chat template; null without a usable template. */
  endOfTurn: string | null;
}

/** Bytes. Activations come on top. */
export interface MemoryEstimate {
  /** The weights alone, as on disk. */
  inference: number;
  /** Weights, gradients and two moments of AdamW in float32. */
  training: number;
  /** Weights as on disk; LoRA of rank 16 on all matrices as above. */
  lora: number;
  /** Per packed token of a training pass, in float32. */
  activationsPerToken: number;
  /** The same with a checkpoint at every layer. */
  checkpointedPerToken: number;
  /** Keys and values of one token in the generation cache, in float32. */
  cachePerToken: number;
}

/** Looks at a folder; a config or weights that cannot be used are an error that says why. */
export function describeModel(folder: string): ModelDescription {
  const config = readModelConfig(folder);
  const weights = weightBytes(folder, config);
  const { tokenizer, remarks } = describeTokenizer(folder, config);
  const windows = config.slidingWindows.filter((window) => window !== null);
  const { family, head, layers, hiddenSize, heads, keyValueHeads, headDimension } = config;
  return {
    ...{ folder, architecture: architectureName(family, head), family, head },
    parameters: parameterCount(config),
    embeddingParameters:
      config.vocabularySize * hiddenSize * (head === "causal-lm" && !config.tiedEmbeddings ? 2 : 1),
    ...{ layers, hiddenSize, heads, keyValueHeads, headDimension },
    intermediateSize: config.intermediateSize,
    vocabularySize: config.vocabularySize,
    tiedEmbeddings: config.tiedEmbeddings,
    context: config.maximumPositions,
    rope: describeRope(config),
    slidingWindow: windows.length > 0 ? { layers: windows.length, tokens: windows[0]! } : null,
    weights,
    tokenizer,
    memory: estimateMemory(
      config,
      Object.values(weights).reduce((sum, bytes) => sum + bytes, 0),
    ),
    remarks: [...config.remarks, ...remarks],
  };
}

function describeRope({ rope, localRope, withoutRope }: ModelConfig): string {
  const text = ({ kind, theta }: RopeConfig): string => `${kind}, base ${theta}`;
  return (
    text(rope) +
    (localRope ? ` (in windows ${text(localRope)})` : "") +
    (withoutRope.length > 0 ? ` (none in ${withoutRope.length} layers)` : "")
  );
}

function weightBytes(folder: string, config: ModelConfig): ModelDescription["weights"] {
  const checkpoint = openCheckpoint(folder);
  try {
    const bytes: Partial<Record<Dtype, number>> = {};
    for (const name of verifyCheckpoint(checkpoint, config)) {
      const { dtype, byteLength } = checkpoint.info(name);
      bytes[dtype] = (bytes[dtype] ?? 0) + byteLength;
    }
    return bytes;
  } finally {
    checkpoint.close();
  }
}

/** Problems of the tokenizer are remarks: the weights can be used without it. */
function describeTokenizer(
  folder: string,
  config: ModelConfig,
): { tokenizer: TokenizerDescription | null; remarks: string[] } {
  const remarks: string[] = [];
  const attempt = <Result>(body: () => Result): Result | null => {
    try {
      return body();
    } catch (error) {
      if (!(error instanceof ModelFileError)) throw error;
      remarks.push(error.message);
      return null;
    }
  };
  if (!["tokenizer.json", "tokenizer.model"].some((name) => existsSync(join(folder, name))))
    return { tokenizer: null, remarks: ["There is no tokenizer in the folder."] };
  const tokenizer = attempt(() => loadTokenizer(folder));
  if (!tokenizer) return { tokenizer: null, remarks };
  const chat = attempt(() => new Chat({ tokenizer, template: loadChatTemplate(folder) }));
  if (tokenizer.vocabularySize > config.vocabularySize)
    remarks.push(
      `The tokenizer has ${tokenizer.vocabularySize} tokens, the model only ` +
        `${config.vocabularySize}: texts with the others cannot be used.`,
    );
  const end = chat && (tokenizer.idToToken(chat.endOfTurnId) ?? null);
  const { bos_token: bos, eos_token: eos, pad_token: pad } = tokenizer.namedTokens;
  return {
    tokenizer: { tokens: tokenizer.vocabularySize, bos, eos, pad, endOfTurn: end },
    remarks,
  };
}

/** Weight, gradient, two moments. */
const TRAINED_BYTES = 16;

/** By the configuration alone; `weights` are the bytes of all, default float32. */
export function estimateMemory(
  config: ModelConfig,
  weights = 4 * parameterCount(config),
): MemoryEstimate {
  const { layers, hiddenSize, intermediateSize, headDimension, heads, keyValueHeads } = config;
  const keys = keyValueHeads * headDimension;
  const queries = heads * headDimension;
  // What backward needs of a layer: the input and its norm, q, k and v as they came and turned, what
  // the heads saw, the sum and its norm, gate, up and their product.
  const plain = 4 * hiddenSize + 3 * queries + 3 * keys + 3 * intermediateSize;
  // Where what is added is normalised, that as it came; gelu keeps what comes out of it.
  const perLayer =
    plain +
    (config.outputNorms ? 2 * hiddenSize : 0) +
    (config.activation === "silu" ? 0 : intermediateSize);
  const settings = loraSettings({ rank: 16, targets: LORA_TARGETS });
  const adapter = [...loraShapes(config, settings).values()].reduce(
    (sum, [rows = 0, columns = 0]) => sum + rows * columns,
    0,
  );
  return {
    inference: weights,
    training: TRAINED_BYTES * parameterCount(config),
    lora: weights + TRAINED_BYTES * adapter,
    activationsPerToken: 4 * layers * perLayer,
    checkpointedPerToken: 4 * (layers * hiddenSize + perLayer),
    cachePerToken: 4 * 2 * layers * keys,
  };
}
