/**
 * @file Chat templates are programs that come with a model folder: what real ones use works as without
 * limits, and what would take hours or all memory is refused in a moment, with a sentence.
 */
import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";
import { describe, expect, it } from "vitest";
import { ModelFileError } from "../../../src/models/checkpoint/errors.ts";
import { type ChatMessage, compileTemplate } from "../../../src/models/tokenizer/chat/template.ts";
import { PUBLISHED_MANNERS } from "./templates.ts";

const call = {
  type: "function",
  function: { name: "act", arguments: { action: "open <b> & 'x'", n: 3, list: [1.5, true, null] } },
};
const CHATS: readonly (readonly ChatMessage[])[] = [
  [{ role: "user", content: "hello" }],
  [
    { role: "system", content: "  You act.\n" },
    { role: "user", content: "Go.\n<answer>a</answer>" },
    { role: "assistant", content: "<think>\nhm\n</think>\n\nlook" },
    { role: "user", content: "<answer>You see nothing.</answer>" },
    { role: "assistant", content: "", tool_calls: [call, call] },
    { role: "tool", content: "ﬁne\n\nmore" },
    { role: "tool", content: "" },
    { role: "assistant", content: "done", reasoning_content: "\nso\n" },
  ],
  Array.from({ length: 60 }, (_, i) => ({
    role: i % 2 ? ("assistant" as const) : ("user" as const),
    content: `${"word ".repeat(50)}<think>${i}</think> ${i}`,
  })),
];
const TOOLS = [
  { name: "act", description: "acts", parameters: { type: "object", properties: { a: {} } } },
  { name: "wait", parameters: { type: "object", nested: { deep: [1, 2, { x: "é" }] } } },
];

/** As the package renders it, without limits. */
function plainly(source: string, variables: Readonly<Record<string, unknown>>): string {
  const environment = new Environment();
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null };
  const range = (from: number, to: number, step: number) =>
    Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);
  for (const [name, value] of Object.entries({ ...constants, range, ...variables }))
    environment.set(name, value);
  const program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  return String(new Interpreter(environment).run(program).value);
}

describe.each(Object.entries(PUBLISHED_MANNERS))("a template like %s", (_, source) => {
  it("is rendered as without limits", () => {
    const template = compileTemplate(source, "t.jinja", { bos_token: "<s>" });
    for (const messages of CHATS)
      for (const tools of [undefined, TOOLS])
        for (const enable_thinking of [false, true]) {
          const wanted = plainly(source, {
            ...{ bos_token: "<s>", enable_thinking, messages, tools: tools ?? null },
            add_generation_prompt: true,
          });
          const options = { ...(tools && { tools }), addGenerationPrompt: true };
          expect(template.render(messages, { ...options, variables: { enable_thinking } })).toBe(
            wanted,
          );
        }
  });

  it("takes a conversation of thousands of turns", () => {
    const template = compileTemplate(source, "t.jinja", { bos_token: "<s>" });
    const messages = Array.from({ length: 100 }, () => CHATS[1]!.slice(1, 4)).flat();
    const many = Array.from({ length: 10 }, () => messages).flat();
    expect(template.render(many).length).toBeGreaterThan(3000 * 20);
  });
});

const MEGABYTE = `{% set x = 'abcdefghij' %}${"{% set x = x ~ x %}".repeat(17)}`;

