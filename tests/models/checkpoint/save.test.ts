/**
 * @file Whole model folders: what they contain, and that an older one is replaced safely.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ModelFolder, saveModelFolder } from "../../../src/models/checkpoint/save.ts";
import { verifyCheckpoint } from "../../../src/models/checkpoint/verify.ts";
import { readGenerationConfig } from "../../../src/models/config/generation.ts";
import { parameterShapes } from "../../../src/models/config/parameters.ts";
import { readModelConfig } from "../../../src/models/config/parse.ts";
import { presetConfig, valueModelConfig } from "../../../src/models/config/presets.ts";
import { openCheckpoint } from "../../../src/models/safetensors/checkpoint.ts";
import { loadChatTemplate } from "../../../src/models/tokenizer/chat/template.ts";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";
import { trainTokenizer, writeTokenizer } from "../../../src/models/tokenizer/train.ts";
import { full, ones, type Tensor, tidy, zeros } from "../../../src/torch/index.ts";
import { GOLDEN, goldenNames, isWithoutGolden, temporaryFolder, withoutLeaks } from "../files.ts";

const config = presetConfig("tiny", { eosTokenIds: [5], padTokenId: 4 });

/** All weights of the tiny preset with one value. */
function weights(value: number): Map<string, Tensor> {
  return new Map([...parameterShapes(config)].map(([name, shape]) => [name, full(shape, value)]));
}

function save(folder: string, value: number, more: Partial<ModelFolder> = {}): void {
  withoutLeaks(() =>
    tidy(() => saveModelFolder(folder, { config, tensors: weights(value), ...more })),
  );
}

function valueIn(folder: string): number {
  const checkpoint = openCheckpoint(folder);
  const value = tidy(() => checkpoint.load("model.norm.weight").amax().item());
  checkpoint.close();
  return value;
}

/** What is beside a folder, hidden files included. */
const neighbours = (folder: string): string[] => readdirSync(dirname(folder)).sort();

