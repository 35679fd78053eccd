/**
 * @file config.json of every family and age, and what is refused.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelFileError } from "../../../src/models/checkpoint/errors.ts";
import type { ModelConfig } from "../../../src/models/config/model-config.ts";
import { parseModelConfig, readModelConfig } from "../../../src/models/config/parse.ts";
import { toConfigJson } from "../../../src/models/config/write.ts";
import { GOLDEN, isWithoutGolden, temporaryFolder } from "../files.ts";

type Json = Record<string, unknown>;

const SIZES = {
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
};
const qwen2: Json = { architectures: ["Qwen2ForCausalLM"], model_type: "qwen2", ...SIZES };
const qwen3: Json = { ...qwen2, architectures: ["Qwen3ForCausalLM"], model_type: "qwen3" };
const llama: Json = { ...qwen2, architectures: ["LlamaForCausalLM"], model_type: "llama" };
const mistral: Json = { ...qwen2, architectures: ["MistralForCausalLM"], model_type: "mistral" };
const smollm3: Json = { ...qwen2, architectures: ["SmolLM3ForCausalLM"], model_type: "smollm3" };
const gemma3: Json = {
  ...qwen2,
  ...{ architectures: ["Gemma3ForCausalLM"], model_type: "gemma3_text", num_hidden_layers: 7 },
};

const parse = (json: Json, more: Json = {}): ModelConfig => parseModelConfig({ ...json, ...more });

describe("families", () => {
  it("Qwen2: a bias in q, k and v, none in o", () => {
    expect(parse(qwen2)).toMatchObject({
      family: "qwen2",
      head: "causal-lm",
      queryKeyValueBias: true,
      outputBias: false,
      queryKeyNorm: false,
      headDimension: 16,
      rope: { kind: "default", theta: 10_000 },
      slidingWindows: [null, null, null, null],
      eosTokenIds: [],
      normEpsilon: 1e-6,
      tiedEmbeddings: false,
    });
  });

  it("Qwen3: norms of q and k, and heads of their own size", () => {
    expect(parse(qwen3)).toMatchObject({
      queryKeyValueBias: false,
      queryKeyNorm: true,
      headDimension: 128,
    });
    expect(parse(qwen3, { head_dim: 32, attention_bias: true })).toMatchObject({
      headDimension: 32,
      queryKeyValueBias: true,
      outputBias: true,
    });
  });

  it("Llama: as many key heads as heads unless said, its own special tokens", () => {
    const { num_key_value_heads: _, ...without } = llama;
    expect(parse(without)).toMatchObject({
      keyValueHeads: 4,
      bosTokenId: 1,
      eosTokenIds: [2],
      maximumPositions: 2048,
    });
    expect(parse(llama, { eos_token_id: [7, 8, 9], bos_token_id: null })).toMatchObject({
      eosTokenIds: [7, 8, 9],
      bosTokenId: null,
    });
  });

  it("Mistral: one window for all layers unless null", () => {
    expect(parse(mistral).slidingWindows).toEqual([4096, 4096, 4096, 4096]);
    expect(parse(mistral, { sliding_window: 16 }).slidingWindows).toEqual([16, 16, 16, 16]);
    expect(parse(mistral, { sliding_window: null }).slidingWindows).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it("Qwen's windows: only if switched on, from a layer on or by layer_types", () => {
    const on = { use_sliding_window: true, sliding_window: 8 };
    expect(parse(qwen2, { sliding_window: 8 }).slidingWindows).toEqual([null, null, null, null]);
    expect(parse(qwen2, on).slidingWindows).toEqual([null, null, null, null]);
    expect(parse(qwen2, { ...on, max_window_layers: 2 }).slidingWindows).toEqual([
      null,
      null,
      8,
      8,
    ]);
    const layer_types = ["sliding_attention", "full_attention", "full_attention", "full_attention"];
    expect(parse(qwen3, { ...on, layer_types }).slidingWindows).toEqual([8, null, null, null]);
  });

  it("SmolLM3: rope in all layers but every fourth, or as the list says; windows where there is none", () => {
    expect(parse(smollm3)).toMatchObject({
      ...{ withoutRope: [3], tiedEmbeddings: true, queryKeyValueBias: false },
      ...{ rope: { kind: "default", theta: 2_000_000 }, slidingWindows: [null, null, null, null] },
      ...{ bosTokenId: 128000, eosTokenIds: [128001], padTokenId: 128004 },
    });
    expect(parse(smollm3, { no_rope_layer_interval: 2 }).withoutRope).toEqual([1, 3]);
    const no_rope_layers = [0, 1, 1, 0];
    const on = { use_sliding_window: true, sliding_window: 8, no_rope_layers };
    expect(parse(smollm3, on)).toMatchObject({
      ...{ withoutRope: [0, 3], slidingWindows: [8, null, null, 8] },
    });
    const layer_types = ["full_attention", "sliding_attention", "full_attention", "full_attention"];
    expect(parse(smollm3, { ...on, layer_types }).slidingWindows).toEqual([null, 8, null, null]);
    // There is no default window.
    expect(parse(smollm3, { use_sliding_window: true }).slidingWindows).toEqual([
      ...[null, null, null, null],
    ]);
  });

  it.each<[string, unknown]>([
    ["too short", [1, 0]],
    ["another number", [1, 0, 2, 1]],
    ["flags", [true, false, true, true]],
    ["no list", 4],
  ])("SmolLM3: a list of layers that cannot be, %s", (_, no_rope_layers) => {
    expect(() => parse(smollm3, { no_rope_layers })).toThrow(/no_rope_layers is .*for each of 4/);
    expect(() => parse(smollm3, { no_rope_layers })).toThrow(ModelFileError);
  });

  it("Gemma 3: local layers with a rope of their own, gelu, four norms, scaled embeddings", () => {
    expect(parse(gemma3)).toMatchObject({
      ...{ activation: "gelu-tanh", scaledEmbeddings: true, normsAddOne: true, outputNorms: true },
      ...{ queryKeyNorm: true, headDimension: 256, attentionScalar: 256, tiedEmbeddings: true },
      rope: { kind: "default", theta: 1_000_000 },
      localRope: { kind: "default", theta: 10_000 },
      slidingWindows: [4096, 4096, 4096, 4096, 4096, null, 4096],
      ...{ bosTokenId: 2, eosTokenIds: [1], padTokenId: 0 },
    });
    const more = { query_pre_attn_scalar: 168, sliding_window_pattern: 2, sliding_window: 9 };
    expect(parse(gemma3, more)).toMatchObject({
      attentionScalar: 168,
      slidingWindows: [9, null, 9, null, 9, null, 9],
    });
    const rope_scaling = { rope_type: "linear", factor: 8 };
    const older = { rope_theta: 5e5, rope_local_base_freq: 2e4, rope_scaling };
    const newer = {
      full_attention: { rope_type: "linear", factor: 8, rope_theta: 5e5 },
      sliding_attention: { rope_type: "default", rope_theta: 2e4 },
    };
    const both = parse(gemma3, older);
    expect(both.rope).toEqual({ kind: "linear", theta: 5e5, factor: 8 });
    expect(both.localRope).toEqual({ kind: "default", theta: 2e4 });
    expect(parse(gemma3, { rope_parameters: newer })).toEqual(both);
    // As transformers: what the newer one says of the base goes before the older one.
    expect(parse(gemma3, { rope_theta: 7, rope_scaling, rope_parameters: newer })).toEqual(both);
  });

  it.each<[string, Json, RegExp]>([
    ["another activation", { hidden_activation: "gelu" }, /hidden_activation is "gelu".*gelu_pyt/],
    ["soft-capped logits", { final_logit_softcapping: 30 }, /final_logit_softcapping is 30/],
    ["soft-capped scores", { attn_logit_softcapping: 50 }, /attn_logit_softcapping is 50/],
    ["both directions", { use_bidirectional_attention: true }, /use_bidirectional_attention/],
    ["no window", { sliding_window: null }, /sliding_window is null, but some layers/],
    ["a scale of nothing", { query_pre_attn_scalar: 0 }, /query_pre_attn_scalar is 0/],
    [
      "one rope in the newer spelling",
      { rope_parameters: { rope_theta: 1e6 } },
      /rope_theta is not/,
    ],
    ["images", { vision_config: { hidden_size: 8 } }, /vision_config/],
    ["layers without rope", { no_rope_layers: [1] }, /no_rope_layers is \[1\].*SmolLM3/],
  ])("Gemma 3: %s is refused", (_, more, reason) => {
    expect(() => parse(gemma3, more)).toThrow(reason);
    expect(() => parse(gemma3, more)).toThrow(ModelFileError);
  });

  it("a value model is a token classifier with one label", () => {
    const architectures = ["Qwen2ForTokenClassification"];
    expect(parse(qwen2, { architectures, num_labels: 1 })).toMatchObject({
      head: "token-classification",
      labels: 1,
    });
    expect(parse(qwen2, { architectures, id2label: { 0: "A", 1: "B", 2: "C" } }).labels).toBe(3);
    expect(() =>
      parse(qwen2, { architectures, num_labels: 1, id2label: { 0: "A", 1: "B" } }),
    ).toThrow("num_labels is 1, but id2label has 2");
  });

  it("the model type alone is enough", () => {
    expect(parse({ ...SIZES, model_type: "qwen3" }).family).toBe("qwen3");
  });

  it("dtype under both names", () => {
    expect(parse(qwen2, { torch_dtype: "bfloat16" }).dtype).toBe("bfloat16");
    expect(parse(qwen2, { dtype: "float16" }).dtype).toBe("float16");
    expect(parse(qwen2).dtype).toBeNull();
  });

  it("says that dropout is not applied", () => {
    expect(parse(qwen2, { attention_dropout: 0.1 }).remarks).toEqual([
      expect.stringContaining("attention_dropout is 0.1"),
    ]);
    expect(parse(qwen2, { attention_dropout: 0 }).remarks).toEqual([]);
  });
});

describe("rope", () => {
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 64,
  };

  it("is the same in the older and the newer spelling", () => {
    const older = parse(llama, {
      rope_theta: 5e5,
      rope_scaling: { rope_type: "llama3", ...llama3 },
    });
    const oldest = parse(llama, { rope_theta: 5e5, rope_scaling: { type: "llama3", ...llama3 } });
    const newer = parse(llama, {
      rope_parameters: { rope_theta: 5e5, rope_type: "llama3", ...llama3 },
    });
    expect(older.rope).toEqual({
      kind: "llama3",
      theta: 5e5,
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalMaximumPositions: 64,
    });
    expect(oldest.rope).toEqual(older.rope);
    expect(newer.rope).toEqual(older.rope);
  });

  it("yarn's defaults are transformers'", () => {
    const rope_scaling = { rope_type: "yarn", factor: 4, beta_fast: null };
    expect(parse(qwen2, { rope_scaling, max_position_embeddings: 1000 }).rope).toEqual({
      kind: "yarn",
      theta: 10_000,
      factor: 4,
      originalMaximumPositions: 1000,
      attentionFactor: null,
      betaFast: 32,
      betaSlow: 1,
      mscale: null,
      mscaleAllDimensions: null,
      truncate: true,
    });
  });

  it.each<[string, Json, RegExp]>([
    [
      "an unknown kind",
      { rope_type: "longrope", factor: 2 },
      /rope_scaling\.rope_type is "longrope"/,
    ],
    ["an unknown key", { rope_type: "linear", factor: 2, mrope_section: [1] }, /mrope_section/],
    ["two kinds", { rope_type: "linear", type: "yarn", factor: 2 }, /rope_scaling\.type is "yarn"/],
    ["no factor", { rope_type: "linear" }, /rope_scaling\.factor is missing/],
    ["a bad factor", { rope_type: "linear", factor: -1 }, /rope_scaling\.factor is -1/],
    ["crossed limits", { rope_type: "llama3", ...llama3, high_freq_factor: 1 }, /high_freq_factor/],
    ["a partial rotation", { rope_type: "default", partial_rotary_factor: 0.5 }, /partial_rotary/],
    ["parameters per layer type", { full_attention: {}, sliding_attention: {} }, /full_attention/],
  ])("%s is refused", (_, rope_scaling, reason) => {
    expect(() => parse(llama, { rope_scaling })).toThrow(reason);
  });
});

describe("an error names the key", () => {
  it.each<[string, Json, RegExp]>([
    [
      "another architecture",
      { architectures: ["GPT2LMHeadModel"] },
      /architectures is \["GPT2LMHeadModel"\]; expected one of Qwen2ForCausalLM/,
    ],
    ["two architectures", { architectures: ["Qwen2ForCausalLM", "X"] }, /architectures/],
    [
      "a type that differs",
      { model_type: "llama" },
      /model_type is "llama", but .*Qwen2ForCausalLM/,
    ],
    ["no architecture", { architectures: null, model_type: null }, /architectures is missing/],
    ["an unknown type", { architectures: null, model_type: "gemma2" }, /model_type is "gemma2"/],
    ["another activation", { hidden_act: "gelu" }, /hidden_act is "gelu": only.*silu/],
    ["quantised weights", { quantization_config: { bits: 4 } }, /quantization_config/],
    ["a bias in the MLP", { mlp_bias: true }, /mlp_bias is true/],
    ["soft-capping", { final_logit_softcapping: 30 }, /final_logit_softcapping is 30/],
    ["partial rotation", { partial_rotary_factor: 0.5 }, /partial_rotary_factor is 0\.5/],
    ["code of its own", { auto_map: { AutoModel: "x.Y" } }, /auto_map/],
    ["experts", { num_experts: 8 }, /num_experts is 8/],
    ["an encoder", { is_encoder_decoder: true }, /is_encoder_decoder/],
    ["no size", { hidden_size: null }, /hidden_size is missing/],
    ["a size as text", { hidden_size: "64" }, /hidden_size is "64"; expected an integer/],
    ["a fractional size", { num_hidden_layers: 1.5 }, /num_hidden_layers is 1\.5/],
    ["too many layers", { num_hidden_layers: 1e9 }, /num_hidden_layers is 1000000000/],
    ["heads that do not divide", { num_attention_heads: 5 }, /hidden_size is 64, which 5 heads/],
    ["key heads that do not divide", { num_key_value_heads: 3 }, /num_key_value_heads is 3/],
    ["an odd head", { head_dim: 15 }, /head_dim is 15.*even/],
    ["a negative epsilon", { rms_norm_eps: -1 }, /rms_norm_eps is -1/],
    ["a bad dtype", { torch_dtype: "int8" }, /torch_dtype is "int8"/],
    ["a bad end", { eos_token_id: "x" }, /eos_token_id is "x"/],
    ["a bad flag", { tie_word_embeddings: 1 }, /tie_word_embeddings is 1/],
    ["too few layer types", { layer_types: ["full_attention"] }, /layer_types has 1 entries for 4/],
    [
      "a strange layer type",
      { layer_types: new Array(4).fill("linear_attention") },
      /"linear_attention"/,
    ],
    [
      "a window that is off",
      { layer_types: new Array(4).fill("sliding_attention") },
      /use_sliding_window/,
    ],
  ])("%s", (_, more, reason) => {
    expect(() => parse(qwen2, more)).toThrow(reason);
    expect(() => parse(qwen2, more)).toThrow(ModelFileError);
  });

  it("missing key heads where the family has no sensible default", () => {
    expect(() => parse(qwen2, { num_key_value_heads: undefined })).toThrow(
      "num_key_value_heads is missing",
    );
    expect(parse(qwen2, { num_key_value_heads: null }).keyValueHeads).toBe(4);
  });

  it("files that are missing or garbage", () => {
    const folder = temporaryFolder();
    expect(() => readModelConfig(join(folder, "none"))).toThrow("the folder does not exist");
    expect(() => readModelConfig(folder)).toThrow(/config\.json: the file does not exist/);
    for (const [text, reason] of [
      ["{", "not valid JSON"],
      ["[]", "not a JSON object"],
      ['{"a":1,"a":2}', '"a" appears twice'],
    ] as const) {
      writeFileSync(join(folder, "config.json"), text);
      expect(() => readModelConfig(folder)).toThrow(reason);
    }
    writeFileSync(join(folder, "config.json"), Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => readModelConfig(folder)).toThrow("not valid UTF-8");
  });
});

describe("written and read again", () => {
  const configs: [string, ModelConfig][] = [
    [
      "Qwen2 with windows",
      parse(qwen2, { use_sliding_window: true, sliding_window: 8, max_window_layers: 1 }),
    ],
    [
      "Qwen3",
      parse(qwen3, {
        head_dim: 32,
        attention_bias: true,
        dtype: "bfloat16",
        tie_word_embeddings: true,
      }),
    ],
    ["Llama", parse(llama, { eos_token_id: [5, 6], pad_token_id: 0, attention_dropout: 0.25 })],
    ["Mistral", parse(mistral, { sliding_window: null, head_dim: 8 })],
    [
      "a value model",
      parse(llama, { architectures: ["LlamaForTokenClassification"], num_labels: 1 }),
    ],
    [
      "SmolLM3",
      parse(smollm3, { use_sliding_window: true, sliding_window: 8, no_rope_layer_interval: 2 }),
    ],
    ["SmolLM3 with rope everywhere", parse(smollm3, { no_rope_layers: [1, 1, 1, 1] })],
    [
      "Gemma 3",
      parse(gemma3, {
        ...{ head_dim: 8, query_pre_attn_scalar: 9, sliding_window: 8, rope_theta: 5e5 },
        ...{ rope_scaling: { rope_type: "linear", factor: 8 }, rope_local_base_freq: 7e3 },
      }),
    ],
    ["Gemma 3, all global", parse(gemma3, { sliding_window_pattern: 1 })],
    ["linear", parse(llama, { rope_scaling: { type: "linear", factor: 2 } })],
    ["dynamic", parse(llama, { rope_scaling: { type: "dynamic", factor: 2.5 }, rope_theta: 7 })],
    [
      "yarn",
      parse(qwen2, {
        rope_scaling: {
          type: "yarn",
          factor: 4,
          attention_factor: 1.5,
          mscale: 0.7,
          mscale_all_dim: 1.1,
          truncate: false,
        },
      }),
    ],
  ];

  it.each(configs)("%s", (_name, config) => {
    const json = JSON.parse(JSON.stringify(toConfigJson(config))) as Json;
    expect({ ...parse(json), remarks: [] }).toEqual({ ...config, remarks: [] });
    // Readers that know only one of the spellings of rope see the same.
    const { rope_parameters: _newer, ...older } = json;
    const { rope_scaling: _older, rope_theta: _theta, rope_local_base_freq: _, ...newer } = json;
    for (const one of [older, newer]) {
      const { rope, localRope } = parse(one);
      expect({ rope, localRope }).toEqual({ rope: config.rope, localRope: config.localRope });
    }
  });

  it.skipIf(isWithoutGolden())("golden models", () => {
    for (const name of readdirSync(GOLDEN)) {
      const config = readModelConfig(join(GOLDEN, name));
      expect(parse(toConfigJson(config) as Json)).toEqual(config);
    }
  });
});

describe("whatever the file says", () => {
  /** Good, or refused with a reason. */
  const parsedOrRefused = (json: unknown): void => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "config.json"), JSON.stringify(json));
    try {
      const config = readModelConfig(folder);
      expect(config.slidingWindows.length).toBe(config.layers);
      expect(config.heads % config.keyValueHeads).toBe(0);
      parseModelConfig(toConfigJson(config));
    } catch (error) {
      expect(error).toBeInstanceOf(ModelFileError);
    }
  };

  it("any JSON", () => {
    fc.assert(fc.property(fc.jsonValue(), parsedOrRefused), { numRuns: 200 });
  });

  it("any values for the keys we read", () => {
    const source = readFileSync(
      new URL("../../../src/models/config/parse.ts", import.meta.url),
      "utf8",
    );
    const keys = [...new Set([...source.matchAll(/"([a-z0-9_]{4,})"/g)].map((match) => match[1]!))];
    expect(keys).toContain("num_key_value_heads");
    const more = [
      "rope_scaling",
      "rope_parameters",
      "layer_types",
      "sliding_window",
      "use_sliding_window",
      "sliding_window_pattern",
      "rope_local_base_freq",
      "no_rope_layers",
    ];
    const value = fc.oneof(
      fc.constantFrom<unknown>(0, 1, 2, 4, -1, 1.5, 1e300, true, false, null, "", "silu", "yarn"),
      fc.jsonValue({ maxDepth: 1 }),
      fc.record({
        rope_type: fc.constantFrom("yarn", "linear", "llama3", "dynamic"),
        factor: fc.float(),
      }),
    );
    const changes = fc.dictionary(fc.constantFrom(...keys, ...more), value, { maxKeys: 4 });
    const base = fc.constantFrom(qwen2, qwen3, llama, mistral, smollm3, gemma3);
    fc.assert(
      fc.property(base, changes, (json, changed) => parsedOrRefused({ ...json, ...changed })),
      { numRuns: 500 },
    );
  });
});
