/**
 * @file Encoding and decoding with Qwen's tokenizers, streams, and files that are wrong.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";
import { trainTokenizer, writeTokenizer } from "../../../src/models/tokenizer/train.ts";
import { temporaryFolder } from "../files.ts";
import { QWEN3, QWEN25, tokenizerOf } from "./folders.ts";

const reference = JSON.parse(
  readFileSync(new URL("./tokenizer.reference.json", import.meta.url), "utf8"),
) as { texts: string[]; ids: Record<string, number[][]> };

describe.each([
  ["qwen2_5", QWEN25, 151_665],
  ["qwen3", QWEN3, 151_669],
])("%s", (name, folder, size) => {
  const tokenizer = tokenizerOf(folder);

  it("gives the ids of Python's tokenizers", () => {
    reference.texts.forEach((text, i) => {
      expect(tokenizer.encode(text)).toEqual(reference.ids[name]![i]);
    });
  });

  it("knows its special tokens", () => {
    expect(tokenizer.vocabularySize).toBe(size);
    expect(tokenizer.eosTokenId).toBe(151_645);
    expect(tokenizer.padTokenId).toBe(151_643);
    expect(tokenizer.bosTokenId).toBeNull();
    expect(tokenizer.tokenToId("<|im_start|>")).toBe(151_644);
    expect(tokenizer.idToToken(151_644)).toBe("<|im_start|>");
    expect(tokenizer.specialIds.has(151_644)).toBe(true);
    expect(tokenizer.byteLevel).toBe(true);
    expect(tokenizer.encode("<|im_end|>\n")).toEqual([151_645, 198]);
  });

  it("decodes what it encoded, whole and in a stream", () => {
    const text = fc.string({ unit: "binary", maxLength: 60 });
    fc.assert(
      fc.property(text, (original) => {
        const ids = tokenizer.encode(original);
        // Qwen composes accents before it encodes.
        expect(tokenizer.decode(ids)).toBe(original.normalize("NFC"));
        const stream = tokenizer.stream();
        let streamed = "";
        for (const id of ids) {
          const piece = stream.push(id);
          if (!original.includes("\uFFFD")) expect(piece).not.toContain("\uFFFD");
          streamed += piece;
        }
        expect(streamed + stream.finish()).toBe(tokenizer.decode(ids));
      }),
      { numRuns: 150 },
    );
  });

  it("streams any ids as it decodes them", () => {
    const ids = fc.array(fc.nat(151_935), { maxLength: 30 });
    fc.assert(
      fc.property(ids, fc.boolean(), (sequence, skipSpecialTokens) => {
        const stream = tokenizer.stream({ skipSpecialTokens });
        const pieces = sequence.map((id) => stream.push(id));
        const whole = tokenizer.decode(sequence, { skipSpecialTokens });
        expect(pieces.join("") + stream.finish()).toBe(whole);
      }),
      { numRuns: 300 },
    );
  });

  it("holds an incomplete character back", () => {
    const ids = tokenizer.encode("𓀀");
    expect(ids.length).toBeGreaterThan(1);
    const stream = tokenizer.stream();
    for (const id of ids.slice(0, -1)) expect(stream.push(id)).toBe("");
    expect(stream.push(ids.at(-1)!)).toBe("𓀀");
    expect(stream.finish()).toBe("");
    const cut = tokenizer.stream();
    expect(cut.push(ids.slice(0, -1))).toBe("");
    expect(cut.finish()).toBe("\uFFFD");
  });

  it("leaves special tokens out on request, and ids without a token always", () => {
    const ids = tokenizer.encode("a<|im_end|>b");
    expect(tokenizer.decode(ids)).toBe("a<|im_end|>b");
    expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe("ab");
    expect(tokenizer.decode([...ids, 151_900, 10 ** 9, -1])).toBe("a<|im_end|>b");
    expect(tokenizer.decode([])).toBe("");
    expect(tokenizer.encode("")).toEqual([]);
  });

  it("gives the bytes of tokens", () => {
    const text = "Ünïcödé 漢字 \n";
    const bytes = tokenizer.encode(text).flatMap((id) => [...tokenizer.tokenBytes(id)]);
    expect(Buffer.from(bytes).toString("utf8")).toBe(text);
    expect(tokenizer.tokenBytes(151_900)).toEqual(new Uint8Array());
  });
});

describe("a tokenizer of SentencePiece's kind", () => {
  /** As Llama 2's: spaces as ▁, unknown characters as bytes, a BOS token in front. */
  function write(folder: string): void {
    const pieces = ["<unk>", "<s>", "</s>"];
    for (let byte = 0; byte < 256; byte++)
      pieces.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    pieces.push("▁", "h", "i", "hi", "▁hi");
    const added = [0, 1, 2].map((id) => ({ id, content: pieces[id], special: true }));
    const json = {
      added_tokens: added,
      normalizer: {
        type: "Sequence",
        normalizers: [
          { type: "Prepend", prepend: "▁" },
          { type: "Replace", pattern: { String: " " }, content: "▁" },
        ],
      },
      pre_tokenizer: null,
      post_processor: {
        type: "TemplateProcessing",
        single: [
          { SpecialToken: { id: "<s>", type_id: 0 } },
          { Sequence: { id: "A", type_id: 0 } },
        ],
        pair: [],
        special_tokens: { "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] } },
      },
      decoder: {
        type: "Sequence",
        decoders: [
          { type: "Replace", pattern: { String: "▁" }, content: " " },
          { type: "ByteFallback" },
          { type: "Fuse" },
          { type: "Strip", content: " ", start: 1, stop: 0 },
        ],
      },
      model: {
        type: "BPE",
        unk_token: "<unk>",
        byte_fallback: true,
        vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
        merges: ["h i", "▁ hi"],
      },
    };
    writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(json));
    const config = { bos_token: { content: "<s>" }, eos_token: "</s>" };
    writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify(config));
  }

  it("encodes, decodes and streams", () => {
    const folder = temporaryFolder();
    write(folder);
    const tokenizer = loadTokenizer(folder);
    expect(tokenizer.byteLevel).toBe(false);
    expect(tokenizer.bosTokenId).toBe(1);
    expect(tokenizer.encode("hi")).toEqual([263]);
    expect(tokenizer.encode("hi", { addSpecialTokens: true })).toEqual([1, 263]);
    for (const text of ["hi hi", "hi 漢字 hi", "😀"]) {
      const ids = tokenizer.encode(text);
      expect(tokenizer.decode(ids)).toBe(text);
      const stream = tokenizer.stream();
      const pieces = ids.map((id) => stream.push(id));
      expect(pieces.join("")).not.toContain("\uFFFD");
      expect(pieces.join("") + stream.finish()).toBe(text);
    }
    expect(Buffer.from(tokenizer.tokenBytes(263)).toString()).toBe(" hi");
    expect([...tokenizer.tokenBytes(3 + 0x0a)]).toEqual([10]);
  });
});