describe("saveModelFolder", () => {
  it("writes everything that a model consists of", () => {
    const tokenizerFolder = temporaryFolder();
    writeTokenizer(tokenizerFolder, trainTokenizer(["text"], { vocabularySize: 300 }));
    const folder = join(temporaryFolder(), "runs", "model");
    save(folder, 1, { tokenizerFolder, dtype: "bfloat16", maximumShardBytes: 100_000 });
    expect(readdirSync(folder).sort()).toEqual([
      "chat_template.jinja",
      "config.json",
      "generation_config.json",
      "model-00001-of-00003.safetensors",
      "model-00002-of-00003.safetensors",
      "model-00003-of-00003.safetensors",
      "model.safetensors.index.json",
      "special_tokens_map.json",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    const read = readModelConfig(folder);
    expect(read).toEqual({ ...config, dtype: "bfloat16" });
    expect(readGenerationConfig(folder, read)).toMatchObject({ eosTokenIds: [5], padTokenId: 4 });
    expect(loadTokenizer(folder).vocabularySize).toBeGreaterThan(256);
    const checkpoint = openCheckpoint(folder);
    expect(verifyCheckpoint(checkpoint, read)).toEqual([...parameterShapes(config).keys()]);
    expect(checkpoint.info("model.norm.weight").dtype).toBe("bfloat16");
    checkpoint.close();
    expect(neighbours(folder)).toEqual(["model"]);
  });

  it("puts another chat template where all readers find it", () => {
    const tokenizerFolder = temporaryFolder();
    writeTokenizer(tokenizerFolder, trainTokenizer(["text"], { vocabularySize: 300 }));
    const folder = join(temporaryFolder(), "model");
    save(folder, 1, { tokenizerFolder, chatTemplate: "another" });
    expect(loadChatTemplate(folder).source).toBe("another");
    const tokenizerConfig = JSON.parse(readFileSync(join(folder, "tokenizer_config.json"), "utf8"));
    expect(tokenizerConfig).toMatchObject({ chat_template: "another", eos_token: "<|im_end|>" });
  });

  it("replaces an older model, and nothing else", () => {
    const folder = join(temporaryFolder(), "model");
    save(folder, 1, { maximumShardBytes: 100_000 });
    save(folder, 2, { extraFiles: { "training.json": "{}" } });
    expect(valueIn(folder)).toBe(2);
    expect(existsSync(join(folder, "model.safetensors.index.json"))).toBe(false);
    expect(neighbours(folder)).toEqual(["model"]);
    // Someone's own file would be lost.
    writeFileSync(join(folder, "notes.txt"), "precious");
    expect(() => save(folder, 3, { extraFiles: { "training.json": "{}" } })).toThrow(
      /notes\.txt.*would be lost/,
    );
    expect(valueIn(folder)).toBe(2);
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    expect(() => save(file, 1)).toThrow("is a file");
  });

  it("can replace the model whose mapped weights it saves", () => {
    const folder = join(temporaryFolder(), "model");
    save(folder, 1);
    withoutLeaks(() => {
      const checkpoint = openCheckpoint(folder);
      tidy(() => {
        const tensors = checkpoint.names.map((name): [string, Tensor] => [
          name,
          checkpoint.load(name),
        ]);
        for (const [, tensor] of tensors) tensor.add_(1);
        saveModelFolder(folder, { config, tensors });
        saveModelFolder(folder, { config, tensors });
      });
      checkpoint.close();
    });
    expect(valueIn(folder)).toBe(2);
  });

  it("leaves the older model when it fails", () => {
    const folder = join(temporaryFolder(), "model");
    save(folder, 1);
    const broken = temporaryFolder();
    expect(() => save(folder, 2, { tokenizerFolder: broken })).toThrow("has no tokenizer.json");
    expect(() => save(folder, 2, { extraFiles: { "../x": "" } })).toThrow("extraFiles");
    expect(() => save(folder, 2, { extraFiles: { "config.json": "" } })).toThrow("extraFiles");
    expect(valueIn(folder)).toBe(1);
    expect(neighbours(folder)).toEqual(["model"]);
  });

  it("recovers when an earlier save was interrupted", () => {
    const folder = join(temporaryFolder(), "model");
    save(folder, 1);
    // Between the two moves: the older one aside, the new one not yet in place.
    const aside = join(dirname(folder), `.${basename(folder)}.replaced`);
    renameSync(folder, aside);
    mkdirSync(join(dirname(folder), `.${basename(folder)}.partial`));
    expect(() => readModelConfig(folder)).toThrow(/interrupted.*rename it back/);
    expect(() => openCheckpoint(folder)).toThrow(/interrupted/);
    expect(() => save(folder, 2, { tokenizerFolder: "none" })).toThrow();
    expect(valueIn(folder)).toBe(1);
    save(folder, 2);
    expect(valueIn(folder)).toBe(2);
    expect(neighbours(folder)).toEqual(["model"]);
  });

  it("refuses weights that are not the configuration's", () => {
    const folder = join(temporaryFolder(), "model");
    tidy(() => {
      const missing = weights(1);
      missing.delete("model.norm.weight");
      expect(() => saveModelFolder(folder, { config, tensors: missing })).toThrow(
        "missing: model.norm.weight",
      );
      const extra = weights(1).set("extra", zeros([1]));
      expect(() => saveModelFolder(folder, { config, tensors: extra })).toThrow(
        "not expected: extra",
      );
      const wrong = weights(1).set("model.norm.weight", zeros([3]));
      expect(() => saveModelFolder(folder, { config, tensors: wrong })).toThrow(
        "[3] instead of [64]",
      );
    });
    expect(neighbours(folder)).toEqual([]);
  });

  it("writes a tied matrix once", () => {
    const folder = join(temporaryFolder(), "model");
    tidy(() => {
      const tensors = weights(1).set("lm_head.weight", ones([512, 64]));
      saveModelFolder(folder, { config, tensors });
    });
    const checkpoint = openCheckpoint(folder);
    expect(checkpoint.has("lm_head.weight")).toBe(false);
    checkpoint.close();
  });
});

describe("verifyCheckpoint", () => {
  it("lets a value model start from a policy", () => {
    const folder = join(temporaryFolder(), "model");
    save(folder, 1);
    const value = valueModelConfig(config);
    const checkpoint = openCheckpoint(folder);
    expect(() => verifyCheckpoint(checkpoint, value)).toThrow("missing: score.weight, score.bias");
    expect(verifyCheckpoint(checkpoint, value, { newHead: true })).toEqual(
      [...checkpoint.names].sort((a, b) => order(a) - order(b)),
    );
    checkpoint.close();
  });

  const order = (name: string): number => [...parameterShapes(config).keys()].indexOf(name);

  it("shortens long lists", () => {
    const nothing = { folder: "x", names: [], has: () => false, info: () => never() };
    expect(() => verifyCheckpoint(nothing, config)).toThrow(
      /missing: model\.embed_tokens\.weight, .* and \d+ more/,
    );
  });
});

function never(): never {
  throw new Error("unreachable");
}

describe.skipIf(isWithoutGolden())("golden models", () => {
  it.each(goldenNames())("%s: the saved folder has the same tensors", (name) => {
    const source = openCheckpoint(join(GOLDEN, name));
    const folder = join(temporaryFolder(), name);
    tidy(() => {
      const tensors = source.names.map((key): [string, Tensor] => [key, source.load(key)]);
      saveModelFolder(folder, { config: readModelConfig(join(GOLDEN, name)), tensors });
    });
    const saved = openCheckpoint(folder);
    expect([...saved.names].sort()).toEqual([...source.names].sort());
    tidy(() => {
      for (const key of source.names) {
        const { file: _, ...info } = source.info(key);
        expect(saved.info(key)).toMatchObject(info);
        expect(saved.load(key).eq(source.load(key)).all().item()).toBe(1);
      }
    });
    saved.close();
    source.close();
    expect(readModelConfig(folder)).toEqual(readModelConfig(join(GOLDEN, name)));
  });
});
