/**
 * @file Ready-made sizes, parameter names, generation settings.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FAMILIES } from "../../../src/models/config/families.ts";
import {
  parseGenerationConfig,
  readGenerationConfig,
  toGenerationJson,
} from "../../../src/models/config/generation.ts";
import type { Family } from "../../../src/models/config/model-config.ts";
import { parameterCount, parameterShapes } from "../../../src/models/config/parameters.ts";
import { parseModelConfig } from "../../../src/models/config/parse.ts";
import {
  type PresetName,
  presetConfig,
  presets,
  valueModelConfig,
} from "../../../src/models/config/presets.ts";
import { toConfigJson } from "../../../src/models/config/write.ts";
import { temporaryFolder } from "../files.ts";

describe("presets", () => {
  it.each(presets.map(({ name }) => name))(
    "%s is a valid configuration in every family",
    (name) => {
      for (const family of Object.keys(FAMILIES) as Family[]) {
        const config = presetConfig(name, { family, eosTokenIds: [3] });
        expect(parseModelConfig(toConfigJson(config))).toEqual(config);
      }
    },
  );

  it("have the sizes they promise", () => {
    expect(parameterCount(presetConfig("tiny"))).toBeLessThan(150_000);
    expect(presetConfig("small")).toMatchObject({
      ...{ hiddenSize: 256, layers: 6, heads: 8, keyValueHeads: 4, intermediateSize: 704 },
      ...{ vocabularySize: 4096, tiedEmbeddings: true },
    });
    // The number that Qwen publishes.
    expect(parameterCount(presetConfig("qwen2.5-0.5b"))).toBe(494_032_768);
    expect(presetConfig("tiny", { vocabularySize: 300 }).vocabularySize).toBe(300);
    expect(() => presetConfig("huge" as PresetName)).toThrow("no preset is called huge");
  });

  it("published sizes come out as published", () => {
    const smollm3 = parseModelConfig({
      ...{ architectures: ["SmolLM3ForCausalLM"], model_type: "smollm3", vocab_size: 128_256 },
      ...{ hidden_size: 2048, intermediate_size: 11_008, num_hidden_layers: 36 },
      ...{ num_attention_heads: 16, num_key_value_heads: 4, max_position_embeddings: 65_536 },
      ...{ rope_theta: 5e6, rope_scaling: null, use_sliding_window: false, sliding_window: null },
    });
    expect(parameterCount(smollm3)).toBe(3_075_098_624);
    expect(smollm3.withoutRope).toEqual([3, 7, 11, 15, 19, 23, 27, 31, 35]);
    const gemma = parseModelConfig({
      ...{ architectures: ["Gemma3ForCausalLM"], model_type: "gemma3_text", vocab_size: 262_144 },
      ...{ hidden_size: 1152, intermediate_size: 6912, num_hidden_layers: 26, head_dim: 256 },
      ...{ num_attention_heads: 4, num_key_value_heads: 1, query_pre_attn_scalar: 256 },
      ...{ hidden_activation: "gelu_pytorch_tanh", rope_theta: 1e6, rope_local_base_freq: 1e4 },
      ...{ rope_scaling: null, sliding_window: 512, sliding_window_pattern: 6 },
      ...{ attn_logit_softcapping: null, final_logit_softcapping: null, eos_token_id: [1, 106] },
    });
    expect(parameterCount(gemma)).toBe(999_885_952);
    expect(gemma.slidingWindows.filter((window) => window === null).length).toBe(4);
  });

  it("have a value model beside them", () => {
    const shapes = parameterShapes(valueModelConfig(presetConfig("tiny")));
    expect(shapes.get("score.weight")).toEqual([1, 64]);
    expect(shapes.get("score.bias")).toEqual([1]);
    expect(shapes.has("lm_head.weight")).toBe(false);
  });
});

describe("generation_config.json", () => {
  const config = { eosTokenIds: [2], bosTokenId: 1, padTokenId: null };

  it("is read, and falls back to the model's configuration", () => {
    const json = { eos_token_id: [5, 6], do_sample: true, temperature: 0.7, top_k: 20, top_p: 0.8 };
    const found = parseGenerationConfig(json, config);
    expect(found).toMatchObject({ eosTokenIds: [5, 6], bosTokenId: 1, sample: true, topK: 20 });
    expect(toGenerationJson(found)).toEqual({ ...json, bos_token_id: 1 });
    expect(parseGenerationConfig({}, config).eosTokenIds).toEqual([2]);
  });

  it("may be missing, but not be garbage", () => {
    const folder = temporaryFolder();
    const model = presetConfig("tiny", { eosTokenIds: [9] });
    expect(readGenerationConfig(folder, model)).toMatchObject({ eosTokenIds: [9], sample: false });
    writeFileSync(join(folder, "generation_config.json"), '{"temperature": "hot"}');
    expect(() => readGenerationConfig(folder, model)).toThrow('temperature is "hot"');
  });
});