describe("files that are missing or wrong", () => {
  const good = (): string => {
    const folder = temporaryFolder();
    writeTokenizer(folder, trainTokenizer(["some text"], { vocabularySize: 300 }));
    return folder;
  };

  it("are named", () => {
    const empty = temporaryFolder();
    expect(() => loadTokenizer(empty)).toThrow(/tokenizer\.json: the file does not exist/);
    writeFileSync(join(empty, "tokenizer.model"), "");
    expect(() => loadTokenizer(empty)).toThrow("has only tokenizer.model");
  });

  it.each<[string, string, RegExp]>([
    ["tokenizer.json", "{", /tokenizer\.json: is not valid JSON/],
    ["tokenizer.json", "[]", /not a JSON object/],
    ["tokenizer.json", "{}", /model is missing/],
    ["tokenizer.json", '{"model":{}}', /model\.vocab is missing/],
    ["tokenizer.json", '{"model":{"type":"BPE","vocab":{}}}', /model\.merges is missing/],
    ["tokenizer.json", '{"model":{"vocab":{"a":-1}}}', /gives "a" the id -1/],
    ["tokenizer.json", '{"model":{"vocab":{"a":1e12}}}', /gives "a" the id/],
    ["tokenizer.json", '{"model":{"vocab":{"a":0,"b":0}}}', /the id 0 to two tokens/],
    ["tokenizer.json", '{"model":{"vocab":{}},"added_tokens":[{}]}', /added_tokens must be/],
    ["tokenizer.json", '{"model":{"type":"BPE","vocab":{},"merges":[]}}', /cannot be used/],
    ["tokenizer_config.json", "", /tokenizer_config\.json: is not valid JSON/],
    ["tokenizer_config.json", '{"eos_token":5}', /eos_token is 5/],
  ])("%s with %s", (name, text, reason) => {
    const folder = good();
    writeFileSync(join(folder, name), text);
    expect(() => loadTokenizer(folder)).toThrow(reason);
  });
});
