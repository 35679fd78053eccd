/**
 * @file `openmanus-rl model`: new folders that can be used, facts about them, and what it says when
 * something is wrong.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import {
  Chat,
  loadChatTemplate,
  loadModel,
  loadTokenizer,
  type ModelDescription,
  readGenerationConfig,
} from "../../src/models/index.ts";
import { memory } from "../../src/torch/index.ts";
import { GOLDEN, isWithoutGolden, temporaryFolder } from "../models/files.ts";

let said: string[];
let complained: string[];

beforeEach(() => {
  [said, complained] = [[], []];
  vi.spyOn(console, "log").mockImplementation((text: string) => void said.push(text));
  vi.spyOn(console, "error").mockImplementation((text: string) => void complained.push(text));
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A file of text to learn from. */
function text(folder: string, name = "text.txt"): string {
  const file = join(folder, name);
  writeFileSync(file, "the quick brown fox jumps over the lazy dog, the dog sleeps.\n".repeat(40));
  return file;
}

const init = (folder: string, ...more: string[]) =>
  main(["model", "init", folder, "--text", text(temporaryFolder()), ...more]);

describe("model init", () => {
  it("makes a model with a tokenizer that fit together", async () => {
    const folder = join(temporaryFolder(), "deep", "new");
    expect(await init(folder, "--preset", "tiny", "--vocabulary", "300", "--seed", "5")).toBe(0);
    expect(said.join("\n")).toMatch(/Qwen2ForCausalLM[\s\S]*end of turn <\|im_end\|>/);
    const model = loadModel(folder);
    const tokenizer = loadTokenizer(folder);
    const chat = new Chat({ tokenizer, template: loadChatTemplate(folder) });
    expect(model.config.vocabularySize).toBe(tokenizer.vocabularySize);
    expect(model.config.eosTokenIds).toEqual([chat.endOfTurnId]);
    expect(model.config.padTokenId).toBe(tokenizer.padTokenId);
    expect(readGenerationConfig(folder, model.config).eosTokenIds).toEqual([chat.endOfTurnId]);
    expect(tokenizer.decode(tokenizer.encode("the lazy dög"))).toBe("the lazy dög");
    model.dispose();
    expect(memory().tensors).toBe(0);
    expect(readdirSync(join(folder, ".."))).toEqual(["new"]);
  });

  it("gives the same bytes for the same seed, others for another", async () => {
    const parent = temporaryFolder();
    const bytes = async (name: string, seed: string): Promise<Buffer> => {
      expect(await init(join(parent, name), "--preset", "tiny", "--seed", seed)).toBe(0);
      return readFileSync(join(parent, name, "model.safetensors"));
    };
    const first = await bytes("a", "1");
    expect((await bytes("b", "1")).equals(first)).toBe(true);
    expect((await bytes("c", "2")).equals(first)).toBe(false);
  });

  it("learns a world's words", async () => {
    const folder = join(temporaryFolder(), "new");
    const words = ["model", "init", folder, "--preset", "tiny", "--tasks", "20"];
    expect(await main([...words, "env.env_name=household", "env.options.games=30"])).toBe(0);
    const tokenizer = loadTokenizer(folder);
    const text = "You arrive at drawer 1.";
    expect(tokenizer.encode(text).length).toBeLessThan(text.length / 2);
    expect(await main([...words, "env.env_name=hausehold"])).not.toBe(0);
  });

  const families = ["qwen3", "llama", "mistral", "smollm3", "gemma3_text"];

  it.each(families)("of the family %s, several texts", async (family) => {
    const parent = temporaryFolder();
    const texts = ["--text", text(parent, "a"), text(parent, "b"), "--text", text(parent, "c")];
    const folder = join(parent, "model");
    const words = ["--preset", "tiny", "--family", family, "--dtype", "bfloat16"];
    expect(await main(["model", "init", folder, ...texts, ...words])).toBe(0);
    const model = loadModel(folder);
    expect(model.config).toMatchObject({ family, dtype: "bfloat16" });
    model.dispose();
  });

  it.skipIf(isWithoutGolden())("takes the sizes of another model", async () => {
    const folder = join(temporaryFolder(), "model");
    const words = ["--config", join(GOLDEN, "llama3-tiny")];
    expect(await init(folder, ...words)).toBe(2);
    expect(complained.join("\n")).toMatch(/--vocabulary takes 259.*got 89/);
    expect(await init(folder, ...words, "--vocabulary", "280")).toBe(0);
    const model = loadModel(folder);
    expect(model.config).toMatchObject({ family: "llama", layers: 3, rope: { kind: "llama3" } });
    model.dispose();
  });

  it("says when the text is too small for the vocabulary", async () => {
    expect(await init(join(temporaryFolder(), "m"), "--preset", "tiny")).toBe(0);
    expect(said.join("\n")).toMatch(/! The text gave \d+ tokens; up to 512 were asked for/);
  });

  it.each<[string, string[], number, RegExp]>([
    ["no folder", ["init"], 2, /init takes the folder/],
    ["no text", ["init", "F", "--preset", "tiny"], 2, /needs --text FILE/],
    ["no sizes", ["init", "F", "--text", "T"], 2, /either --preset NAME or --config FOLDER/],
    [
      "an unknown preset",
      ["init", "F", "--text", "T", "--preset", "huge"],
      2,
      /tiny, mini, small, medium/,
    ],
    [
      "an unknown family",
      ["init", "F", "--text", "T", "--preset", "tiny", "--family", "gpt"],
      2,
      /--family takes one of qwen2, .*; got "gpt"/,
    ],
    [
      "a text that is not there",
      ["init", "F", "--text", "/nowhere/text", "--preset", "tiny"],
      2,
      /cannot read \/nowhere\/text: ENOENT/,
    ],
    [
      "a vocabulary without room",
      ["init", "F", "--text", "T", "--preset", "tiny", "--vocabulary", "100"],
      2,
      /--vocabulary takes 259/,
    ],
    [
      "a seed that is no number",
      ["init", "F", "--text", "T", "--preset", "tiny", "--seed", "x"],
      2,
      /--seed takes a whole number; got "x"/,
    ],
    ["an unknown option", ["init", "F", "--size", "3"], 2, /--size/],
    ["nothing", [], 2, /there are model init FOLDER, info FOLDER, fetch NAME/],
    ["no model", ["info", "/nowhere/model"], 1, /the folder does not exist/],
    ["two folders", ["info", "a", "b"], 2, /info takes one folder/],
  ])("%s: a message and an exit code", async (_, words, code, message) => {
    const parent = temporaryFolder();
    const places: Record<string, string> = { F: join(parent, "model"), T: text(temporaryFolder()) };
    expect(await main(["model", ...words.map((word) => places[word] ?? word)])).toBe(code);
    expect(complained.join("\n")).toMatch(message);
    expect(said).toEqual([]);
    expect(readdirSync(parent)).toEqual([]);
  });

  it("does not touch a folder that has something in it", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "precious"));
    expect(await init(folder, "--preset", "tiny")).toBe(1);
    expect(complained.join("\n")).toMatch(/exists already; choose another folder/);
    expect(existsSync(join(folder, "precious"))).toBe(true);
  });
});

