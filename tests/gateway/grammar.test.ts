/**
 * @file JSON Schema as a grammar: texts that JSON.parse and the schema take are followed to their end, others are not.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine, type State } from "../../src/gateway/constrain/grammar.ts";
import { jsonObject, schemaGrammar } from "../../src/gateway/constrain/json.ts";

/** Whether a machine takes all of a text. */
function accepts(machine: Machine, text: string): boolean {
  let state: State | null = machine.start;
  for (const byte of new TextEncoder().encode(text)) {
    state = machine.step(state, byte);
    if (!state) return false;
  }
  return state.accepts;
}

const machineOf = (schema: unknown) => new Machine(schemaGrammar(schema, "schema"));

describe("any object", () => {
  const machine = new Machine(jsonObject());

  it("is what JSON.stringify writes, in one line or several", () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, 2), (given, indent) => {
        const text = JSON.stringify(given, null, indent);
        // Numbers of more digits than a double holds exactly are not drawn.
        fc.pre(!/\d{16}|e[+-]?\d{3}/.test(text));
        expect(accepts(machine, text)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it.each(["", "{", '{"a"}', '{"a":01}', "[1]", '{"a":1,}', '{"a":"\n"}', '{"a":"\\x"}', "{}}"])(
    "is not %j",
    (text) => expect(accepts(machine, text)).toBe(false),
  );

  it("never goes where JSON.parse does not: whatever is drawn by it can be read", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 400, maxLength: 400 }), (choices) => {
        let state = machine.start;
        const bytes: number[] = [];
        for (const choice of choices) {
          const next = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) =>
            machine.step(state, byte),
          );
          if (next.length === 0) break;
          // Brackets that close come sooner or later.
          const closing = next.filter((byte) => byte === 0x7d || byte === 0x22 || byte === 0x5d);
          const from = choice % 3 === 0 && closing.length > 0 ? closing : next;
          const byte = from[choice % from.length]!;
          bytes.push(byte);
          state = machine.step(state, byte)!;
        }
        if (!state.accepts) return;
        const text = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
        expect(typeof JSON.parse(text)).toBe("object");
      }),
      { numRuns: 60 },
    );
  });
});

describe("a schema", () => {
  const person = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 4 },
      age: { type: ["integer", "null"], minimum: 0 },
      kind: { enum: ["a", 2, null] },
      friends: { type: "array", items: { $ref: "#" }, maxItems: 2 },
      rest: {
        anyOf: [{ const: "x" }, { type: "object", additionalProperties: { type: "boolean" } }],
      },
    },
    required: ["name", "kind"],
    additionalProperties: false,
  };
  const machine = machineOf(person);

  it.each([
    ['{"name":"bob","kind":"a"}', true],
    ['{"name": "bob", "age": 3, "kind": 2}', true],
    ['{"name":"bob","age":null,"kind":null,"friends":[{"name":"a","kind":2}]}', true],
    ['{"name":"bob","kind":"a","rest":{"q":true}}', true],
    ['{"name":"bob","kind":"a","rest":"x"}', true],
    ['{\n  "name": "bö",\n  "kind": "a"\n}', true],
    ['{"kind":"a","name":"bob"}', false],
    ['{"name":"","kind":"a"}', false],
    ['{"name":"bobby","kind":"a"}', false],
    ['{"name":"bob"}', false],
    ['{"name":"bob","kind":"b"}', false],
    ['{"name":"bob","age":-3,"kind":2}', false],
    ['{"name":"bob","kind":"a","more":1}', false],
    ['{"name":"bob","kind":"a","friends":[{},{}]}', false],
    ['{"name":"bob","kind":"a","rest":{"q":1}}', false],
  ])("%s: %s", (text, isValid) => expect(accepts(machine, text)).toBe(isValid));

  it("may refer to itself, and ends all the same", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: {
        node: {
          type: "object",
          properties: { value: { type: "integer" }, next: { $ref: "#/$defs/node" } },
          required: ["value"],
        },
      },
    };
    const text = '{"value":1,"next":{"value":2,"next":{"value":3}}}';
    expect(accepts(machineOf(tree), text)).toBe(true);
    expect(accepts(machineOf(tree), text.slice(0, -1))).toBe(false);
  });

  it.each([
    [{ type: "string", pattern: "a" }, /pattern/],
    [
      {
        type: "object",
        properties: { a: { type: "array", items: { $ref: "#/$defs/b" } } },
        $defs: { b: { type: "string", pattern: "a" } },
      },
      /pattern/,
    ],
    [{ type: "integer", minimum: 3 }, /minimum 3/],
    [{ type: "number", maximum: 10 }, /maximum 10/],
    [{ type: "tuple" }, /type tuple/],
    [{ allOf: [{ type: "string" }, { type: "string" }] }, /allOf/],
    [{ $ref: "https://example.org/x" }, /not in the schema/],
    [{ $ref: "#/nowhere" }, /leads nowhere/],
    [{ type: "object", properties: {}, required: ["a"] }, /not among the properties/],
    [{ type: "array", maxItems: 1e9 }, /cannot be promised/],
    ["x", /is an object/],
  ])("that asks what cannot be promised is refused: %j", (schema, sentence) => {
    expect(() => new Machine(schemaGrammar(schema, "schema"))).toThrow(sentence);
  });
});
