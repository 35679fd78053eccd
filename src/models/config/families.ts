/**
 * @file The differences between the families, as data. Defaults are those of transformers' classes,
 * for keys that a config.json may leave out.
 */
import type { Family, Head } from "./model-config.ts";

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
   * "switched": `use_sliding_window`, `max_window_layers`, `layer_types`; "all": `sliding_window` is
   * for all layers; "none".
   */
  slidingWindow: "switched" | "all" | "none";
  bosTokenId: number | null;
  eosTokenIds: readonly number[];
}

export const FAMILIES: Readonly<Record<Family, FamilyFacts>> = {
  qwen2: {
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
};

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
