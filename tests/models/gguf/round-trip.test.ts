/**
 * @file Folders to GGUF files and back: the same weights, the same configuration, the same tokens.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEQUANTISE } from "../../../src/models/gguf/format/dequantise.ts";
import { openGguf } from "../../../src/models/gguf/format/file.ts";
import { quantiseQ8 } from "../../../src/models/gguf/format/quantise.ts";
import {
  type ExportOptions,
  exportGguf,
  importGguf,
  loadChat,
  loadModel,
  type ModelConfig,
  openCheckpoint,
  readModelConfig,
} from "../../../src/models/index.ts";
import { withoutLeaks } from "../files.ts";
import { type FolderWishes, smallFolder } from "./support.ts";

/** The folder's file, and a folder of that file. */
function throughGguf(folder: string, options: ExportOptions = {}) {
  const parent = dirname(folder);
  const [file, again] = [join(parent, "model.gguf"), join(parent, "again")];
  const report = exportGguf(folder, file, options);
  return { report, file, again };
}

const weights = (folder: string): Buffer => readFileSync(join(folder, "model.safetensors"));
const values = (folder: string, name: string): Float64Array => {
  const checkpoint = openCheckpoint(folder);
  const tensor = checkpoint.load(name, { copy: true });
  checkpoint.close();
  const numbers = tensor.toNumbers();
  tensor.dispose();
  return numbers;
};

const TEXTS = [
  "the lazy dog",
  "dog 12 sleeps, größe e\u0301 日本 \u{1f642}",
  "<|im_end|> I'Ll  go\n\n",
  "",
];

function requireSameTokenizer(a: string, b: string): void {
  const [first, second] = [loadChat(a), loadChat(b)];
  expect(second.tokenizer.fingerprint).toBe(first.tokenizer.fingerprint);
  for (const text of TEXTS)
    expect(second.tokenizer.encode(text)).toEqual(first.tokenizer.encode(text));
  expect(second.template.source).toBe(first.template.source);
  expect(second.endOfTurnId).toBe(first.endOfTurnId);
}

const llama3: ModelConfig["rope"] = {
  ...{ kind: "llama3", theta: 500_000, factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4 },
  originalMaximumPositions: 8192,
};
const yarn: ModelConfig["rope"] = {
  ...{ kind: "yarn", theta: 1_000_000, factor: 4, originalMaximumPositions: 512 },
  ...{ attentionFactor: null, betaFast: 32, betaSlow: 1, mscale: null, mscaleAllDimensions: null },
  truncate: true,
};

describe("a folder through a file in 32 bits", () => {
  it.each<[string, ModelConfig["family"], FolderWishes]>([
    ["llama", "llama", {}],
    ["qwen2", "qwen2", {}],
    ["qwen3", "qwen3", {}],
    ["with an output layer of its own", "llama", { config: { tiedEmbeddings: false } }],
    ["with biases", "llama", { config: { queryKeyValueBias: true, outputBias: true } }],
    ["with heads of another size", "llama", { config: { headDimension: 24 } }],
    ["with Llama 3's frequencies", "llama", { config: { rope: llama3, headDimension: 64 } }],
    ["with yarn", "qwen2", { config: { rope: yarn } }],
    [
      "with a linear scale",
      "llama",
      { config: { rope: { kind: "linear", theta: 10_000, factor: 2 } } },
    ],
    ["with numbers in one token", "qwen3", { numbers: "named" }],
    ["with a rare epsilon", "qwen3", { config: { normEpsilon: 1.5e-6 } }],
  ])("%s", (_, family, wishes) => {
    const folder = smallFolder(family, wishes);
    withoutLeaks(() => {
      const { again, report, file } = throughGguf(folder);
      expect(report).toMatchObject({ type: "f32", bytes: readFileSync(file).length });
      expect(report.remarks.join()).toMatch(
        wishes.numbers === "named" ? /llama\.cpp cannot/ : /^$/,
      );
      importGguf(file, again);
      expect(weights(again).equals(weights(folder))).toBe(true);
      const { initializerRange: _a, ...expected } = readModelConfig(folder);
      const { initializerRange: _b, ...found } = readModelConfig(again);
      expect(found).toEqual(expected);
      requireSameTokenizer(folder, again);
      loadModel(again).dispose();
      expect(readdirSync(dirname(folder)).sort()).toEqual(["again", "made", "model", "model.gguf"]);
    });
  });

  it("Mistral comes back as the Llama that it is", () => {
    const folder = smallFolder("mistral", { config: { slidingWindows: [null, null] } });
    const { again, file } = throughGguf(folder);
    importGguf(file, again);
    expect(weights(again).equals(weights(folder))).toBe(true);
    expect(readModelConfig(again).family).toBe("llama");
  });
});

