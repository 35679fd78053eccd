/**
 * @file The differences between the families, as data. Defaults are those of transformers' classes,
 * for keys that a config.json may leave out.
 */
import type { Activation, Family, Head, ModelConfig } from "./model-config.ts";

export interface FamilyFacts {
  /** In the names of transformers' classes: Qwen2ForCausalLM. */
  className: string;
  queryKeyNorm: boolean;
  /**
   * "always": q, k and v have a bias, o has none; "never"; "configured": `attention_bias` says it for
   * all four.
   */
  bias: "always" | "never" | "configured";
  /** null: as many as query heads; "required": no default that would make sense. */
  keyValueHeads: null | "required";
  /** null: hidden_size / num_attention_heads. */
  headDimension: number | null;
  maximumPositions: number;
  /**
   * "switched": `use_sliding_window`, `max_window_layers`, `layer_types`; "without rope": switched, and
   * by default for the layers without rope; "all": `sliding_window` is for all layers; "pattern": all
   * but every sixth, or what `sliding_window_pattern` or `layer_types` say; "none".
   */
  slidingWindow: "switched" | "without rope" | "all" | "pattern" | "none";
  /** Whether `no_rope_layers` and `no_rope_layer_interval` take rope from some layers. */
  layersWithoutRope: boolean;
  /** The base of the rotary embedding. */
  theta: number;
  /** That of layers with a window; null: the same. */
  localTheta: number | null;
  activation: Activation;
  /** Embeddings, norms, scores and residuals as in Gemma 3: see ModelConfig. */
  gemma: boolean;
  tiedEmbeddings: boolean;
  bosTokenId: number | null;
  eosTokenIds: readonly number[];
  padTokenId: number | null;
}

/** What the families have that differ from Llama in a few things only. */
const LIKE_LLAMA = {
  layersWithoutRope: false,
  theta: 10_000,
  localTheta: null,
  activation: "silu",
  gemma: false,
  tiedEmbeddings: false,
  padTokenId: null,
} as const;

export const FAMILIES: Readonly<Record<Family, FamilyFacts>> = {
  qwen2: {
    ...LIKE_LLAMA,
    className: "Qwen2",
    queryKeyNorm: false,
    bias: "always",
    keyValueHeads: "required",
    headDimension: null,
    maximumPositions: 32768,
    slidingWindow: "switched",
    bosTokenId: null,
    eosTokenIds: [],
  },
  qwen3: {
    ...LIKE_LLAMA,
    className: "Qwen3",
    queryKeyNorm: true,
    bias: "configured",
    keyValueHeads: "required",
    headDimension: 128,
    maximumPositions: 32768,
    slidingWindow: "switched",
    bosTokenId: null,
    eosTokenIds: [],
  },
  llama: {
    ...LIKE_LLAMA,
    className: "Llama",
    queryKeyNorm: false,
    bias: "configured",
    keyValueHeads: null,
    headDimension: null,
    maximumPositions: 2048,
    slidingWindow: "none",
    bosTokenId: 1,
    eosTokenIds: [2],
  },
  mistral: {
    ...LIKE_LLAMA,
    className: "Mistral",
    queryKeyNorm: false,
    bias: "never",
    keyValueHeads: "required",
    headDimension: null,
    maximumPositions: 131072,
    slidingWindow: "all",
    bosTokenId: 1,
    eosTokenIds: [2],
  },
  smollm3: {
    ...LIKE_LLAMA,
    className: "SmolLM3",
    queryKeyNorm: false,
    bias: "configured",
    keyValueHeads: "required",
    headDimension: null,
    maximumPositions: 32768,
    slidingWindow: "without rope",
    layersWithoutRope: true,
    theta: 2_000_000,
    tiedEmbeddings: true,
    bosTokenId: 128000,
    eosTokenIds: [128001],
    padTokenId: 128004,
  },
  gemma3_text: {
    ...LIKE_LLAMA,
    className: "Gemma3",
    queryKeyNorm: true,
    bias: "configured",
    keyValueHeads: "required",
    headDimension: 256,
    maximumPositions: 131072,
    slidingWindow: "pattern",
    theta: 1_000_000,
    localTheta: 10_000,
    activation: "gelu-tanh",
    gemma: true,
    tiedEmbeddings: true,
    bosTokenId: 2,
    eosTokenIds: [1],
    padTokenId: 0,
  },
};

/** transformers' names of the activations. */
export const ACTIVATIONS: Readonly<Record<Activation, string>> = {
  silu: "silu",
  "gelu-tanh": "gelu_pytorch_tanh",
};

/** What of a family's computation no key of config.json changes. */
export function familyComputation({
  activation,
  gemma,
}: FamilyFacts): Pick<
  ModelConfig,
  "activation" | "scaledEmbeddings" | "normsAddOne" | "outputNorms"
> {
  return { activation, scaledEmbeddings: gemma, normsAddOne: gemma, outputNorms: gemma };
}

/** SmolLM3: every fourth layer is without rope where the file does not say. */
export const SMOLLM3_INTERVAL = 4;

/** Of every so many layers the last, by index. */
export function everyLayer(layers: number, interval: number): number[] {
  return Array.from({ length: layers }, (_, i) => i).filter((i) => (i + 1) % interval === 0);
}

const HEADS: Readonly<Record<Head, string>> = {
  "causal-lm": "ForCausalLM",
  "token-classification": "ForTokenClassification",
};

/** The name of transformers' class: `Qwen2ForCausalLM`. */
export function architectureName(family: Family, head: Head): string {
  return FAMILIES[family].className + HEADS[head];
}

/** All architectures that are supported, by name. */
export const ARCHITECTURES: ReadonlyMap<string, { family: Family; head: Head }> = new Map(
  (Object.keys(FAMILIES) as Family[]).flatMap((family) =>
    (Object.keys(HEADS) as Head[]).map((head) => [
      architectureName(family, head),
      { family, head },
    ]),
  ),
);
