/**
 * @file Where the JavaScript library would give other tokens than Python's: numbers, and bytes without a token.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BYTE_CHARACTERS } from "../../../src/models/tokenizer/byte-alphabet.ts";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";
import type { Tokenizer } from "../../../src/models/tokenizer/tokenizer.ts";
import { temporaryFolder } from "../files.ts";

const byteLevel = { type: "ByteLevel", add_prefix_space: false, use_regex: true };

/** A byte-level tokenizer of single bytes and some merges; numbers are cut by rule. */
function tokenizerOf(
  bytes: readonly string[],
  merges: readonly [string, string][],
  individual_digits = true,
): Tokenizer {
  const tokens = [...bytes, ...merges.map((pair) => pair.join(""))];
  const folder = temporaryFolder();
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const pretokenizers = [{ type: "Digits", individual_digits }, byteLevel];
  const json = {
    pre_tokenizer: { type: "Sequence", pretokenizers },
    ...{ normalizer: null, post_processor: null, decoder: byteLevel, added_tokens: [] },
    model: { type: "BPE", vocab, merges: merges.map((pair) => pair.join(" ")), unk_token: null },
  };
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(json));
  writeFileSync(join(folder, "tokenizer_config.json"), "{}");
  return loadTokenizer(folder);
}

const spelled = (tokenizer: Tokenizer, text: string): (string | undefined)[] =>
  tokenizer.encode(text).map((id) => tokenizer.idToToken(id));

describe("numbers", () => {
  const merges: [string, string][] = [
    ["1", "2"],
    ["Ġ", "Â"],
    ["Â", "½"],
  ];

  it("are all that Unicode calls so, each a word of its own", () => {
    const tokenizer = tokenizerOf(BYTE_CHARACTERS, merges);
    expect(spelled(tokenizer, "a12 ½")).toEqual(["a", "1", "2", "Ġ", "Â½"]);
  });

  it("or several together", () => {
    const tokenizer = tokenizerOf(BYTE_CHARACTERS, merges, false);
    expect(spelled(tokenizer, "a12 ½")).toEqual(["a", "12", "Ġ", "Â½"]);
  });
});

describe("bytes without a token", () => {
  it("are left out before merging", () => {
    const some = BYTE_CHARACTERS.filter((character) => character !== "b");
    const tokenizer = tokenizerOf(some, [["a", "c"]]);
    expect(spelled(tokenizer, "abbc b")).toEqual(["ac", "Ġ"]);
    expect(spelled(tokenizerOf(BYTE_CHARACTERS, [["a", "c"]]), "abc")).toEqual(["a", "b", "c"]);
  });
});
