/**
 * @file How families of models write calls: what is written is read again, piece by piece or at once.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileTemplate } from "../../src/models/index.ts";
import { Chat } from "../../src/models/index.ts";
import { readReply, replyReader } from "../../src/gateway/tools/reader.ts";
import { HERMES, LLAMA, SMOLLM, writeCalls } from "../../src/gateway/tools/style.ts";
import { toolTemplate } from "../../src/gateway/tools/template.ts";
import { tinyGateway, WEATHER } from "./support.ts";

const { tiny } = tinyGateway();
const STYLES = [HERMES, LLAMA, SMOLLM];
const call = { name: "weather", arguments: '{"city":"Bern"}' };

describe("calls", () => {
  it.each(STYLES)("$name: what is written is read, however it is cut", (style) => {
    const anyCall = fc.record({
      name: fc.constantFrom("a", "look_up"),
      arguments: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
    });
    const calls = fc.array(anyCall, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(calls, fc.array(fc.nat(40), { maxLength: 30 }), (wanted, cuts) => {
        const text = writeCalls(style, wanted);
        // Arguments that hold the mark itself cannot be told from it.
        fc.pre(
          !wanted.some(
            (one) => one.arguments.includes(style.closing || "\0") || /;\s*\{/.test(one.arguments),
          ),
        );
        const reader = replyReader(style);
        const pieces = [];
        let at = 0;
        for (const cut of [...cuts, text.length]) {
          pieces.push(reader.push(text.slice(at, at + cut)));
          at += cut;
        }
        pieces.push(reader.push(text.slice(at)), reader.finish());
        const parsed = (list: { name: string; arguments: string }[]) =>
          list.map((one) => [one.name, JSON.parse(one.arguments)]);
        expect(parsed(pieces.flatMap((piece) => [...piece.calls]))).toEqual(parsed(wanted));
        expect(pieces.map((piece) => piece.text).join("")).toBe("");
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["text before", HERMES, "Let me see.\n<tool_call>{…}</tool_call>", "Let me see.", 1],
    ["text behind", HERMES, "<tool_call>{…}</tool_call> done", " done", 1],
    ["no end", HERMES, "<tool_call>{…}", "", 1],
    ["no JSON", HERMES, "<tool_call>what</tool_call>", "<tool_call>what</tool_call>", 0],
    ["half a mark", HERMES, "a <tool", "a <tool", 0],
    ["nothing", HERMES, "just words", "just words", 0],
    ["the python tag", LLAMA, "<|python_tag|>{…}", "", 1],
    ["bare JSON", LLAMA, " {…}; {…}", "", 2],
    ["JSON that is no call", LLAMA, '{"x": 1}', '{"x": 1}', 0],
    ["a fence", LLAMA, "```json\n{…}\n```", "", 1],
    ["a list", SMOLLM, "<tool_call>[{…}, {…}]</tool_call>", "", 2],
  ])("%s", (_, style, given, text, count) => {
    const whole = given.replaceAll("{…}", '{"name": "weather", "arguments": {"city": "Bern"}}');
    const read = readReply(style, whole);
    expect(read.text).toBe(text);
    expect(read.calls).toEqual(Array.from({ length: count }, () => call));
  });
});

const QWEN = `{%- if tools %}<|im_start|>system
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
return <tool_call> json<|im_end|>
{% endif %}{%- for message in messages %}{%- if message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}{% for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endif %}{%- endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;
const SMOL = `{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`;
const STRICT = `{% for message in messages %}{% if message.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`;

describe("templates", () => {
  const chatOf = (source: string) =>
    new Chat({ tokenizer: tiny.chat.tokenizer, template: compileTemplate(source) });
  const conversation = [
    { role: "user", content: "rain?" },
    { role: "assistant", content: "", calls: [{ id: "1", ...call }] },
    { role: "tool", content: "yes", callId: "1" },
  ] as const;

  it.each([
    [
      "that know functions write them themselves",
      QWEN,
      "hermes",
      /^<\|im_start\|>system\n# Tools\{"type": ?"function"/,
    ],
    [
      "that know none get them in the system's message",
      SMOL,
      "smollm2",
      /^<\|im_start\|>system\nYou have these functions/,
    ],
    [
      "that refuse tools get their answers from the user",
      STRICT,
      "smollm2",
      /<tool_response>\nyes\n<\/tool_response>/,
    ],
  ])("%s", (_, source, style, shown) => {
    const templates = toolTemplate(chatOf(source));
    expect(templates.style.name).toBe(style);
    const messages = templates.messagesFor(conversation, [WEATHER]);
    const text = templates.chatFor([WEATHER]).render(messages);
    expect(text).toMatch(shown);
    expect(text).toMatch(
      /<tool_call>\s*\[?\{"name": "weather", "arguments": \{"city": ?"Bern"\}\}/,
    );
    expect(text).toContain("yes");
  });

  it("of Llama 3 are known by their python tag", () => {
    const source = SMOL.replace("{% for", "{# <|python_tag|> #}{% for");
    expect(toolTemplate(chatOf(source)).style.name).toBe("llama");
    expect(toolTemplate(chatOf(SMOL), "hermes").style.name).toBe("hermes");
  });
});
