/**
 * @file Tokenizers in GGUF files: the real ones of Qwen through a file and back, SentencePiece's with scores
 * against SentencePiece's own way of merging, and what is wrong with others.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/models/checkpoint/json.ts";
import { openGguf } from "../../../src/models/gguf/format/file.ts";
import { type Entry, writeGguf } from "../../../src/models/gguf/format/writer.ts";
import { tokenizerEntries } from "../../../src/models/gguf/tokenizer/entries.ts";
import { writeTokenizerFiles } from "../../../src/models/gguf/tokenizer/files.ts";
import { vocabularyOfFolder } from "../../../src/models/gguf/tokenizer/from-folder.ts";
import {
  type GgufVocabulary,
  KIND,
  readVocabulary,
} from "../../../src/models/gguf/tokenizer/vocabulary.ts";
import { loadTokenizer } from "../../../src/models/index.ts";
import { temporaryFolder } from "../files.ts";
import { ownFolder, QWEN3, QWEN25, tokenizerOf } from "../tokenizer/folders.ts";

const EDGES = [
  ...[
    "",
    " ",
    "a",
    "I'm they'LL we'Ve",
    "1234567 3.14",
    "e\u0301 é ﬁ ½ Ⅻ",
    "日本語 👩‍🚀 \u00a0\u2028",
  ],
  ...["<|im_start|>user\nhi<|im_end|>\n", "<tool_call>{}</tool_call>", "  x\r\n\r\n\ty  "],
];

/** What the metadata of a file says that was written from it. */
function throughFile(vocabulary: GgufVocabulary): JsonObject {
  const file = join(temporaryFolder(), "tokenizer.gguf");
  writeGguf(file, tokenizerEntries(vocabulary, []), []);
  const gguf = openGguf(file);
  gguf.close();
  return gguf.metadata;
}

function folderOf(vocabulary: GgufVocabulary): string {
  const folder = join(temporaryFolder(), "tokenizer");
  writeTokenizerFiles(folder, vocabulary, 1000);
  return folder;
}

describe("tokenizers of folders", () => {
  it.each([
    ["Qwen2.5's", QWEN25],
    ["Qwen3's", QWEN3],
  ])(
    "%s, by llama.cpp's name for it alone",
    (_, folder) => {
      const rows = 151_936;
      const { vocabulary, remarks } = vocabularyOfFolder(folder, rows);
      expect(vocabulary).toMatchObject({ model: "gpt2", pre: "qwen2", huggingFace: undefined });
      expect(vocabulary.tokens.at(-1)).toBe("[PAD151935]");
      expect(remarks).toEqual([]);
      const again = readVocabulary(throughFile(vocabulary), "file", rows);
      const [first, second] = [tokenizerOf(folder), loadTokenizer(folderOf(again))];
      expect(second.fingerprint).toBe(first.fingerprint);
      expect(second.specialIds).toEqual(first.specialIds);
      expect(second.namedTokens).toEqual(first.namedTokens);
      for (const text of EDGES) expect(second.encode(text)).toEqual(first.encode(text));
    },
    60_000,
  );

  it("one of ours, whose rules llama.cpp has no name for", () => {
    const folder = ownFolder();
    const { vocabulary } = vocabularyOfFolder(folder, 400);
    expect(vocabulary.huggingFace).toBe(readFileSync(join(folder, "tokenizer.json"), "utf8"));
    const again = readVocabulary(throughFile(vocabulary), "file", 400);
    const [first, second] = [loadTokenizer(folder), loadTokenizer(folderOf(again))];
    for (const text of EDGES) expect(second.encode(text)).toEqual(first.encode(text));
  });

  it("not one that cuts text in a way of its own, or has more tokens than the model rows", () => {
    const folder = ownFolder();
    expect(() => vocabularyOfFolder(folder, 100)).toThrow(/tokens, the model only 100 rows/);
    const file = join(folder, "tokenizer.json");
    const json = JSON.parse(readFileSync(file, "utf8")) as { pre_tokenizer: object };
    json.pre_tokenizer = { type: "ByteLevel", add_prefix_space: true, use_regex: true };
    writeFileSync(file, JSON.stringify(json));
    expect(() => vocabularyOfFolder(folder, 400)).toThrow(/that llama\.cpp has no name for/);
  });
});

