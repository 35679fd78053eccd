/**
 * @file What a decoder language model is, as data: one shape for all families.
 */
import type { Dtype } from "../../torch/index.ts";

/** transformers' model types. */
export type Family = "qwen2" | "qwen3" | "llama" | "mistral" | "smollm3" | "gemma3_text";

/** What the feed-forward part puts its gates through; "gelu-tanh" is gelu_pytorch_tanh. */
export type Activation = "silu" | "gelu-tanh";

/** What sits on top of the decoder: next-token logits, or a few numbers per token. */
export type Head = "causal-lm" | "token-classification";

export interface ModelConfig {
  /** qwen2 is Qwen2 and Qwen2.5; llama is Llama 2 and 3.x; gemma3_text is Gemma 3 without images. */
  family: Family;
  head: Head;
  /** Numbers per token of a token-classification head; 1 is a value model. 0 for a causal-lm. */
  labels: number;

  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  /** Query heads. */
  heads: number;
  /** Key and value heads; each serves heads / keyValueHeads query heads. */
  keyValueHeads: number;
  /** Size of one head; heads × headDimension need not be hiddenSize. */
  headDimension: number;
  intermediateSize: number;
  /** The longest sequence the model was made for, in tokens. */
  maximumPositions: number;
  normEpsilon: number;
  /** The output layer is the embedding matrix: there is no lm_head.weight. */
  tiedEmbeddings: boolean;

  /** The q, k and v projections add a bias. */
  queryKeyValueBias: boolean;
  /** The o projection adds a bias. */
  outputBias: boolean;
  /** RMSNorm over each head of q and k, before the rotary embedding (Qwen3, Gemma 3). */
  queryKeyNorm: boolean;
  activation: Activation;
  /** Embeddings are multiplied by √hiddenSize, rounded to their dtype (Gemma 3). */
  scaledEmbeddings: boolean;
  /** Norms multiply by 1 + weight, in float32 (Gemma 3). */
  normsAddOne: boolean;
  /** What attention and the feed-forward part give is normalised before it is added (Gemma 3). */
  outputNorms: boolean;
  /** Scores are divided by the root of this; null: of headDimension. */
  attentionScalar: number | null;
  /**
   * Per layer: null for full causal attention, or w: a token sees itself and the w − 1 before it.
   */
  slidingWindows: readonly (number | null)[];
  rope: RopeConfig;
  /** Rope of the layers that see a window, where it is another (Gemma 3); null: the same. */
  localRope: RopeConfig | null;
  /** Layers without rotary embedding, by index (SmolLM3). */
  withoutRope: readonly number[];

  bosTokenId: number | null;
  /** Any of these ends a sequence. */
  eosTokenIds: readonly number[];
  padTokenId: number | null;
  /** Dtype of the weights on disk, where the file says it. */
  dtype: Dtype | null;
  /** Standard deviation of new weights. */
  initializerRange: number;
  /** Kept for other readers of the file; not applied here (see remarks). */
  attentionDropout: number;

  /** What the file says that is not applied here, as sentences for the user. */
  remarks: readonly string[];
}

/** Rotary position embedding: the base and how frequencies are scaled for longer contexts. */
export type RopeConfig =
  | { kind: "default"; theta: number }
  /** All frequencies divided by the factor. */
  | { kind: "linear"; theta: number; factor: number }
  /** The base grows with sequences longer than maximumPositions. */
  | { kind: "dynamic"; theta: number; factor: number }
  | Llama3Rope
  | YarnRope;

/** Low frequencies divided by the factor, high ones kept, a smooth transition between them. */
export interface Llama3Rope {
  kind: "llama3";
  theta: number;
  factor: number;
  lowFrequencyFactor: number;
  highFrequencyFactor: number;
  originalMaximumPositions: number;
}

/** As llama3 with a linear ramp, and a temperature on the attention. */
export interface YarnRope {
  kind: "yarn";
  theta: number;
  factor: number;
  originalMaximumPositions: number;
  /** Scale of cos and sin; null: from the factor (and mscale). */
  attentionFactor: number | null;
  betaFast: number;
  betaSlow: number;
  mscale: number | null;
  mscaleAllDimensions: number | null;
  /** Whether the ramp's ends are rounded to whole dimensions. */
  truncate: boolean;
}
