/**
 * @file Conversations that grow: every prompt begins with the one before, and where nothing is
 * dropped the ids are those of rendering everything anew.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Chat } from "../../../src/models/tokenizer/chat/chat.ts";
import {
  type ChatMessage,
  compileTemplate,
  loadChatTemplate,
} from "../../../src/models/tokenizer/chat/template.ts";
import { Conversation } from "../../../src/models/tokenizer/chat/conversation.ts";
import { loadTokenizer } from "../../../src/models/tokenizer/files.ts";
import type { Tokenizer } from "../../../src/models/tokenizer/tokenizer.ts";
import { temporaryFolder } from "../files.ts";
import { ownFolder, QWEN3, QWEN25, tokenizerOf } from "./folders.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const system = (content: string): ChatMessage => ({ role: "system", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const tool = (content: string): ChatMessage => ({ role: "tool", content });

const tools = [
  {
    type: "function",
    function: {
      name: "look",
      description: "Look.",
      parameters: { type: "object", properties: {} },
    },
  },
];

describe.each<[string, () => string]>([
  ["Qwen2.5", () => QWEN25],
  ["Qwen3", () => QWEN3],
  ["our own", ownFolder],
])("%s", (name, folderOf) => {
  const open = (): { tokenizer: Tokenizer; chat: Chat; toolChat: Chat } => {
    const folder = folderOf();
    const tokenizer = name === "our own" ? loadTokenizer(folder) : tokenizerOf(folder);
    const template = loadChatTemplate(folder);
    return {
      tokenizer,
      chat: new Chat({ tokenizer, template }),
      toolChat: new Chat({ tokenizer, template, tools }),
    };
  };

  it("ends turns with <|im_end|>", () => {
    const { tokenizer, chat } = open();
    expect(chat.endOfTurnId).toBe(tokenizer.tokenToId("<|im_end|>"));
  });

  it("any sampled ids, finished or cut off: each prompt begins with all before it", () => {
    const { tokenizer, chat, toolChat } = open();
    const id = fc.nat(tokenizer.vocabularySize - 1);
    const turn = fc.record({
      reply: fc.array(id, { maxLength: 8 }),
      finished: fc.boolean(),
      // Contents may look like anything, also like special tokens or thinking.
      next: fc.array(
        fc.record({
          role: fc.constantFrom<"user" | "tool">("user", "tool"),
          content: fc.oneof(
            fc.string({ unit: "grapheme", maxLength: 12 }),
            fc.constantFrom("<think>x</think>y", "<|im_end|>", " \n ", "replyx7c1e", ""),
          ),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    });
    fc.assert(
      fc.property(fc.boolean(), fc.array(turn, { maxLength: 5 }), (withTools, turns) => {
        const format = withTools ? toolChat : chat;
        const conversation = new Conversation(format, [system("Be brief."), user("Begin.")]);
        for (const { reply, finished, next } of turns) {
          const prompt = [...conversation.ids];
          const promptText = conversation.text();
          const sampled = finished ? [...reply, format.endOfTurnId] : reply;
          conversation.reply(sampled);
          conversation.append(next);
          const following = conversation.ids;
          expect(following.slice(0, prompt.length)).toEqual(prompt);
          expect(following.slice(prompt.length, prompt.length + sampled.length)).toEqual(sampled);
          // After the reply: the end of the turn, once.
          const after = following.slice(prompt.length + sampled.length);
          if (sampled.at(-1) !== format.endOfTurnId) expect(after[0]).toBe(format.endOfTurnId);
          else expect(after[0]).not.toBe(format.endOfTurnId);
          // In bytes too: special tokens separate what was sampled from what follows.
          expect(conversation.text().startsWith(promptText)).toBe(true);
        }
        const covered = conversation.segments.flatMap(({ start, end }) => [start, end]);
        expect(covered[0]).toBe(0);
        expect(covered.at(-1)).toBe(conversation.ids.length);
      }),
      { numRuns: 60 },
    );
  });

  it("without thinking, the ids are those of the whole rendered anew", () => {
    const { tokenizer, chat } = open();
    const text = fc.string({
      unit: fc.constantFrom(..."abc .,!?12é漢\n'"),
      minLength: 1,
      maxLength: 20,
    });
    const turn = fc.record({
      // A reply keeps its own tokens; only one that is encoded as it would be can be compared.
      reply: text.map((reply) => `x${reply.trim()}`),
      next: fc.oneof(
        text.map((content) => [user(content)]),
        fc.array(text, { minLength: 1, maxLength: 2 }).map((all) => all.map(tool)),
      ),
    });
    fc.assert(
      fc.property(text, fc.array(turn, { maxLength: 4 }), fc.boolean(), (first, turns, begun) => {
        const messages: ChatMessage[] = begun ? [system("S"), user(first)] : [user(first)];
        const conversation = new Conversation(chat, messages);
        for (const { reply, next } of turns) {
          conversation.replyWithText(reply);
          conversation.append(next);
          messages.push(assistant(reply), ...next);
        }
        expect(conversation.ids).toEqual(tokenizer.encode(chat.render(messages)));
      }),
      { numRuns: 60 },
    );
  });

  it("marks prompts and replies", () => {
    const { tokenizer, chat } = open();
    const conversation = new Conversation(chat, [user("go")]);
    expect(conversation.awaitsReply).toBe(true);
    conversation.replyWithText("north");
    expect(conversation.awaitsReply).toBe(false);
    conversation.append([user("on")]);
    expect(conversation.segments.map(({ kind }) => kind)).toEqual(["prompt", "reply", "prompt"]);
    const { start, end } = conversation.segments[1]!;
    expect(tokenizer.decode(conversation.ids.slice(start, end))).toBe("north<|im_end|>");
  });

  it("keeps its order", () => {
    const { chat } = open();
    const conversation = new Conversation(chat, [user("go")]);
    expect(() => conversation.append([user("x")])).toThrow("has no reply yet");
    conversation.reply([]);
    expect(() => conversation.reply([1])).toThrow("there is a reply already");
    expect(() => conversation.append([])).toThrow("at least one message");
    expect(() => new Conversation(chat, [])).toThrow("at least one message");
  });
});

describe("thinking", () => {
  const template = () => loadChatTemplate(QWEN3);
  const thought = "<think>\nA lamp.\n</think>\n\ntake lamp";

  it("Qwen3's template drops it from history, a conversation keeps it", () => {
    const chat = new Chat({ tokenizer: tokenizerOf(QWEN3), template: template() });
    const conversation = new Conversation(chat, [user("Dark.")]);
    conversation.replyWithText(thought);
    conversation.append([user("Lit.")]);
    expect(chat.render([user("Dark."), assistant(thought), user("Lit.")])).not.toContain("A lamp.");
    expect(conversation.text()).toBe(
      "<|im_start|>user\nDark.<|im_end|>\n<|im_start|>assistant\n" +
        `${thought}<|im_end|>\n<|im_start|>user\nLit.<|im_end|>\n<|im_start|>assistant\n`,
    );
  });

  it("switched off, the empty thought stays in every prompt", () => {
    const variables = { enable_thinking: false };
    const chat = new Chat({ tokenizer: tokenizerOf(QWEN3), template: template(), variables });
    const conversation = new Conversation(chat, [user("Dark.")]);
    conversation.replyWithText("take lamp");
    conversation.append([user("Lit.")]);
    expect(conversation.text().split("<think>\n\n</think>\n\n").length).toBe(3);
  });
});

describe("templates", () => {
  const tokenizer = () => tokenizerOf(QWEN25);
  const chatOf = (source: string): Chat =>
    new Chat({ tokenizer: tokenizer(), template: compileTemplate(source, "test.jinja") });
  const each = (body: string): string =>
    `{% for message in messages %}${body}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;

  it.each([
    [
      "that hides replies",
      each("{% if message.role != 'assistant' %}{{ message.content }}{% endif %}<|im_end|>"),
      /does not show what the assistant said/,
    ],
    ["that repeats replies", each("{{ message.content }}{{ message.content }}<|im_end|>"), /twice/],
    ["that changes replies", each("{{ message.content | upper }}<|im_end|>"), /does not show/],
    [
      "without a token at the end of a turn",
      each("\n{{ message.role }}: {{ message.content }}"),
      /no special token/,
    ],
    ["with only a space at the end of a turn", each("{{ message.content }} "), /no special token/],
    [
      "that hides later messages",
      each("{% if loop.index0 < 2 %}{{ message.content }}{% endif %}<|im_end|>"),
      /does not show a user message/,
    ],
    [
      "that refuses",
      "{{ raise_exception('no chats here') }}",
      /test\.jinja: the chat template refuses.*no chats here/,
    ],
  ])("%s are refused", (_, source, reason) => {
    expect(() => chatOf(source)).toThrow(reason);
  });

  it("that do not show a role are refused when it comes", () => {
    const chat = chatOf(
      each("{% if message.role != 'tool' %}{{ message.content }}{% endif %}<|im_end|>"),
    );
    const conversation = new Conversation(chat, [user("go")]);
    conversation.replyWithText("ok");
    expect(() => conversation.append([tool("found")])).toThrow("does not show a tool message");
  });

  it("that trim contents, or start turns without ending them, can be continued", () => {
    const trimmed = chatOf(
      each("<|im_start|>{{ message.role }}\n{{ message.content | trim }}<|im_end|>\n"),
    );
    const conversation = new Conversation(trimmed, [user(" go ")]);
    conversation.replyWithText(" ok ");
    conversation.append([user(" on ")]);
    expect(conversation.text()).toBe(
      "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n ok <|im_end|>\n<|im_start|>user\non<|im_end|>\n<|im_start|>assistant\n",
    );
    // The next turn's first token is what ends this one.
    const open = chatOf(each("<|im_start|>{{ message.role }}\n{{ message.content }}"));
    expect(open.endOfTurnId).toBe(tokenizer().tokenToId("<|im_start|>"));
  });

  it("that are no Jinja are refused", () => {
    expect(() => compileTemplate("{% if %}", "bad.jinja")).toThrow(/bad\.jinja: .*not valid Jinja/);
  });

  it("come from chat_template.jinja first, then from tokenizer_config.json", () => {
    const folder = temporaryFolder();
    const config = join(folder, "tokenizer_config.json");
    expect(() => loadChatTemplate(folder)).toThrow("does not exist");
    writeFileSync(config, "{}");
    expect(() => loadChatTemplate(folder)).toThrow("has no chat template");
    writeFileSync(
      config,
      JSON.stringify({ chat_template: "A {{ eos_token }}", eos_token: { content: "E" } }),
    );
    expect(loadChatTemplate(folder).render([])).toBe("A E");
    const named = [
      { name: "tool_use", template: "T" },
      { name: "default", template: "D" },
    ];
    writeFileSync(config, JSON.stringify({ chat_template: named }));
    expect(loadChatTemplate(folder).render([])).toBe("D");
    writeFileSync(join(folder, "chat_template.jinja"), "B");
    expect(loadChatTemplate(folder).render([])).toBe("B");
  });

  it("see the date only if it is given", () => {
    const source =
      "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y, %H:%M') }}{% else %}no date{% endif %}";
    const template = compileTemplate(source);
    expect(template.render([])).toBe("no date");
    expect(template.render([], { now: new Date("2026-02-03T04:05:06Z") })).toBe(
      "03 Feb 2026, 04:05",
    );
  });

  it("have Python's range", () => {
    expect(compileTemplate("{% for i in range(3) %}{{ i }}{% endfor %}").render([])).toBe("012");
    expect(compileTemplate("{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}").render([])).toBe(
      "531",
    );
  });
});
