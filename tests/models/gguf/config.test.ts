/**
 * @file The metadata of GGUF files as configurations: what is read, what is refused by its key, and Llama 3's
 * frequencies, which only a tensor tells.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configOfGguf } from "../../../src/models/gguf/config.ts";
import { openGguf } from "../../../src/models/gguf/format/file.ts";
import { type Entry, writeGguf } from "../../../src/models/gguf/format/writer.ts";
import { configEntries } from "../../../src/models/gguf/metadata.ts";
import { llama3Divisors, ropeOfDivisors } from "../../../src/models/gguf/rope.ts";
import {
  inverseFrequencies,
  type Llama3Rope,
  type ModelConfig,
  presetConfig,
} from "../../../src/models/index.ts";
import { fromTypedArray } from "../../../src/torch/index.ts";
import { temporaryFolder } from "../files.ts";

const uint32 = (value: number): Entry => ({ type: "uint32", value });
const float32 = (value: number): Entry => ({ type: "float32", value });
const text = (value: string): Entry => ({ type: "string", value });

/** The configuration of a tiny Llama's metadata with changes; undefined takes an entry away. */
function read(
  changes: Readonly<Record<string, Entry | undefined>>,
  divisors?: Float32Array,
): ModelConfig {
  const file = join(temporaryFolder(), "model.gguf");
  const entries = configEntries(presetConfig("tiny", { family: "llama" }), "tiny", 0, "folder");
  for (const [key, entry] of Object.entries(changes))
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
  const tensors = divisors && {
    ...{ name: "rope_freqs.weight", type: "F32" as const, shape: [divisors.length] },
    load: () => fromTypedArray(divisors),
  };
  writeGguf(file, entries, tensors ? [tensors] : []);
  const gguf = openGguf(file);
  try {
    return configOfGguf(gguf);
  } finally {
    gguf.close();
  }
}

describe("metadata", () => {
  it("says what it leaves out", () => {
    const unsaid = ["attention.head_count_kv", "attention.key_length", "attention.value_length"];
    const keys = [...unsaid, "rope.dimension_count", "rope.freq_base"].map((key) => `llama.${key}`);
    expect(read(Object.fromEntries(keys.map((key) => [key, undefined])))).toMatchObject({
      ...{ heads: 4, keyValueHeads: 4, headDimension: 16, normEpsilon: 1e-6 },
      rope: { kind: "default", theta: 10_000 },
    });
  });

  it("one number for every layer, as a list", () => {
    const heads = (value: number[]): Entry => ({ type: "int32s", value });
    expect(read({ "llama.attention.head_count_kv": heads([2, 2]) }).keyValueHeads).toBe(2);
    expect(() => read({ "llama.attention.head_count_kv": heads([2, 4]) })).toThrow(
      /head_count_kv differs between layers/,
    );
  });

  it("several tokens that end a reply, and none where it says none", () => {
    const id = (name: string) => `tokenizer.ggml.${name}_token_id`;
    const changes = { [id("eos")]: uint32(2), [id("eot")]: uint32(7), [id("eom")]: uint32(2) };
    expect(read({ ...changes, [id("bos")]: uint32(2 ** 32 - 1) })).toMatchObject({
      ...{ eosTokenIds: [2, 7], bosTokenId: null, padTokenId: null },
    });
  });

  it.each<[string, Readonly<Record<string, Entry | undefined>>, RegExp]>([
    [
      "another family",
      { "general.architecture": text("gemma") },
      /is "gemma"; supported are llama/,
    ],
    ["no family", { "general.architecture": undefined }, /general\.architecture is missing/],
    ["an adapter", { "general.type": text("adapter") }, /expected a whole model/],
    ["a part of several", { "split.count": uint32(3) }, /split\.count says that the model is in/],
    ["experts", { "llama.expert_count": uint32(8) }, /llama\.expert_count is 8, which is not supp/],
    ["a window", { "llama.attention.sliding_window": uint32(64) }, /sliding_window is 64/],
    ["scaled logits", { "llama.logit_scale": float32(0.5) }, /logit_scale is 0\.5/],
    ["no layers", { "llama.block_count": uint32(0) }, /block_count is 0; expected an integer/],
    ["a million layers", { "llama.block_count": uint32(1e6) }, /block_count is 1000000/],
    ["no sizes", { "llama.embedding_length": undefined }, /embedding_length is missing/],
    ["a size in words", { "llama.embedding_length": text("64") }, /is "64"; expected an integer/],
    ["odd heads", { "llama.attention.key_length": uint32(15) }, /is 15; expected an even number/],
    ["heads that do not fit", { "llama.attention.head_count_kv": uint32(3) }, /does not divide 4/],
    ["half a rotation", { "llama.rope.dimension_count": uint32(8) }, /only a head's size \(16\)/],
    ["values of another size", { "llama.attention.value_length": uint32(8) }, /value_length is 8/],
    [
      "another scale",
      { "llama.rope.scaling.type": text("longrope") },
      /expected none, linear or yarn/,
    ],
    ["an epsilon of 0", { "llama.attention.layer_norm_rms_epsilon": float32(0) }, /above 0/],
  ])("refuses %s", (_, changes, message) => {
    expect(() => read(changes)).toThrow(message);
  });
});

describe("Llama 3's frequencies", () => {
  const rope: Llama3Rope = {
    ...{
      kind: "llama3",
      theta: 500_000,
      factor: 32,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
    },
    originalMaximumPositions: 8192,
  };

  it("are the plain ones divided", () => {
    const of = (one: ModelConfig["rope"]) =>
      inverseFrequencies({ rope: one, headDimension: 64, maximumPositions: 131_072 }, 1);
    const [plain, scaled] = [of({ kind: "default", theta: rope.theta }), of(rope)];
    for (const [i, divisor] of llama3Divisors(rope, 64).entries())
      expect(plain.inverseFrequencies[i]! / divisor).toBeCloseTo(scaled.inverseFrequencies[i]!, 7);
  });

  it("are found from a file's divisors", () => {
    const changes = {
      "llama.rope.freq_base": float32(rope.theta),
      ...Object.fromEntries(
        ["attention.key_length", "attention.value_length", "rope.dimension_count"].map((key) => [
          `llama.${key}`,
          uint32(64),
        ]),
      ),
    };
    const divisors = llama3Divisors(rope, 64);
    expect(read(changes, divisors).rope).toEqual(rope);
    expect(
      read(
        changes,
        divisors.map(() => 1),
      ).rope.kind,
    ).toBe("default");
    expect(() =>
      read(
        changes,
        divisors.map((_, i) => i + 1),
      ),
    ).toThrow(/in no way that is known/);
    expect(() => read(changes, divisors.subarray(1))).toThrow(/has 31 values; expected 32/);
  });

  it("with other numbers are not guessed", () => {
    const other = { ...rope, highFrequencyFactor: 7.5 };
    const divisors = Float64Array.from(llama3Divisors(other, 64));
    expect(ropeOfDivisors(divisors, rope.theta, 64)).toBeUndefined();
  });
});
