/**
 * @file Model files: safetensors, GGUF, config.json.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  exportGguf,
  importGguf,
  initModelFolder,
  ModelFileError,
  openSafetensors,
  parseModelConfig,
  presetConfig,
} from "../../../src/models/index.ts";
import { openGguf } from "../../../src/models/gguf/format/file.ts";
import { tidy } from "../../../src/torch/index.ts";
import { type Form, type Target, bytes, values } from "../target.ts";
import { ggufBytes } from "../builders/gguf.ts";

/** The files of a model of a few thousand numbers. */
function withSmallModel<Result>(read: (folder: string, parent: string) => Result): Result {
  const parent = mkdtempSync(join(tmpdir(), "fuzz-model-"));
  try {
    const folder = join(parent, "model");
    const sizes = { hiddenSize: 32, headDimension: 16, intermediateSize: 32, heads: 2 };
    initModelFolder(folder, {
      config: { ...presetConfig("tiny", { family: "qwen3" }), ...sizes, keyValueHeads: 2 },
      ...{ texts: ["go to the desk. take the lamp."], vocabularySize: 264, seed: 1 },
    });
    return read(folder, parent);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/** Length, header, and 256 bytes of data. */
function safetensorsBytes(header: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(256, 63)]);
}

const HEADERS = [
  {
    a: { dtype: "F32", shape: [4, 8], data_offsets: [0, 128] },
    b: { dtype: "BF16", shape: [64], data_offsets: [128, 256] },
  },
  {
    __metadata__: { format: "pt" },
    c: { dtype: "I64", shape: [], data_offsets: [0, 8] },
    d: { dtype: "U8", shape: [0, 3], data_offsets: [8, 8] },
    e: { dtype: "F16", shape: [2, 62], data_offsets: [8, 256] },
  },
];

const safetensors: Target = {
  name: "safetensors",
  words: ["F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F64", "F8_E4M3", "data_offsets"],
  errors: [ModelFileError],
  forms: () => [values(HEADERS, safetensorsBytes), bytes(HEADERS.map(safetensorsBytes))],
  open: (folder) => ({
    run(given) {
      const file = join(folder, "model.safetensors");
      writeFileSync(file, given);
      const opened = openSafetensors(file);
      try {
        tidy(() => {
          for (const name of opened.tensors.keys()) {
            opened.load(name, { checkFinite: true });
            opened.load(name, { copy: true, dtype: "float32" });
          }
        });
      } finally {
        opened.close();
      }
    },
  }),
};

function ggufForms(): readonly Form[] {
  return withSmallModel((folder, parent) => {
    const file = join(parent, "model.gguf");
    exportGguf(folder, file, { type: "q8_0" });
    const whole = readFileSync(file);
    const opened = openGguf(file);
    const first = Math.min(...[...opened.tensors.values()].map(({ offset }) => offset));
    const data = whole.subarray(first);
    const header = {
      version: opened.version,
      metadata: Object.entries(opened.metadata).map(([key, value]) => ({
        key,
        value: value instanceof Float64Array ? [...value] : value,
      })),
      tensors: [...opened.tensors.values()].map(({ name, type, shape, offset }) => ({
        ...{ name, type: type.name, offset: offset - first },
        shape: [...shape].reverse(),
      })),
    };
    opened.close();
    return [values([header], (value) => ggufBytes(value, data)), bytes([whole])];
  });
}

const GGUF_WORDS = [
  ...["general.architecture", "qwen3", "llama", "general.alignment", "tokenizer.ggml.model"],
  ...["tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.pre", "gpt2", "spm"],
  ...["llama.rope.scaling.type", "yarn", "qwen3.block_count", "tokenizer.ggml.scores", "gemma3"],
  ...["tokenizer.ggml.token_type", "tokenizer.chat_template", "rope_freqs.weight", "Q4_K", "Q6_K"],
];

const gguf: Target = {
  name: "gguf",
  words: GGUF_WORDS,
  errors: [ModelFileError],
  forms: ggufForms,
  open: (folder) => ({
    run(given) {
      const file = join(folder, "model.gguf");
      writeFileSync(file, given);
      const opened = openGguf(file);
      try {
        tidy(() => {
          for (const name of opened.tensors.keys()) opened.load(name, "float32");
        });
      } finally {
        opened.close();
      }
    },
  }),
};

const ggufImport: Target = {
  name: "gguf-import",
  words: GGUF_WORDS,
  errors: [ModelFileError],
  forms: ggufForms,
  open: (folder) => ({
    run(given) {
      const file = join(folder, "model.gguf");
      const target = join(folder, "made");
      writeFileSync(file, given);
      rmSync(target, { recursive: true, force: true });
      importGguf(file, target);
    },
  }),
};

const config: Target = {
  name: "config",
  words: ["llama", "qwen2", "qwen3", "gemma3_text", "mistral", "rope_scaling", "rope_type", "yarn"],
  errors: [ModelFileError],
  forms: () =>
    withSmallModel((folder) => {
      const own = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as object;
      const yarn = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 };
      const llama3 = {
        ...{ rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
        original_max_position_embeddings: 64,
      };
      return [
        values([
          own,
          { ...own, rope_scaling: yarn },
          { ...own, rope_scaling: llama3, model_type: "llama" },
          { ...own, sliding_window: 16, use_sliding_window: true, max_window_layers: 1 },
        ]),
      ];
    }),
  open: () => ({
    run(given) {
      const json: unknown = JSON.parse(given.toString());
      if (typeof json === "object" && json !== null && !Array.isArray(json))
        parseModelConfig(json as { readonly [key: string]: unknown });
    },
  }),
};

export const targets: readonly Target[] = [safetensors, gguf, ggufImport, config];