describe("other types", () => {
  it("bfloat16 as it is", () => {
    const folder = smallFolder("llama", { dtype: "bfloat16" });
    const { again, report, file } = throughGguf(folder);
    expect(report.type).toBe("bf16");
    importGguf(file, again, { dtype: "bfloat16" });
    expect(weights(again).equals(weights(folder))).toBe(true);
    expect(readModelConfig(again).dtype).toBe("bfloat16");
  });

  it("Q8_0: what its blocks stand for, in 16 bits where rows are no whole blocks", () => {
    const folder = smallFolder("qwen2", { config: { intermediateSize: 80 } });
    const { again, file } = throughGguf(folder, { type: "q8_0" });
    const gguf = openGguf(file);
    const types = [...gguf.tensors].map(([name, { type }]) => [name, type.name]);
    gguf.close();
    expect(Object.fromEntries(types)).toMatchObject({
      ...{ "token_embd.weight": "Q8_0", "blk.0.attn_q.weight": "Q8_0", "blk.0.attn_q.bias": "F32" },
      ...{ "blk.1.ffn_down.weight": "F16", "output_norm.weight": "F32" },
    });
    importGguf(file, again);
    const name = "model.layers.1.mlp.up_proj.weight";
    const expected = Float32Array.from(values(folder, name));
    const bytes = new Uint8Array((expected.length / 32) * 34);
    quantiseQ8(expected, bytes);
    DEQUANTISE.Q8_0(bytes, expected);
    expect([...values(again, name)]).toEqual([...expected]);
  });

  it("has q and k of a Llama in llama.cpp's order, of others in transformers'", () => {
    const rows = (numbers: Float64Array, size: number) =>
      Array.from({ length: numbers.length / size }, (_, i) =>
        numbers.slice(i * size, (i + 1) * size).join(),
      );
    for (const family of ["llama", "qwen2"] as const) {
      const folder = smallFolder(family);
      const { file } = throughGguf(folder);
      const gguf = openGguf(file);
      const tensor = gguf.load("blk.0.attn_k.weight", "float32");
      gguf.close();
      const ours = rows(values(folder, "model.layers.0.self_attn.k_proj.weight"), 32);
      const theirs = rows(tensor.toNumbers(), 32);
      tensor.dispose();
      // Two heads of 16: pairs of neighbours there, halves here.
      const place = (row: number) => (row & 16) + (row & 1) * 8 + ((row & 15) >> 1);
      const expected = family === "llama" ? theirs.map((_, row) => ours[place(row)]) : ours;
      expect(theirs).toEqual(expected);
    }
  });
});

describe("what cannot be", () => {
  it.each<[string, ModelConfig["family"], Partial<ModelConfig>, RegExp]>([
    ["a window", "mistral", { slidingWindows: [64, 64] }, /its layers see a window/],
    [
      "dynamic frequencies",
      "llama",
      { rope: { kind: "dynamic", theta: 10_000, factor: 2 } },
      /its rope changes with the text's length/,
    ],
    [
      "Llama 3's frequencies in a Qwen",
      "qwen2",
      { rope: llama3 },
      /which llama\.cpp has only for Llama/,
    ],
  ])("%s", (_, family, config, message) => {
    const folder = smallFolder(family, { config });
    expect(() => throughGguf(folder)).toThrow(message);
    expect(existsSync(join(dirname(folder), "model.gguf"))).toBe(false);
  });

  it("another file's or folder's place", () => {
    const folder = smallFolder("llama");
    const { file } = throughGguf(folder);
    expect(() => exportGguf(folder, file)).toThrow(/exists already; choose another name/);
    expect(() => importGguf(file, folder)).toThrow(
      /exists already; choose another folder or remove/,
    );
    writeFileSync(join(dirname(folder), "a file"), "");
    expect(() => importGguf(file, join(dirname(folder), "a file"))).toThrow(/exists already/);
  });
});