describe("model info", () => {
  it("gives facts as JSON", async () => {
    const folder = join(temporaryFolder(), "model");
    await init(folder, "--preset", "tiny", "--vocabulary", "300");
    said = [];
    expect(await main(["model", "info", folder, "--json"])).toBe(0);
    const found = JSON.parse(said.join("\n")) as ModelDescription;
    const model = loadModel(folder);
    const parameters = [...model.parameters.values()].reduce((sum, { numel }) => sum + numel, 0);
    model.dispose();
    expect(found).toMatchObject({
      ...{ family: "qwen2", layers: 2, context: 2048, parameters, remarks: [] },
      weights: { float32: 4 * parameters },
      tokenizer: { eos: "<|im_end|>", pad: "<|endoftext|>", bos: null },
      memory: { training: 16 * parameters, inference: 4 * parameters, cachePerToken: 512 },
    });
  });

  it.skipIf(isWithoutGolden())("of a folder without tokenizer", async () => {
    expect(await main(["model", "info", join(GOLDEN, "qwen3-tiny")])).toBe(0);
    expect(said.join("\n")).toMatch(/Qwen3ForCausalLM[\s\S]*! There is no tokenizer/);
  });

  it("names what is wrong with the weights", async () => {
    const folder = join(temporaryFolder(), "model");
    await init(folder, "--preset", "tiny");
    const file = join(folder, "config.json");
    const config = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(
      file,
      JSON.stringify({ ...config, num_hidden_layers: 3, layer_types: undefined }),
    );
    expect(await main(["model", "info", folder])).toBe(1);
    expect(complained.join("\n")).toMatch(/missing: model\.layers\.2\./);
  });

  it("has help with examples", async () => {
    expect(await main(["model", "--help"])).toBe(0);
    expect(said.join("\n")).toMatch(/Usage: [\s\S]*--preset tiny[\s\S]*Example: /);
  });
});
