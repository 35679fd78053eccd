/**
 * @file What we use of the package that reads Jinja, with types: its own are written for another way of
 * finding modules, and come out as nothing at all.
 */
import * as jinja from "@huggingface/jinja";

/** A statement or an expression of a template. */
export interface Node {
  readonly type: string;
}

/** What an expression gives: a text, a list (an array), a dictionary (a Map), a number, … */
export interface Value {
  readonly type: string;
  readonly value: unknown;
}

/** The variables that a template sees. */
export interface Scope {
  set(name: string, value: unknown): unknown;
  lookupVariable(name: string): Value;
}

export interface Interpreting {
  run(program: Node): Value;
  evaluate(node: Node | undefined, scope: Scope): Value;
}

const { Environment, Interpreter, parse, tokenize } = jinja as unknown as {
  Environment: new () => Scope;
  Interpreter: new (scope: Scope) => Interpreting;
  parse(tokens: unknown): Node;
  tokenize(
    source: string,
    options: { readonly lstrip_blocks: boolean; readonly trim_blocks: boolean },
  ): unknown;
};

export { Environment, Interpreter, parse, tokenize };
