/**
 * @file What actions mean, and how arguments are checked.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAction } from "../../../src/environments/tools/action.ts";
import { argumentProblem, callTool, type Tool } from "../../../src/environments/tools/tool.ts";

const search = { kind: "call", name: "search", given: { query: "x" } };

describe("an action", () => {
  it.each([
    ['{"name": "search", "arguments": {"query": "x"}}', search],
    ['{"name": "search", "parameters": {"query": "x"}}', search],
    ['{"tool": "search", "parameters": {"query": "x"}}', search],
    ['{"name": "search", "arguments": "{\\"query\\": \\"x\\"}"}', search],
    ['{"function": {"name": "search", "arguments": {"query": "x"}}}', search],
    ['<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', search],
    ['<plan>hm</plan><action>\ntool: search\nparameters: {"query": "x"}\n</action>', search],
    ['```json\n{"name": "search", "arguments": {"query": "x"}}\n```', search],
    ['tool: search\nparameters: {"query": "x"}', search],
    ["tool: search\nparameters: x", search],
    ["action: search\nparameters: x", search],
    ["tool: list", { kind: "call", name: "list", given: {} }],
    ['{"name": "answer", "arguments": {"answer": " 42 "}}', { kind: "answer", answer: " 42 " }],
    ['{"name": "answer", "arguments": {"answer": 42}}', { kind: "answer", answer: "42" }],
    ["<answer>\n42\n</answer>", { kind: "answer", answer: "42" }],
    ["FINAL_ANSWER: 42", { kind: "answer", answer: "42" }],
  ])("%s is understood", (text, action) => {
    expect(readAction(text)).toEqual(action);
  });

  it.each([
    ["", /That is not a call/],
    ["search for x", /Call a tool with/],
    ["{", /That is not JSON/],
    ["{}", /no "name"/],
    ["[1]", /not a call/],
    ['{"name": 1}', /no "name"/],
    ['{"name": "x", "arguments": [1]}', /must be an object/],
    ['{"name": "x", "arguments": "y"}', /are not JSON/],
    ['{"name": "answer", "arguments": {}}', /"answer" needs/],
    ["{".repeat(300_000), /too long/],
  ])("%s is refused with the reason", (text, problem) => {
    const action = readAction(text);
    expect(action.kind).toBe("nothing");
    expect((action as { problem: string }).problem).toMatch(problem);
  });

  it("of any bytes is something", () => {
    const part = fc.constantFrom("<answer>", "</answer>", "<action>", "tool:", "{", "}", "\n", '"');
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.array(fc.oneof(part, fc.string({ maxLength: 5 }))).map((parts) => parts.join("")),
      fc.json(),
    );
    fc.assert(
      fc.property(
        text,
        (text) => void expect(readAction(text).kind).toMatch(/call|answer|nothing/),
      ),
    );
    for (const unit of [
      "<action>",
      "tool: a\n",
      "```",
      " ",
      "\n",
      "tool:",
      "</answer><answer>",
      "``` ",
    ]) {
      const start = performance.now();
      readAction(unit.repeat(Math.floor(199_000 / unit.length)));
      expect(performance.now() - start).toBeLessThan(500);
    }
  });
});

describe("arguments", () => {
  const schema = {
    type: "object",
    properties: {
      query: { type: "string", maxLength: 5 },
      count: { type: "integer", minimum: 1, maximum: 3 },
      kind: { enum: ["a", "b"] },
      list: { type: "array", items: { type: "number" } },
      maybe: { type: ["string", "null"] },
      deep: { type: "object", properties: { x: { type: "boolean" } }, required: ["x"] },
    },
    required: ["query"],
    additionalProperties: false,
  };

  it.each([
    [{ query: "x" }, undefined],
    [{ query: "x", count: 2, kind: "a", list: [1], maybe: null, deep: { x: true } }, undefined],
    [{}, /"query" is missing/],
    [{ query: 1 }, /"query" must be of type string, not a number/],
    [{ query: "123456" }, /at most 5/],
    [{ query: "x", count: 1.5 }, /must be of type integer/],
    [{ query: "x", count: 4 }, /at most 3/],
    [{ query: "x", count: 0 }, /at least 1/],
    [{ query: "x", kind: "c" }, /one of "a", "b"/],
    [{ query: "x", list: [1, "2"] }, /"list"\[1\] must be of type number/],
    [{ query: "x", deep: {} }, /"deep".x is missing/],
    [{ query: "x", other: 1 }, /there is no argument "other"/],
    [JSON.parse('{"query": "x", "__proto__": {"count": 1}}'), /there is no argument "__proto__"/],
  ])("%j", (given, problem) => {
    const found = argumentProblem(schema, given as Record<string, unknown>);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  it("that are wrong, tools that throw and long answers become observations", async () => {
    const tool: Tool = {
      ...{ name: "t", description: "", parameters: schema },
      execute: ({ query }) => {
        if (query === "bad") throw new Error("no luck");
        return "ab".repeat(1000);
      },
    };
    expect(await callTool(tool, {}, 100)).toEqual({
      text: expect.stringMatching(
        /^t was not called: "query" is missing. It takes "query" \(string\)/,
      ),
      failed: true,
    });
    expect(await callTool(tool, { query: "bad" }, 100)).toEqual({
      ...{ text: "t failed: no luck", failed: true },
    });
    const long = await callTool(tool, { query: "x" }, 100);
    expect(long.text).toMatch(/^(ab){25}\n… 1900 characters left out …\n(ab){25}$/);
  });
});
