/**
 * @file JSON as a grammar: any value, and the values of a JSON Schema. What a schema asks that a grammar cannot
 * promise is refused, never left out in silence.
 */
import { GatewayError } from "../errors.ts";
import {
  byteWhere,
  type Grammar,
  inOrder,
  later,
  literal,
  maybe,
  NOTHING,
  oneOf,
  repeated,
  times,
} from "./grammar.ts";

type Schema = boolean | { readonly [key: string]: unknown };

/** Nesting of a value that no schema describes, and bounds that are written out. */
const DEEPEST = 8;
const LARGEST_COUNT = 500;
/** Digits of a number: what a double holds exactly. */
const DIGITS = 15;

/** Between two tokens of JSON: nothing, a space, or a new line with some. */
const space = oneOf(NOTHING, literal(" "), inOrder(literal("\n"), times(literal(" "), 0, 16)));

const range = (from: number, to: number) => byteWhere((byte) => byte >= from && byte <= to);
const digit = range(0x30, 0x39);
const hex = byteWhere((byte) => /[0-9a-fA-F]/.test(String.fromCharCode(byte)));
const continued = range(0x80, 0xbf);
/** One character, in UTF-8 as it must be. */
const character = oneOf(
  byteWhere((byte) => byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c),
  inOrder(range(0xc2, 0xdf), continued),
  inOrder(literal2(0xe0), range(0xa0, 0xbf), continued),
  inOrder(
    byteWhere((byte) => byte >= 0xe1 && byte <= 0xef && byte !== 0xed),
    continued,
    continued,
  ),
  inOrder(literal2(0xed), range(0x80, 0x9f), continued),
  inOrder(literal2(0xf0), range(0x90, 0xbf), continued, continued),
  inOrder(range(0xf1, 0xf3), continued, continued, continued),
  inOrder(literal2(0xf4), range(0x80, 0x8f), continued, continued),
  inOrder(
    literal("\\"),
    byteWhere((byte) => '"\\/bfnrt'.includes(String.fromCharCode(byte))),
  ),
  inOrder(literal("\\u"), hex, hex, hex, hex),
);

function literal2(wanted: number): Grammar {
  return byteWhere((byte) => byte === wanted);
}

function text(least = 0, most = Infinity): Grammar {
  return inOrder(literal('"'), times(character, least, most), literal('"'));
}

const whole = oneOf(literal("0"), inOrder(range(0x31, 0x39), times(digit, 0, DIGITS - 1)));
const fraction = inOrder(literal("."), times(digit, 1, DIGITS));
const exponent = inOrder(
  byteWhere((byte) => byte === 0x65 || byte === 0x45),
  maybe(byteWhere((byte) => byte === 0x2b || byte === 0x2d)),
  times(digit, 1, 2),
);
const minus = maybe(literal("-"));
const truth = oneOf(literal("true"), literal("false"));

/** Any value, no deeper than so many levels. */
function anyValue(depth: number): Grammar {
  const plain = oneOf(
    text(),
    inOrder(minus, whole, maybe(fraction), maybe(exponent)),
    truth,
    literal("null"),
  );
  if (depth === 0) return plain;
  const inner = later(() => anyValue(depth - 1));
  return oneOf(plain, list(inner, 0, Infinity), anyObject(inner));
}

function anyObject(value: Grammar): Grammar {
  const member = inOrder(text(), space, literal(":"), space, value);
  return inOrder(literal("{"), space, maybe(separated(member)), space, literal("}"));
}

function separated(item: Grammar): Grammar {
  return inOrder(item, repeated(inOrder(space, literal(","), space, item)));
}

function list(item: Grammar, least: number, most: number): Grammar {
  const next = inOrder(space, literal(","), space, item);
  const items =
    least === 0
      ? maybe(inOrder(item, times(next, 0, most - 1)))
      : inOrder(item, times(next, least - 1, most - 1));
  return inOrder(literal("["), space, most === 0 ? NOTHING : items, space, literal("]"));
}

/** Any object. */
export function jsonObject(): Grammar {
  return anyObject(later(() => anyValue(DEEPEST)));
}

/** Keywords that say nothing of what a value may be. */
const REMARKS = new Set([
  ...["$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default"],
  ...["examples", "deprecated", "readOnly", "writeOnly", "nullable", "strict"],
]);
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "format"],
  integer: ["minimum", "maximum", "format"],
  number: ["minimum", "maximum", "format"],
  boolean: [],
  null: [],
};

