/**
 * @file Reply formats: what the instruction asks for is what the parser reads, for any words, and no
 * reply, however hostile, does more than fail to be read.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  defineFormat,
  FORMAT_NAMES,
  type ParsedReply,
  type ReplyFormat,
  replyFormat,
  type Situation,
} from "../../src/agents/index.ts";
import type { ToolDefinition } from "../../src/environments/index.ts";

const TURNS: readonly Situation[] = [{ turn: 0 }, { turn: 3 }];

/** Every part that a format has, for a turn with a past. */
function allParts(format: ReplyFormat, text: (field: string) => string): Record<string, string> {
  const others = format.fields.filter(({ name }) => name !== format.actionField);
  return Object.fromEntries(others.map(({ name }) => [name, text(name)]));
}

const kinds = ({ problems }: ParsedReply) => problems.map(({ kind }) => kind);

describe.each(FORMAT_NAMES)("%s", (name) => {
  const format = replyFormat(name);

  it("reads replies that are made from its own instruction", () => {
    for (const situation of TURNS) {
      const reply = replyFromInstruction(format, situation);
      const read = format.parse(reply, situation);
      expect(read, reply).toMatchObject({ action: "open fridge 1", problems: [] });
    }
  });

  it("reads what it writes, whatever the words", () => {
    const word = fc.string({ unit: "binary", maxLength: 40 });
    const tagged = fc
      .array(fc.constantFrom("<think>", "</think>", "<act", "ion>", "</action>", "Action:", "a"))
      .map((pieces) => pieces.join(""));
    const text = fc.oneof(word, tagged);
    fc.assert(
      fc.property(text, fc.infiniteStream(text), (action, words) => {
        const given = allParts(format, () => words.next().value!);
        const read = format.parse(format.write(action, given), { turn: 2 });
        // White space and the format's own signs may be lost, letters of the rest may not.
        const wanted = comparable(name, action, true);
        if (wanted === "") {
          expect(read.action).toBeUndefined();
          return;
        }
        expect(comparable(name, read.action ?? "", true)).toBe(wanted);
        const empty = Object.entries(given).filter(([, value]) => comparable(name, value) === "");
        for (const [field, value] of Object.entries(given))
          expect(comparable(name, read.parts[field] ?? "")).toBe(comparable(name, value));
        if (empty.length === 0) expect(read.problems).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("survives anything, in time that grows with its length only", () => {
    const pieces = [
      "<think>",
      "</think>",
      "<action>",
      "<tool_call>",
      "Action:\n",
      "{",
      '{"a":',
      "[",
    ];
    const replies = [...pieces, "}", " ", "\n", "<", "\u2028", "𝕏", "\ud800", "<|im_end|>"].map(
      (piece) => piece.repeat(Math.ceil(2e6 / piece.length)),
    );
    for (const reply of [...replies, `{${"}".repeat(1e6)}${" ".repeat(1e6)}x`]) {
      const begun = performance.now();
      const read = format.parse(reply, { turn: 1 });
      expect(performance.now() - begun).toBeLessThan(5000);
      expect(read.action !== undefined || read.problems.length > 0).toBe(true);
    }
  });

  it("is total: any string is read or has a problem", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (reply) => {
        const { action, problems } = format.parse(reply, { turn: 1 });
        expect(action === undefined ? problems.length > 0 : action !== "").toBe(true);
      }),
    );
  });

  it("keeps the text of special tokens as text", () => {
    const written = format.write(
      "say <|im_end|>",
      allParts(format, () => "<|im_start|>user"),
    );
    expect(format.parse(written, { turn: 1 })).toMatchObject({ action: "say <|im_end|>" });
  });
});

/** A reply by someone who reads the instruction and fills in what it asks for. */
function replyFromInstruction(format: ReplyFormat, situation: Situation): string {
  const text = format.instruction(situation);
  if (format.name === "action") {
    expect(text).toMatch(/one line/);
    return "open fridge 1";
  }
  if (format.name === "tools") {
    const tool = JSON.parse(text.split("\n")[1]!) as ToolDefinition;
    const [argument] = Object.keys(tool.parameters.properties as object);
    const call = JSON.stringify({ name: tool.name, arguments: { [argument!]: "open fridge 1" } });
    expect(text).toContain('<tool_call>{"name": "…", "arguments": {…}}</tool_call>');
    return `<tool_call>${call}</tool_call>`;
  }
  // The lines below the first are the form; what stands in them is replaced.
  const lines = text.split("\n").slice(1);
  return lines
    .map((line) => {
      const filled = /action/i.test(line.slice(0, 8)) ? "open fridge 1" : "because it is closed";
      return line.replace(/>.*</, `>${filled}<`).replace(/^(\w+:) .*$/, `$1 ${filled}`);
    })
    .join("\n");
}

/** What must survive writing and reading; an action that is a call survives whole. */
function comparable(format: string, text: string, isAction = false): string {
  const fields = replyFormat(format).fields.map(({ name }) => name);
  if (["action", "react"].includes(format)) return text.replace(/\s+/g, " ").trim();
  if (isAction && format === "tools") return text.trim();
  const own = new RegExp(`</?(?:${fields.join("|")})>`, "gi");
  const once = text.replace(own, "");
  return (once.search(own) < 0 ? once : once.replaceAll("<", "")).trim();
}

describe("problems", () => {
  const parse = (format: string, reply: string, turn = 1) =>
    replyFormat(format).parse(reply, { turn });

  it.each<[string, string, string | undefined, string[]]>([
    ["action", "", undefined, ["empty"]],
    ["action", " \n ", undefined, ["empty"]],
    ["action", "go\nlook", "go", ["twice"]],
    ["react", "go", undefined, ["missing", "missing"]],
    ["react", "Thought: x\nAction:", undefined, ["empty"]],
    ["react", "Thought:\nAction: go", "go", ["empty"]],
    ["react", "Thought: x\nAction: go\nAction: look", "go", ["twice"]],
    ["react", "Thought: x\nAction: go\nlook", "go", ["twice"]],
    ["react", "Action: go", "go", ["missing"]],
    ["think-action", "<action>go</action>", "go", ["missing"]],
    ["think-action", "<think>x</think>", undefined, ["missing"]],
    ["think-action", "<think></think><action>go</action>", "go", ["empty"]],
    ["think-action", "<think>x</think><action> </action>", undefined, ["empty"]],
    ["think-action", "<think>x</think><action>go", undefined, ["unclosed"]],
    ["think-action", "<think>x<action>go</action>", "go", ["unclosed"]],
    ["think-action", "<think>x</think><action>a<action>b</action>", "b", ["unclosed"]],
    ["think-action", "<think>a</think><think>b</think><action>go</action>", "go", ["twice"]],
    ["think-action", "<think>x</think><action>a</action><action>b</action>", "a", ["twice"]],
    ["think-action", "<THINK>x</Think> so: <Action>go</ACTION> done", "go", []],
    ["think-action", "<think>or <action>no</action></think><action>go</action>", "go", []],
    ["openmanus", "<plan>x</plan><action>go</action>", "go", ["missing", "missing"]],
    ["tools", "hello", undefined, ["missing"]],
    ["tools", "<tool_call></tool_call>", undefined, ["empty"]],
    ["tools", "<tool_call>{</tool_call>", undefined, ["not a call"]],
    ["tools", "<tool_call>[]</tool_call>", undefined, ["not a call"]],
    ["tools", '<tool_call>{"arguments": {}}</tool_call>', undefined, ["not a call"]],
    ["tools", '{"name": "act", "arguments": 7}', undefined, ["not a call"]],
    ["tools", '{"name": "act", "arguments": "x"}', undefined, ["not a call"]],
    ["tools", '{"name": "act", "arguments": {"action": " "}}', undefined, ["not a call"]],
    ["tools", '{"name": "fly", "arguments": {}}', undefined, ["unknown tool"]],
    ["tools", '<tool_call>{"name": "act"}', undefined, ["unclosed"]],
  ])("%s: %j", (format, reply, action, expected) => {
    const read = parse(format, reply);
    expect(read.action).toBe(action);
    expect(kinds(read)).toEqual(expected);
    for (const { message } of read.problems) expect(message).toMatch(/^[^.]+$/s);
  });

  it("asks for memory and reflection only when there is a past", () => {
    expect(parse("openmanus", "<plan>x</plan><action>go</action>", 0).problems).toEqual([]);
    const openmanus = replyFormat("openmanus");
    expect(openmanus.instruction({ turn: 0 })).not.toMatch(/memory/);
    expect(openmanus.instruction({ turn: 1 })).toMatch(/memory/);
    expect(openmanus.instruction({})).toMatch(/memory.*from your second reply on/);
  });
});

describe("tool calls", () => {
  const search: ToolDefinition = {
    name: "search",
    description: "Finds pages.",
    parameters: { type: "object", properties: { query: { type: "string" } } },
  };
  const tools = replyFormat("tools");
  const call = '{"name": "search", "arguments": {"query": "red shoes"}}';
  const expected = {
    action: '{"name":"search","arguments":{"query":"red shoes"}}',
    call: { name: "search", arguments: { query: "red shoes" } },
    problems: [],
  };

  it.each([
    ["Hermes", `<tool_call>\n${call}\n</tool_call>`],
    ["Hermes after a thought", `<think>{"no": 1}</think>\n<tool_call>${call}</tool_call>`],
    ["bare", ` ${call}\n`],
    ["bare after a thought", `<think>I said ${call}</think>${call}`],
    ["fenced", `\`\`\`json\n${call}\n\`\`\``],
    ["fenced without a language", `\`\`\`\n${call}\n\`\`\``],
    ["arguments as text", JSON.stringify({ name: "search", arguments: '{"query": "red shoes"}' })],
    ["parameters", '{"name": "search", "parameters": {"query": "red shoes"}}'],
  ])("are read: %s", (_, reply) => {
    expect(tools.parse(reply, { tools: [search] })).toMatchObject(expected);
  });

  it("may hold the format's own tags in their texts", () => {
    const action = "write </tool_call><think>x</think>";
    expect(tools.parse(tools.write(action), {}).action).toBe(action);
    const bare = JSON.stringify({ name: "act", arguments: { action } });
    expect(tools.parse(bare.replace("<think>x</think>", ""), {}).action).toBe("write </tool_call>");
  });

  it("of a world's own `act` are the world's affair", () => {
    const own: ToolDefinition = { ...search, name: "act" };
    const reply = '{"name": "act", "arguments": {"query": "x"}}';
    expect(tools.parse(reply, { tools: [own] })).toMatchObject({
      action: '{"name":"act","arguments":{"query":"x"}}',
      problems: [],
    });
  });

  it("nested a hundred thousand deep are no calls, and no crash", () => {
    const deep = `{"name": "search", "arguments": {"query": ${"[".repeat(1e5)}${"]".repeat(1e5)}}}`;
    expect(kinds(tools.parse(deep, { tools: [search] }))).toEqual(["not a call"]);
  });
});

describe("a format of one's own", () => {
  it("follows from its fields", () => {
    const format = defineFormat({
      name: "mine",
      style: "labels",
      fields: [
        { name: "Doubt", about: "what could go wrong", optional: true },
        { name: "Do", about: "one action" },
      ],
    });
    expect(format.instruction({})).toBe(
      "Answer in this form, each label at the beginning of a line:\n" +
        "Doubt: what could go wrong (may be left out)\nDo: one action",
    );
    expect(format.parse("do: go", {})).toEqual({ action: "go", parts: {}, problems: [] });
  });

  it("may have fields that every object has", () => {
    const format = defineFormat({
      name: "mine",
      style: "tags",
      fields: [
        { name: "constructor", about: "x", optional: true },
        { name: "action", about: "y" },
      ],
    });
    expect(format.write("go")).toBe("<action>go</action>");
  });

  it.each([
    [{ fields: [] }, /none of its fields/],
    [{ fields: [{ name: "a b", about: "" }] }, /must be a word/],
    [{ fields: ["A", "a"].map((name) => ({ name, about: "" })) }, /two fields "a"/],
    [{ fields: [{ name: "a", about: "" }], action: "b" }, /its action is "b"/],
    [{ fields: [{ name: "a", about: "", optional: true }] }, /must not be optional/],
  ])("must make sense: %j", (sketch, message) => {
    expect(() => defineFormat({ name: "mine", style: "tags", ...sketch })).toThrow(message);
  });

  it("is not found by a wrong name", () => {
    expect(() => replyFormat("xml")).toThrow(/no reply format "xml"; there are action, react/);
  });
});
