/**
 * @file Ready-made sizes for `model init`.
 */
import {
  everyLayer,
  FAMILIES,
  type FamilyFacts,
  familyComputation,
  SMOLLM3_INTERVAL,
} from "./families.ts";
import type { Family, ModelConfig } from "./model-config.ts";
import { GEMMA_PATTERN } from "./windows.ts";

interface Preset {
  description: string;
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  heads: number;
  keyValueHeads: number;
  intermediateSize: number;
  maximumPositions: number;
  theta: number;
  /** Deviation of new weights. Narrow models start faster with more than transformers' 0.02. */
  initializerRange: number;
}

/** What layers of Gemma 3's smallest model see, in tokens. */
const GEMMA_WINDOW = 512;

const PRESETS = {
  tiny: {
    description: "0.1 million parameters, for tests",
    vocabularySize: 512,
    hiddenSize: 64,
    layers: 2,
    heads: 4,
    keyValueHeads: 2,
    intermediateSize: 128,
    maximumPositions: 2048,
    theta: 10_000,
    initializerRange: 0.08,
  },
  mini: {
    description: "0.4 million parameters, learns a text world in minutes on a CPU",
    vocabularySize: 1024,
    hiddenSize: 96,
    layers: 3,
    heads: 3,
    keyValueHeads: 3,
    intermediateSize: 256,
    maximumPositions: 4096,
    theta: 10_000,
    initializerRange: 0.07,
  },
  small: {
    description: "5 million parameters, trains on a laptop's CPU",
    vocabularySize: 4096,
    hiddenSize: 256,
    layers: 6,
    heads: 8,
    keyValueHeads: 4,
    intermediateSize: 704,
    maximumPositions: 8192,
    theta: 10_000,
    initializerRange: 0.04,
  },
  medium: {
    description: "40 million parameters",
    vocabularySize: 8192,
    hiddenSize: 512,
    layers: 12,
    heads: 8,
    keyValueHeads: 4,
    intermediateSize: 1408,
    maximumPositions: 8192,
    theta: 10_000,
    initializerRange: 0.03,
  },
  "qwen2.5-0.5b": {
    description: "the exact shape of Qwen2.5-0.5B, 494 million parameters",
    vocabularySize: 151_936,
    hiddenSize: 896,
    layers: 24,
    heads: 14,
    keyValueHeads: 2,
    intermediateSize: 4864,
    maximumPositions: 32_768,
    theta: 1_000_000,
    initializerRange: 0.02,
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

/** Names with a line about each. */
export const presets: readonly { name: PresetName; description: string }[] = (
  Object.keys(PRESETS) as PresetName[]
).map((name) => ({ name, description: PRESETS[name].description }));

export interface PresetOptions {
  /** Default: qwen2. */
  family?: Family;
  /** That of the tokenizer, for example. */
  vocabularySize?: number;
  bosTokenId?: number | null;
  eosTokenIds?: readonly number[];
  padTokenId?: number | null;
}

/** A configuration of one of the ready-made sizes, float32, tied embeddings. */
export function presetConfig(name: PresetName, options: PresetOptions = {}): ModelConfig {
  if (!Object.hasOwn(PRESETS, name))
    throw new Error(
      `presetConfig: no preset is called ${name}; there are ${Object.keys(PRESETS).join(", ")}`,
    );
  const { description: _, theta, ...sizes } = PRESETS[name];
  const family = options.family ?? "qwen2";
  const facts = FAMILIES[family];
  return {
    family,
    head: "causal-lm",
    labels: 0,
    ...sizes,
    vocabularySize: options.vocabularySize ?? sizes.vocabularySize,
    headDimension: sizes.hiddenSize / sizes.heads,
    normEpsilon: 1e-6,
    tiedEmbeddings: true,
    queryKeyValueBias: facts.bias === "always",
    outputBias: false,
    queryKeyNorm: facts.queryKeyNorm,
    ...familyComputation(facts),
    attentionScalar: facts.gemma ? sizes.hiddenSize / sizes.heads : null,
    slidingWindows: presetWindows(facts, sizes.layers),
    rope: { kind: "default", theta },
    localRope: facts.localTheta === null ? null : { kind: "default", theta: facts.localTheta },
    withoutRope: facts.layersWithoutRope ? everyLayer(sizes.layers, SMOLLM3_INTERVAL) : [],
    bosTokenId: options.bosTokenId ?? null,
    eosTokenIds: options.eosTokenIds ?? [],
    padTokenId: options.padTokenId ?? null,
    dtype: "float32",
    attentionDropout: 0,
    remarks: [],
  };
}

/** Windows only where the family cannot be without them; the last layer sees everything. */
function presetWindows(facts: FamilyFacts, layers: number): (number | null)[] {
  const full = everyLayer(layers, Math.min(layers, GEMMA_PATTERN));
  return Array.from({ length: layers }, (_, i) =>
    facts.slidingWindow !== "pattern" || full.includes(i) ? null : GEMMA_WINDOW,
  );
}

/** The same model with a scalar per token instead of logits: a value model. */
export function valueModelConfig(config: ModelConfig, labels = 1): ModelConfig {
  return { ...config, head: "token-classification", labels };
}