/** The values that a schema allows. Throws a refusal where it asks for what cannot be promised. */
export function schemaGrammar(root: unknown, field: string): Grammar {
  const found = new Map<string, Grammar>();
  /** References that were met and not looked into yet: what is wrong must show now, not while a reply is drawn. */
  const open: Extract<Grammar, { kind: "later" }>[] = [];
  const refuse = (problem: string): never => {
    throw new GatewayError("invalid_request", `${field}: ${problem}`, { field });
  };

  function at(reference: string): Grammar {
    const known = found.get(reference);
    if (known) return known;
    let place: unknown = root;
    if (!/^#(?:\/|$)/.test(reference))
      refuse(`$ref ${reference.slice(0, 80)} is not in the schema.`);
    for (const part of reference.split("/").slice(1)) {
      const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
      place =
        typeof place === "object" && place !== null && Object.hasOwn(place, key)
          ? (place as Record<string, unknown>)[key]
          : undefined;
    }
    if (place === undefined) refuse(`$ref ${reference.slice(0, 80)} leads nowhere.`);
    const grammar = later(() => grammarOf(place));
    open.push(grammar);
    found.set(reference, grammar);
    return grammar;
  }

  function grammarOf(given: unknown): Grammar {
    if (given === true || given === undefined) return anyValue(DEEPEST);
    if (typeof given !== "object" || given === null || Array.isArray(given))
      return refuse("a schema is an object (or true).");
    const schema = given as Exclude<Schema, boolean>;
    if (typeof schema.$ref === "string") return at(schema.$ref);
    if (Array.isArray(schema.enum)) return oneOf(...schema.enum.map(written));
    if ("const" in schema) return written(schema.const);
    for (const key of ["anyOf", "oneOf"] as const)
      if (Array.isArray(schema[key])) return oneOf(...(schema[key] as unknown[]).map(grammarOf));
    if (Array.isArray(schema.allOf)) {
      if (schema.allOf.length === 1) return grammarOf(schema.allOf[0]);
      return refuse("allOf of several schemas cannot be promised; write them as one.");
    }
    const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? impliedType(schema)];
    const grammars = types.map((type: unknown) =>
      typeof type === "string" ? typed(type, schema) : refuse("a type is a text."),
    );
    return schema.nullable === true ? oneOf(...grammars, literal("null")) : oneOf(...grammars);
  }

  function typed(type: string, schema: Exclude<Schema, boolean>): Grammar {
    if (type === "any") return anyValue(DEEPEST);
    const known = knownOf(type) ?? refuse(`there is no type ${type.slice(0, 40)}.`);
    const types = Array.isArray(schema.type) ? schema.type : [type];
    const allowed = new Set([...known, ...types.flatMap((other: unknown) => knownOf(other) ?? [])]);
    for (const key of Object.keys(schema))
      if (key !== "type" && !REMARKS.has(key) && !allowed.has(key))
        refuse(`"${key.slice(0, 40)}" of a ${type} cannot be promised; leave it out.`);
    switch (type) {
      case "object":
        return object(schema);
      case "array":
        return list(
          grammarOf(schema.items),
          count(schema.minItems, 0),
          count(schema.maxItems, Infinity),
        );
      case "string":
        return text(count(schema.minLength, 0), count(schema.maxLength, Infinity));
      case "integer":
        return inOrder(signOf(schema), whole);
      case "number":
        return inOrder(signOf(schema), whole, maybe(fraction), maybe(exponent));
      case "boolean":
        return truth;
      default:
        return literal("null");
    }
  }

  function object(schema: Exclude<Schema, boolean>): Grammar {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const unknown = [...required].find((name) => !properties.some(([key]) => key === name));
    if (unknown !== undefined)
      refuse(`${shown(unknown)} is required, and not among the properties.`);
    if (properties.length === 0) {
      const extra = schema.additionalProperties;
      if (extra === false) return inOrder(literal("{"), space, literal("}"));
      return anyObject(grammarOf(extra === undefined ? true : extra));
    }
    const values = properties.map(([, value]) => grammarOf(value));
    const made = new Map<string, Grammar>();
    /** The members from the i-th on. */
    const from = (i: number, isFirst: boolean): Grammar => {
      if (i === properties.length) return NOTHING;
      const key = `${i} ${isFirst}`;
      const known = made.get(key);
      if (known) return known;
      const [name] = properties[i]!;
      const member = inOrder(
        ...(isFirst ? [] : [space, literal(","), space]),
        literal(JSON.stringify(name)),
        ...[space, literal(":"), space],
        values[i]!,
        later(() => from(i + 1, false)),
      );
      const grammar = required.has(name)
        ? member
        : oneOf(
            member,
            later(() => from(i + 1, isFirst)),
          );
      made.set(key, grammar);
      return grammar;
    };
    return inOrder(literal("{"), space, from(0, true), space, literal("}"));
  }

  /** Bounds that every number of ours keeps, and 0; others cannot be promised. */
  function signOf({ minimum, maximum }: Exclude<Schema, boolean>): Grammar {
    const most = 10 ** DIGITS - 1;
    if (typeof maximum === "number" && maximum < most)
      refuse(`maximum ${maximum} cannot be promised; leave it out, or use enum.`);
    if (typeof minimum !== "number" || minimum <= -most) return minus;
    if (minimum === 0) return NOTHING;
    return refuse(`minimum ${minimum} cannot be promised; leave it out, or use enum.`);
  }

  function count(value: unknown, otherwise: number): number {
    if (value === undefined) return otherwise;
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LARGEST_COUNT)
      return value as number;
    return refuse(`a length of ${shown(value)} cannot be promised; up to ${LARGEST_COUNT} can.`);
  }

  const grammar = grammarOf(root);
  for (let reference = open.pop(); reference; reference = open.pop()) reference.find();
  return grammar;
}

/** Keys that a type has besides `type`; undefined: there is no such type. */
function knownOf(type: unknown): readonly string[] | undefined {
  return typeof type === "string" && Object.hasOwn(KNOWN, type) ? KNOWN[type] : undefined;
}

/** A part of a reference as it is meant; one that is not written so stands for itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 40);
}

function impliedType(schema: Exclude<Schema, boolean>): string {
  if ("properties" in schema) return "object";
  return "items" in schema ? "array" : "any";
}

function written(value: unknown): Grammar {
  return literal(JSON.stringify(value));
}