describe("a hostile template", () => {
  it.each([
    [
      "a namespace that grows in a list",
      `${MEGABYTE}{% set n = namespace(t='') %}{% set l = [n, n, n, n] %}{% set n.t = x %}{{ l }}`,
      /keeps a namespace in a list/,
    ],
    ["a long range", "{% for i in range(1000000000) %}x{% endfor %}", /1000000 items/],
    ["an endless range", "{{ range(0, 1, 0.0000000001) }}", /items/],
    ["loops in loops", nested(9, 30), /steps/],
    [
      "empty loops in loops",
      `${"{% for i in range(900) %}".repeat(5)}${"{% endfor %}".repeat(5)}`,
      /steps/,
    ],
    ["a text doubled", `{% set x = 'a' %}${"{% set x = x ~ x %}".repeat(60)}{{ x }}`, /characters/],
    [
      "a text doubled by +",
      `{% set x = 'a' %}${"{% set x = x + x %}".repeat(60)}{{ x }}`,
      /characters/,
    ],
    [
      "a text doubled in a namespace",
      "{% set n = namespace(t='a') %}{% for i in range(99) %}{% set n.t = n.t ~ n.t %}{% endfor %}",
      /characters/,
    ],
    [
      "a list of lists twice",
      `{% set x = ['a'] %}${"{% set x = [x, x] %}".repeat(60)}{{ x }}`,
      /items/,
    ],
    [
      "the same as JSON",
      `{% set x = ['a'] %}${"{% set x = [x, x] %}".repeat(60)}{{ x|tojson }}`,
      /items/,
    ],
    [
      "a dictionary of itself",
      `{% set x = {} %}${"{% set x = {'a': x, 'b': x} %}".repeat(60)}`,
      /items/,
    ],
    ["lists added", `{% set x = [1] %}${"{% set x = x + x %}".repeat(60)}`, /items|steps/],
    [
      "a deep list",
      `{% set x = [] %}${"{% set x = [x] %}".repeat(3000)}{{ x|tojson(indent=4) }}`,
      /deep/,
    ],
    ["a wide indent", "{{ 'a\\nb'|indent(1000000000) }}", /indents/],
    ["an indent of many lines", `${MEGABYTE}{{ x|replace('j', '\\n')|indent(999) }}`, /characters/],
    [
      "an indent as a block",
      `${MEGABYTE}{% filter indent(1000000) %}{{ x }}{% endfilter %}`,
      /indents/,
    ],
    ["a wide tojson", "{{ [1, 2]|tojson(indent=1000000000) }}", /indents/],
    [
      "tojson with a separator",
      `${MEGABYTE}{{ range(9999)|tojson(separators=(x, x)) }}`,
      /characters/,
    ],
    ["replace of everything", `${MEGABYTE}{{ x|replace('', x) }}`, /characters/],
    ["replace as a method", `${MEGABYTE}{{ x.replace('a', x) }}`, /characters/],
    ["replace by its name", `${MEGABYTE}{{ x['replace']('a', x) }}`, /characters/],
    ["replace with arguments spread", `${MEGABYTE}{{ x.replace(*['a', x]) }}`, /characters/],
    [
      "replace kept for later",
      `${MEGABYTE}{% set f = x.replace %}{{ f('a', x) }}`,
      /without calling/,
    ],
    [
      "replace found",
      `${MEGABYTE}{% set n = 'rep' ~ 'lace' %}{{ x[n]('a', x) }}`,
      /without calling/,
    ],
    ["join with a long text", `${MEGABYTE}{{ range(9999)|join(x) }}`, /characters/],
    ["join of a text", `${MEGABYTE}{{ x|join(x) }}`, /characters/],
    [
      "split into pieces",
      `${MEGABYTE}{% set x = x ~ x %}{{ x.split('') }}`,
      /pieces|steps|characters|items/,
    ],
    [
      "slices of a long text",
      `${MEGABYTE}{% for i in range(9999) %}{% set y = x[1:] %}{% endfor %}`,
      /steps/,
    ],
    [
      "a long text turned over and over",
      `${MEGABYTE}{% for i in range(99999) %}{{ (x|upper)[0] }}{% endfor %}`,
      /steps|characters/,
    ],
    [
      "a list searched over and over",
      "{% set x = range(999999) %}{% for i in range(99999) %}{{ -1 in x }}{% endfor %}",
      /steps/,
    ],
    [
      "a long list sorted over and over",
      "{% set x = range(99999) %}{% for i in range(9999) %}{% set y = x|sort %}{% endfor %}",
      /steps/,
    ],
    [
      "a macro that calls itself",
      "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
      /too deeply|not a function/,
    ],
    [
      "a macro that calls itself twice",
      "{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(90) }}",
      /steps/,
    ],
    [
      "brackets in brackets",
      `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`,
      /not valid Jinja/,
    ],
    ["megabytes of template", "{{ 1 }}".repeat(200_000), /expected at most 1000000/],
    [
      "an attribute with a long name",
      `${MEGABYTE}{{ [{'a': 1}]|map(attribute=x)|list }}`,
      /attribute/,
    ],
  ])("with %s is refused in a moment", (_, source, message) => {
    const before = process.memoryUsage().rss;
    // Of the processor: others may be using it, too.
    const start = process.cpuUsage();
    const render = () => compileTemplate(source, "model/chat_template.jinja").render(CHATS[0]!);
    const error = thrown(render);
    const { user, system } = process.cpuUsage(start);
    const seconds = (user + system) / 1e6;
    expect(error).toBeInstanceOf(ModelFileError);
    expect(error.message).toMatch(/^model\/chat_template\.jinja: the chat template/);
    expect(error.message).toMatch(message);
    expect(seconds).toBeLessThan(10);
    expect(process.memoryUsage().rss - before).toBeLessThan(800e6);
  });
});

function thrown(work: () => unknown): Error {
  try {
    return new Error(`nothing was thrown, but given: ${String(work()).slice(0, 100)}`);
  } catch (error) {
    return error as Error;
  }
}

/** Loops in loops, as deep and as long as said. */
function nested(depth: number, count: number): string {
  return `${`{% for i in range(${count}) %}`.repeat(depth)}x${"{% endfor %}".repeat(depth)}`;
}
