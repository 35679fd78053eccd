/**
 * @file The generic door, typed as far as an operator name allows: any operator of libtorch's
 * dispatcher by name, with arguments by position or by name.
 */
import { Generator } from "./generator.ts";
import { type Handle, native, type OperatorDescription } from "./native.ts";
import { TensorCore, wrap } from "./tensor/core.ts";
import type { Tensor } from "./tensor/tensor.ts";

export type Argument =
  | Tensor
  | Generator
  | number
  | bigint
  | boolean
  | string
  | null
  | undefined
  | readonly Argument[];

export type Result = Tensor | number | bigint | boolean | string | null | undefined | Result[];

interface KnownOperator {
  index: number;
  description: OperatorDescription;
}

const known = new Map<string, KnownOperator>();

function lookUp(fullName: string): KnownOperator {
  const found = known.get(fullName);
  if (found) return found;
  const [, name = "", overload = ""] = /^([^.]*::[^.]+)(?:\.(.+))?$/.exec(fullName) ?? [];
  const index = name === "" ? -1 : native.findOperator(name, overload);
  if (index < 0) throw new Error(unknownOperator(fullName, name));
  const entry = { index, description: native.describeOperator(index) };
  known.set(fullName, entry);
  return entry;
}

function unknownOperator(fullName: string, name: string): string {
  if (name === "")
    return `torch.call: expected a name like "aten::add.Tensor", got ${JSON.stringify(fullName)}`;
  const overloads = native
    .operatorNames()
    .filter((other) => other === name || other.startsWith(`${name}.`));
  const advice =
    overloads.length > 0
      ? `its overloads are ${overloads.join(", ")}`
      : "operatorNames() lists all that this libtorch has";
  return `torch.call: no operator is called ${fullName}; ${advice}`;
}

function lower(value: Argument): unknown {
  if (value instanceof TensorCore || value instanceof Generator) return value.handle;
  return Array.isArray(value) ? value.map(lower) : value;
}

function byPosition(
  { arguments: parameters, name, schema }: OperatorDescription,
  positional: readonly Argument[],
  named: Readonly<Record<string, Argument>>,
): Argument[] {
  const values: Argument[] = [...positional];
  for (const [key, value] of Object.entries(named)) {
    const position = parameters.findIndex((parameter) => parameter.name === key);
    if (position < 0)
      throw new Error(`${name}: has no argument called '${key}'; its schema is ${schema}`);
    if (position < positional.length)
      throw new Error(`${name}: argument '${key}' is given twice, by position and by name`);
    values[position] = value;
  }
  return values;
}

/**
 * Calls any operator: `call("aten::addmm", [bias, a, b], { beta: 2 })`. Arguments follow the schema;
 * what is left out takes its default. In-place and out variants return the very tensor they wrote.
 */
export function call(
  name: string,
  positional: readonly Argument[] = [],
  named: Readonly<Record<string, Argument>> = {},
): Result {
  const { index, description } = lookUp(name);
  const values = byPosition(description, positional, named);
  const result = native.call(index, ...Array.from(values, lower));
  const given = new Map<Handle, Tensor>();
  for (const value of values)
    if (value instanceof TensorCore) given.set(value.handle, value as Tensor);
  const types = description.returns;
  if (types.length === 1) return raise(result, types[0]!, given);
  if (types.length === 0) return undefined;
  return (result as unknown[]).map((item, i) => raise(item, types[i]!, given));
}

/** A native result as the caller sees it; the type tells a handle from a number. */
function raise(result: unknown, type: string, given: ReadonlyMap<Handle, Tensor>): Result {
  if (typeof result === "number" && type.startsWith("Tensor"))
    return given.get(result) ?? wrap(result);
  if (Array.isArray(result)) return result.map((item) => raise(item, elementType(type), given));
  return result as Result;
}

function elementType(listType: string): string {
  return listType.endsWith("[]") ? listType.slice(0, -2) : listType;
}

/** The schema of an operator: what it takes, what it returns. */
export function describeOperator(name: string): OperatorDescription {
  return lookUp(name).description;
}

/** The names of all operators of this libtorch, overloads included. */
export function operatorNames(): string[] {
  return native.operatorNames();
}
