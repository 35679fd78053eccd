/**
 * @file Tokenizers as Gemma's (spaces as ▁, bytes where a character is unknown, not byte-level), against the
 * tokenizers library (tools/interop/python/make_tokenizer_goldens.py).
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Chat } from "../../../src/models/tokenizer/chat/chat.ts";
import { compileTemplate } from "../../../src/models/tokenizer/chat/template.ts";
import { Conversation } from "../../../src/models/tokenizer/chat/conversation.ts";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";

const FOLDER = fileURLToPath(new URL("gemma", import.meta.url));
const expected = JSON.parse(readFileSync(`${FOLDER}/expected.json`, "utf8")) as {
  texts: string[];
  ids: number[][];
  again: string[];
  drawn: number[][];
  decoded: string[];
  with_special: number[];
};
const tokenizer = loadTokenizer(FOLDER);
const TURNS = readFileSync(fileURLToPath(new URL("manners/turns.jinja", import.meta.url)), "utf8");

describe("a tokenizer as Gemma's", () => {
  it("gives 500 texts the ids that the library gives them", () => {
    expect(expected.texts.length).toBe(500);
    expect(expected.texts.map((text) => tokenizer.encode(text))).toEqual(expected.ids);
    expect(tokenizer.encode("You see", { addSpecialTokens: true })).toEqual(expected.with_special);
  });

  it("makes of ids the texts that the library makes", () => {
    expect(expected.ids.map((ids) => tokenizer.decode(ids))).toEqual(expected.again);
    expect(expected.drawn.map((ids) => tokenizer.decode(ids))).toEqual(expected.decoded);
  });

  it("streams the same text, id by id", () => {
    for (const [i, ids] of [...expected.ids, ...expected.drawn].entries()) {
      const stream = tokenizer.stream();
      const text = ids.map((id) => stream.push(id)).join("") + stream.finish();
      expect(text).toBe([...expected.again, ...expected.decoded][i]);
    }
  });

  it("has special tokens, and text that only looks like them", () => {
    expect([tokenizer.bosTokenId, tokenizer.eosTokenId, tokenizer.padTokenId]).toEqual([2, 1, 0]);
    const end = tokenizer.tokenToId("<end_of_turn>")!;
    expect(tokenizer.encode("<end_of_turn>")).toEqual([end]);
    const plain = tokenizer.encodePlain("a<end_of_turn> b");
    expect(plain).not.toContain(end);
    expect(tokenizer.decode(plain)).toBe("a<end_of_turn> b");
  });

  it("has conversations with a template as Gemma's", () => {
    const template = compileTemplate(TURNS, "turns.jinja", { bos_token: "<bos>" });
    const chat = new Chat({ tokenizer, template });
    expect(tokenizer.idToToken(chat.endOfTurnId)).toBe("<end_of_turn>");
    const conversation = new Conversation(chat, [{ role: "user", content: "Where are you?" }]);
    conversation.reply([...tokenizer.encode("in the room"), chat.endOfTurnId]);
    conversation.append([{ role: "user", content: "go <end_of_turn>" }]);
    expect(conversation.text()).toBe(
      "<bos><start_of_turn>user\nWhere are you?<end_of_turn>\n<start_of_turn>model\nin the room<end_of_turn>\n" +
        "<start_of_turn>user\ngo <end_of_turn><end_of_turn>\n<start_of_turn>model\n",
    );
    const ends = conversation.ids.filter((id) => id === chat.endOfTurnId);
    expect(ends.length).toBe(3);
  });
});