/** Pieces of three letters and the sign for a space, in the order of their scores. */
const PIECES = ["▁a", "ab", "▁ab", "bc", "abc", "▁abc", "cc", "bcc", "▁b", "ca", "aa", "aab", "▁▁"];
const BYTES = Array.from(
  { length: 256 },
  (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, "0")}>`,
);
const TOKENS = ["<unk>", "<s>", "</s>", ...BYTES, ...PIECES, "▁", "a", "b", "c", "<|im_end|>"];

const kindOf = (token: string): number => {
  if (token === "<unk>") return KIND.unknown;
  if (BYTES.includes(token)) return KIND.byte;
  return /^<.*>$/.test(token) ? KIND.control : KIND.normal;
};
const SPM: GgufVocabulary = {
  ...{ file: "file", model: "llama", pre: "default", tokens: TOKENS, merges: [] },
  kinds: TOKENS.map(kindOf),
  scores: TOKENS.map((token) => (PIECES.includes(token) ? -PIECES.indexOf(token) : -1e4)),
  ...{ bos: 1, eos: 2, pad: null, unknown: 0, addBos: true, addSpacePrefix: true },
  ...{ chatTemplate: undefined, huggingFace: undefined },
};

/** SentencePiece's way: the neighbours whose piece has the highest score, again and again. */
function byScores(text: string): number[] {
  const parts = [...`▁${text}`.replaceAll(" ", "▁")];
  const scoreAt = (i: number) => {
    const id = TOKENS.indexOf(parts[i]! + parts[i + 1]!);
    return id < 0 ? Number.NEGATIVE_INFINITY : SPM.scores[id]!;
  };
  for (;;) {
    const places = parts.slice(1).map((_, i) => i);
    const best = places.reduce((a, b) => (scoreAt(b) > scoreAt(a) ? b : a), 0);
    if (parts.length < 2 || scoreAt(best) === Number.NEGATIVE_INFINITY) break;
    parts.splice(best, 2, parts[best]! + parts[best + 1]!);
  }
  return parts.flatMap((part) => {
    const id = TOKENS.indexOf(part);
    return id >= 0 ? [id] : [...Buffer.from(part)].map((byte) => TOKENS.indexOf(BYTES[byte]!));
  });
}

describe("SentencePiece's", () => {
  const text = fc.string({ unit: fc.constantFrom(..."aaabbbccc  é"), minLength: 1, maxLength: 30 });

  it("merges as its scores say, with bytes for what it does not know", () => {
    const tokenizer = loadTokenizer(folderOf(SPM));
    fc.assert(
      fc.property(text, (one) => {
        expect(tokenizer.encode(one)).toEqual(byScores(one));
        expect(tokenizer.decode(tokenizer.encode(one)).trimStart()).toBe(one.trimStart());
      }),
    );
    expect(tokenizer.encode("a", { addSpecialTokens: true })[0]).toBe(1);
    expect(tokenizer.encode("a<|im_end|>").at(-1)).toBe(TOKENS.length - 1);
  });

  it("comes back from a folder", () => {
    const folder = folderOf(SPM);
    const { vocabulary } = vocabularyOfFolder(folder, TOKENS.length + 3);
    expect(vocabulary).toMatchObject({ model: "llama", addBos: true, addSpacePrefix: true });
    expect(vocabulary).toMatchObject({ unknown: 0, bos: 1, eos: 2, huggingFace: undefined });
    const again = readVocabulary(throughFile(vocabulary), "file", TOKENS.length + 3);
    const json = (place: string) => readFileSync(join(place, "tokenizer.json"), "utf8");
    expect(json(folderOf(again))).toBe(json(folder));
  });

  it("without a space that nobody wrote", () => {
    const tokenizer = loadTokenizer(folderOf({ ...SPM, addSpacePrefix: false }));
    expect(tokenizer.encode("ab")).toEqual([TOKENS.indexOf("ab")]);
    expect(tokenizer.decode([TOKENS.indexOf("▁a")])).toBe(" a");
  });
});

describe("a vocabulary that is wrong", () => {
  const strings = (value: readonly string[]): Entry => ({ type: "strings", value });
  const good: Readonly<Record<string, Entry>> = {
    "tokenizer.ggml.model": { type: "string", value: "gpt2" },
    "tokenizer.ggml.pre": { type: "string", value: "qwen2" },
    "tokenizer.ggml.tokens": strings(["a", "b", "ab", "<|end|>"]),
    "tokenizer.ggml.token_type": { type: "int32s", value: [1, 1, 1, 3] },
    "tokenizer.ggml.merges": strings(["a b"]),
    "tokenizer.ggml.eos_token_id": { type: "uint32", value: 3 },
  };
  const read = (entries: Readonly<Record<string, Entry>>): void => {
    const file = join(temporaryFolder(), "tokenizer.gguf");
    writeGguf(file, new Map(Object.entries(entries)), []);
    const gguf = openGguf(file);
    gguf.close();
    const folder = join(temporaryFolder(), "tokenizer");
    mkdirSync(folder);
    writeTokenizerFiles(folder, readVocabulary(gguf.metadata, "file", 4), 100);
  };

  it("(this one is not)", () => read(good));

  it.each<[string, string, Entry, RegExp]>([
    ["another model", "model", { type: "string", value: "bert" }, /is "bert"; supported are gpt2/],
    [
      "an unknown rule",
      "pre",
      { type: "string", value: "mine" },
      /pre is "mine", a way to cut text/,
    ],
    ["no texts", "tokens", { type: "int32s", value: [1] }, /expected a list of strings/],
    [
      "too many tokens",
      "tokens",
      strings(["a", "b", "c", "d", "e"]),
      /has 5 entries; the model has 4/,
    ],
    ["a token twice", "tokens", strings(["a", "b", "a", "d"]), /has "a" twice/],
    ["too few kinds", "token_type", { type: "int32s", value: [1] }, /must be a list of 4 numbers/],
    ["half a merge", "merges", strings(["ab"]), /has "ab"; expected two tokens and a space/],
    ["an end beyond", "eos_token_id", { type: "uint32", value: 4 }, /is 4; there are 4 tokens/],
  ])("%s", (_, key, entry, message) => {
    expect(() => read({ ...good, [`tokenizer.ggml.${key}`]: entry })).toThrow(message);
  });

  it("a tokenizer.json of other tokens", () => {
    const json = (vocab: object): Entry => ({
      type: "string",
      value: JSON.stringify({ model: { type: "BPE", vocab, merges: [] } }),
    });
    const key = "tokenizer.huggingface.json";
    expect(() => read({ ...good, [key]: json({ a: 1, b: 0, ab: 2, "<|end|>": 3 }) })).toThrow(
      /gives "a" the id 1; tokenizer\.ggml\.tokens gives it 0/,
    );
    expect(() => read({ ...good, [key]: json({ a: 0, b: 1, ab: 2, "<|end|>": 9 }) })).toThrow(
      /gives "<\|end\|>" the id 9; there are 4 tokens/,
    );
    expect(() => read({ ...good, [key]: { type: "string", value: "{" } })).toThrow(
      /not valid JSON/,
    );
  });
});
