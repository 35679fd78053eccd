/**
 * @file What clients wish a reply to be, as constraints: an object of JSON, a value of a schema, a call of a function.
 * Constraints are kept, because finding which tokens a grammar allows takes time.
 */
import type { Json, ToolDefinition } from "../../environments/index.ts";
import type { Constraint } from "../../generation/index.ts";
import type { Tokenizer } from "../../models/index.ts";
import { GatewayError } from "../errors.ts";
import type { ToolStyle } from "../tools/style.ts";
import { grammarConstraint } from "./constraint.ts";
import { type Grammar, inOrder, literal, maybe, oneOf } from "./grammar.ts";
import { jsonObject, schemaGrammar } from "./json.ts";

/** What a reply must be. */
export type Wish =
  | { readonly kind: "object" }
  | { readonly kind: "schema"; readonly schema: Json; readonly field: string }
  /** A call of one of these. */
  | { readonly kind: "call"; readonly tools: readonly ToolDefinition[]; readonly style: ToolStyle };

/** Constraints that are kept. */
const KEPT = 32;

export class Wishes {
  readonly #tokenizer: Tokenizer;
  readonly #made = new Map<string, Constraint>();

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  constraint(wish: Wish): Constraint {
    const key = keyOf(wish);
    const known = this.#made.get(key);
    if (known) return known;
    let made: Constraint;
    try {
      made = grammarConstraint(this.#tokenizer, grammarOf(wish));
    } catch (error) {
      if (error instanceof RangeError)
        throw new GatewayError("invalid_request", "the schema is nested too deeply.");
      throw error;
    }
    if (this.#made.size >= KEPT) this.#made.delete(this.#made.keys().next().value!);
    this.#made.set(key, made);
    return made;
  }
}

function keyOf(wish: Wish): string {
  if (wish.kind === "object") return "object";
  if (wish.kind === "schema") return `schema ${JSON.stringify(wish.schema)}`;
  return `call ${wish.style.name} ${JSON.stringify(wish.tools)}`;
}

function grammarOf(wish: Wish): Grammar {
  if (wish.kind === "object") return jsonObject();
  if (wish.kind === "schema") return schemaGrammar(wish.schema, wish.field);
  const { style, tools } = wish;
  const space = maybe(literal(" "));
  const calls = tools.map(({ name, parameters }) =>
    inOrder(
      literal(`{"name": ${JSON.stringify(name)}, "${style.argumentsKey}":`),
      space,
      schemaGrammar(argumentsSchema(parameters), "tools"),
      literal("}"),
    ),
  );
  const call = oneOf(...calls);
  if (style.list) return inOrder(literal(`${style.opening}[`), call, literal(`]${style.closing}`));
  if (style.bare) return call;
  const line = maybe(literal("\n"));
  return inOrder(literal(style.opening), line, call, line, literal(style.closing));
}

/** Arguments are an object, whatever the schema forgets to say. */
function argumentsSchema(parameters: ToolDefinition["parameters"]): Json {
  return "type" in parameters || "$ref" in parameters
    ? parameters
    : { type: "object", ...parameters };
}
