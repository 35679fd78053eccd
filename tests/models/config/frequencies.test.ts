/**
 * @file Rotary frequencies: bit for bit those of transformers.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { inverseFrequencies } from "../../../src/models/config/frequencies.ts";
import { parseModelConfig } from "../../../src/models/config/parse.ts";

interface Case {
  config: Record<string, unknown>;
  length: number;
  inverseFrequencies: number[];
  attentionScaling: number;
}

/** Written by transformers' modeling_rope_utils for random configurations. */
const reference = JSON.parse(
  readFileSync(new URL("./frequencies.reference.json", import.meta.url), "utf8"),
) as { cases: Case[] };

const kindOf = ({ config }: Case): string => parseModelConfig(config).rope.kind;

describe.each(["default", "linear", "dynamic", "llama3", "yarn"])("%s", (kind) => {
  const cases = reference.cases.filter((item) => kindOf(item) === kind);

  it("has cases", () => expect(cases.length).toBeGreaterThan(3));

  it.each(cases.map((item, i) => [i, item] as const))("case %i", (_, item) => {
    const found = inverseFrequencies(parseModelConfig(item.config), item.length);
    expect([...found.inverseFrequencies]).toEqual(item.inverseFrequencies);
    expect(found.attentionScaling).toBe(item.attentionScaling);
  });
});

it("dynamic depends on the length only beyond the maximum", () => {
  const config = parseModelConfig({
    ...{ architectures: ["LlamaForCausalLM"], vocab_size: 8, hidden_size: 32 },
    ...{ intermediate_size: 8, num_hidden_layers: 1, num_attention_heads: 2 },
    max_position_embeddings: 64,
    rope_scaling: { type: "dynamic", factor: 2 },
  });
  const at = (length: number) => [...inverseFrequencies(config, length).inverseFrequencies];
  expect(at(1)).toEqual(at(64));
  expect(at(65)).not.toEqual(at(64));
  expect(at(65)[0]).toBe(1);
});
