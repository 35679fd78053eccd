/**
 * @file A tool: what it is called, what it takes, what it does. And how a call is carried out: its
 * arguments are checked against their schema, a failure is told, a long answer is cut.
 */
import type { Json, ToolDefinition } from "../environment.ts";

export type ToolArguments = Readonly<Record<string, unknown>>;

export interface Tool extends ToolDefinition {
  /** What the agent is told. What it throws is told to the agent, too. */
  execute(given: ToolArguments, signal?: AbortSignal): string | Promise<string>;
  /** Gives back what the tool holds (processes, connections). */
  close?(): void | Promise<void>;
}

/** What became of a call. */
export interface ToolOutcome {
  readonly text: string;
  readonly failed: boolean;
}

/** Only what an agent needs to see of a tool. */
export function definitionOf({ name, description, parameters }: ToolDefinition): ToolDefinition {
  return { name, description, parameters };
}

export async function callTool(
  tool: Tool,
  given: ToolArguments,
  longest: number,
  signal?: AbortSignal,
): Promise<ToolOutcome> {
  const wrong = argumentProblem(tool.parameters, given);
  if (wrong !== undefined)
    return { text: `${tool.name} was not called: ${wrong} It takes ${usage(tool)}.`, failed: true };
  try {
    return { text: cut(await tool.execute(given, signal), longest), failed: false };
  } catch (error) {
    if (signal?.aborted) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return { text: cut(`${tool.name} failed: ${reason}`, longest), failed: true };
  }
}

/** "{"expression": "…"}" */
function usage({ parameters }: ToolDefinition): string {
  const properties = fieldsOf(parameters.properties);
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  const parts = Object.entries(properties).map(([name, schema]) => {
    const type = fieldsOf(schema).type;
    const optional = required.includes(name) ? "" : ", may be left out";
    return `"${name}" (${typeof type === "string" ? type : "anything"}${optional})`;
  });
  return parts.length > 0 ? parts.join(" and ") : "no arguments";
}

/** The middle goes: beginnings say what it is, ends how it came out. */
export function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const half = Math.floor(longest / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`;
}

/**
 * What is wrong with arguments, by the parts of JSON Schema that tools use: types, required,
 * properties, additionalProperties, enum, items, bounds. Parts that it does not know it lets pass.
 */
export function argumentProblem(
  schema: { readonly [key: string]: Json },
  given: ToolArguments,
): string | undefined {
  return problem({ type: "object", ...schema }, given, "the arguments", 0);
}

type Schema = Readonly<Record<string, unknown>>;

const DEEPEST = 20;

function problem(schema: Schema, value: unknown, place: string, depth: number): string | undefined {
  if (depth > DEEPEST) return undefined;
  const types = [schema.type].flat().filter((type) => typeof type === "string");
  if (types.length > 0 && !types.some((type) => isOf(type, value)))
    return `${place} must be of type ${types.join(" or ")}, not ${kindOf(value)}.`;
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => same(one, value)))
    return `${place} must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}.`;
  if (typeof value === "number") {
    if (typeof schema.minimum === "number" && value < schema.minimum)
      return `${place} must be at least ${schema.minimum}.`;
    if (typeof schema.maximum === "number" && value > schema.maximum)
      return `${place} must be at most ${schema.maximum}.`;
  }
  if (typeof value === "string" && typeof schema.maxLength === "number")
    if (value.length > schema.maxLength)
      return `${place} has ${value.length} characters; at most ${schema.maxLength} are taken.`;
  if (Array.isArray(value) && isFields(schema.items))
    for (const [index, item] of value.entries()) {
      const wrong = problem(schema.items, item, `${place}[${index}]`, depth + 1);
      if (wrong !== undefined) return wrong;
    }
  return isFields(value) ? fieldProblem(schema, value, place, depth) : undefined;
}

function fieldProblem(
  schema: Schema,
  value: Schema,
  place: string,
  depth: number,
): string | undefined {
  const named = (name: string): string => (depth === 0 ? `"${name}"` : `${place}.${name}`);
  for (const name of Array.isArray(schema.required) ? schema.required : [])
    if (!Object.hasOwn(value, String(name))) return `${named(String(name))} is missing.`;
  const properties = fieldsOf(schema.properties);
  for (const [name, part] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) {
      const wrong = problem(fieldsOf(properties[name]), part, named(name), depth + 1);
      if (wrong !== undefined) return wrong;
    } else if (schema.additionalProperties === false) {
      return `there is no argument ${named(name.slice(0, 60))}.`;
    }
  }
  return undefined;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return isFields(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function same(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

function isFields(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Schema {
  return isFields(value) ? value : {};
}
