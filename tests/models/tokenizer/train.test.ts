/**
 * @file The BPE trainer: the same merges as Hugging Face's, files that can be used, speed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";
import { Heap } from "../../../src/models/tokenizer/heap.ts";
import { learnMerges } from "../../../src/models/tokenizer/merges.ts";
import { trainTokenizer, writeTokenizer } from "../../../src/models/tokenizer/train.ts";
import { temporaryFolder } from "../files.ts";

const { training } = JSON.parse(
  readFileSync(new URL("./tokenizer.reference.json", import.meta.url), "utf8"),
) as { training: { text: string; merges: string[]; texts: string[]; ids: number[][] } };

describe("training", () => {
  it("learns the merges of Python's tokenizers, and encodes alike", () => {
    const trained = trainTokenizer([training.text], { vocabularySize: 256 + 300 + 3 });
    expect(trained.merges.map((pair) => pair.join(" "))).toEqual(training.merges);
    const folder = temporaryFolder();
    writeTokenizer(folder, trained);
    const tokenizer = loadTokenizer(folder);
    training.texts.forEach((text, i) => {
      // The reference was trained without special tokens.
      if (!text.includes("<|")) expect(tokenizer.encode(text)).toEqual(training.ids[i]);
    });
  });

  it("counts as if it counted anew after every merge", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.dictionary(word, fc.integer({ min: 1, max: 5 })), (counts) => {
        const words = new Map(Object.entries(counts));
        const options = { size: 256 + 12, minimumCount: 1, maximumTokenBytes: 100 };
        expect(learnMerges(words, options).merges).toEqual(naiveMerges(words, 12));
      }),
      { numRuns: 300 },
    );
  });

  it("does not depend on the order or cut of the texts", () => {
    const lines = training.text.split(/(?<=\n)(?=\S)/);
    const options = { vocabularySize: 400 };
    const { merges } = trainTokenizer(lines, options);
    expect(trainTokenizer([...lines].reverse(), options).merges).toEqual(merges);
  });

  it("ends early when the text has no more pairs", () => {
    const trained = trainTokenizer(["ab ab"], { vocabularySize: 1000 });
    expect(trained.vocabularySize).toBe(256 + trained.merges.length + 3);
    expect(trained.merges).toEqual([["a", "b"]]);
    expect(trainTokenizer([], { vocabularySize: 1000 }).vocabularySize).toBe(259);
    expect(() => trainTokenizer([], { vocabularySize: 258 })).toThrow("an integer from 259");
  });

  it("keeps special tokens out of the words", () => {
    const text = "<|im_start|>go<|im_end|>".repeat(50);
    const tokens = trainTokenizer([text], { vocabularySize: 300 }).vocabulary.slice(256);
    expect(tokens).toEqual(["go"]);
  });

  it("limits the length of tokens", () => {
    const trained = trainTokenizer(["x".repeat(1000)], {
      vocabularySize: 300,
      maximumTokenBytes: 16,
      minimumCount: 1,
    });
    expect(Math.max(...trained.vocabulary.map((token) => token.length))).toBe(16);
  });

  it("takes seconds for megabytes", () => {
    // Words by Zipf's law, as in a language: about 2 MB.
    let state = 1;
    const random = (): number => {
      state = (state * 48271) % 2147483647;
      return state / 2147483647;
    };
    const letter = (): string => "etaoinshrdlu".charAt(Math.floor(random() * 12));
    const vocabulary = Array.from({ length: 20_000 }, () =>
      Array.from({ length: 2 + Math.floor(random() * 9) }, letter).join(""),
    );
    const words = Array.from(
      { length: 300_000 },
      () => vocabulary[Math.floor(vocabulary.length ** random()) - 1],
    );
    const start = performance.now();
    const trained = trainTokenizer([words.join(" ")], { vocabularySize: 4096 });
    expect(trained.vocabularySize).toBe(4096);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("the files", () => {
  const folder = (): string => {
    const path = temporaryFolder();
    writeTokenizer(path, trainTokenizer([training.text], { vocabularySize: 512 }));
    return path;
  };

  it("give a tokenizer for any text", () => {
    const tokenizer = loadTokenizer(folder());
    expect(tokenizer.vocabularySize).toBe(512);
    expect(tokenizer.eosTokenId).toBe(511);
    expect(tokenizer.idToToken(511)).toBe("<|im_end|>");
    expect(tokenizer.padTokenId).toBe(509);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it("are those that transformers reads, and always the same", () => {
    const [first, second] = [folder(), folder()];
    const names = readdirSync(first).sort();
    expect(names).toEqual([
      "chat_template.jinja",
      "special_tokens_map.json",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    for (const name of names)
      expect(readFileSync(join(first, name))).toEqual(readFileSync(join(second, name)));
    const config = JSON.parse(readFileSync(join(first, "tokenizer_config.json"), "utf8"));
    expect(config).toMatchObject({
      tokenizer_class: "PreTrainedTokenizerFast",
      eos_token: "<|im_end|>",
      chat_template: readFileSync(join(first, "chat_template.jinja"), "utf8"),
    });
  });
});

it("the heap gives items in order", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new Heap<number>((a, b) => a < b);
      for (const number of numbers) heap.push(number);
      const sorted = numbers.map(() => heap.pop());
      expect(sorted).toEqual([...numbers].sort((a, b) => a - b));
      expect(heap.pop()).toBeUndefined();
    }),
  );
});

/** The definition: count all pairs, take the most frequent, the lowest ids first; again. */
function naiveMerges(counts: ReadonlyMap<string, number>, most: number): [string, string][] {
  const words = [...counts].map(([word, count]) => ({ symbols: [...word], count }));
  // a, b and c are in the order of their ids; merged tokens follow in the order of their making.
  const made = ["a", "b", "c"];
  const merges: [string, string][] = [];
  while (made.length < 3 + most) {
    const pairs = new Map<string, number>();
    for (const { symbols, count } of words)
      for (let i = 0; i + 1 < symbols.length; i++) {
        const key = `${symbols[i]} ${symbols[i + 1]}`;
        pairs.set(key, (pairs.get(key) ?? 0) + count);
      }
    const rank = (key: string): number[] => key.split(" ").map((token) => made.indexOf(token));
    const before = (a: string, b: string): number =>
      rank(a)[0]! - rank(b)[0]! || rank(a)[1]! - rank(b)[1]!;
    const best = [...pairs].sort(([a, x], [b, y]) => y - x || before(a, b))[0];
    if (best === undefined) break;
    const [left, right] = best[0].split(" ") as [string, string];
    if (!made.includes(left + right)) made.push(left + right);
    if (!merges.some(([a, b]) => a === left && b === right)) merges.push([left, right]);
    for (const word of words) word.symbols = joined(word.symbols, left, right);
  }
  return merges;
}

function joined(symbols: readonly string[], left: string, right: string): string[] {
  const result: string[] = [];
  for (let i = 0; i < symbols.length; i++) {
    const match = symbols[i] === left && symbols[i + 1] === right;
    result.push(match ? left + right : symbols[i]!);
    if (match) i++;
  }
  return result;
}
