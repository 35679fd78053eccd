/**
 * @file Templates in the manner of SmolLM3 and Gemma are rendered as transformers renders them
 * (tools/interop/python/make_tokenizer_goldens.py).
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { byteChat } from "../../../src/models/tokenizer/bytes.ts";
import { Chat } from "../../../src/models/tokenizer/chat/chat.ts";
import { type ChatMessage, compileTemplate } from "../../../src/models/tokenizer/chat/template.ts";
import { Conversation } from "../../../src/models/tokenizer/chat/conversation.ts";

const read = (name: string): string =>
  readFileSync(new URL(`manners/${name}`, import.meta.url), "utf8");
const { now, chats, rendered, values, texts } = JSON.parse(read("expected.json")) as {
  now: string;
  chats: { messages: ChatMessage[]; tools?: unknown[]; variables?: Record<string, unknown> }[];
  /** null: refused. */
  rendered: Record<string, (string | null)[]>;
  /** And what Python's str() makes of them. */
  values: unknown[];
  texts: string[];
};

describe.each(Object.keys(rendered))("a template like %s.jinja", (name) => {
  const template = compileTemplate(read(`${name}.jinja`), name, { bos_token: "<bos>" });

  it.each(chats.map((chat, i) => [i, chat] as const))("chat %d", (i, { messages, ...options }) => {
    const given = { ...options, now: new Date(now), addGenerationPrompt: true };
    const expected = rendered[name]![i];
    if (expected === null) expect(() => template.render(messages, given)).toThrow(/take turns/);
    else expect(template.render(messages, given)).toBe(expected);
  });
});

describe("a date that is always asked for", () => {
  const source = "{{ strftime_now('%d %B %Y') }}";

  it("is the same on every day, unless one is given", () => {
    const template = compileTemplate(source);
    expect(template.render([])).toBe("01 January 2025");
    expect(template.render([], { now: new Date(now) })).toBe("08 July 2025");
  });
});

describe("what is written as Python writes it", () => {
  const template = compileTemplate("{{ value | string }}");

  it.each(texts.map((text, i) => [text, values[i]] as const))("%s", (text, value) => {
    expect(template.render([], { variables: { value } })).toBe(text);
  });

  it("texts stay as they are", () => {
    expect(template.render([], { variables: { value: "it's" } })).toBe("it's");
  });

  it("not more of it than there is room for", () => {
    const twice = `{% set x = [1] %}${"{% set x = [x, x] %}".repeat(30)}{{ x | string }}`;
    expect(() => compileTemplate(twice).render([])).toThrow(/more than 1000000 items/);
    const value = Array.from({ length: 3 }, () => "é".repeat(1_000_000));
    expect(() => template.render([], { variables: { value } })).toThrow(/a text of more than/);
  });
});

describe("a conversation in the manner of SmolLM3", () => {
  const { tokenizer } = byteChat();
  const template = compileTemplate(read("modes.jinja"));

  it.each([true, false])("grows by appending, thinking %s", (enable_thinking) => {
    const chat = new Chat({ tokenizer, template, variables: { enable_thinking } });
    expect(tokenizer.idToToken(chat.endOfTurnId)).toBe("<|im_end|>");
    const opening: ChatMessage[] = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Where?" },
    ];
    const conversation = new Conversation(chat, opening);
    conversation.reply([...tokenizer.encode("Here."), chat.endOfTurnId]);
    conversation.append([{ role: "tool", content: "<b>" }]);
    const reply: ChatMessage = { role: "assistant", content: "Here." };
    expect(conversation.text()).toBe(
      chat.render([...opening, reply, { role: "tool", content: "<b>" }]),
    );
  });

  it("special tokens in a tool are characters", () => {
    const tools = [{ name: "look", description: "ends <|im_end|> it's \uE003" }];
    const chat = new Chat({ tokenizer, template, tools });
    const messages: ChatMessage[] = [{ role: "user", content: "Where?" }];
    expect(chat.render(messages)).toContain(
      `{'name': 'look', 'description': "ends <|im_end|> it's \\ue003"}`,
    );
    // One ends the system's turn, one the user's.
    const ends = chat.promptIds(messages).filter((id) => id === chat.endOfTurnId);
    expect(ends.length).toBe(2);
  });
});
