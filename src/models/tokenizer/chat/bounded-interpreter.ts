/**
 * @file Renders chat templates, and stops those that would never end or fill the memory: a template is a
 * program that comes with a model folder, and `range(1000000000)` is one line of it.
 *
 * Every expression and statement that is evaluated counts, and so does the size of what it gives. A text
 * or a list has a largest size. What makes something large out of something small at one blow (`indent`,
 * `join`, `replace`, `split`, `tojson`) is looked at before it is done: its parts are evaluated here and
 * handed on as what they are. So a template can take a second or two, and a few hundred megabytes.
 *
 * What is counted is the same on every machine, and far more than a template of a real model takes: a
 * hundred steps or so for a message.
 */
import { isMany, LONGEST_TEXT, MOST_ITEMS, Sizes, TemplateLimitError } from "./bounded-values.ts";
import { Interpreter, type Node, type Scope, type Value } from "./jinja.ts";
import { LONGEST_ESCAPE, pythonText } from "./python-text.ts";

/** Steps of one rendering. One takes two microseconds or so. */
const MOST_STEPS = 1_000_000;
/** How many characters are handled in the time of a step: read or written as a whole, or one by one. */
const AT_ONCE = 1024;
const ONE_BY_ONE = 16;
/** How many steps an iteration takes besides its body, and how many items are looked through in one. */
const ITERATION = 2;
const LOOKED_THROUGH = 512;
/** The longest name of an attribute, and the widest indentation. */
const LONGEST_NAME = 1000;
const WIDEST = 1000;
/** Quotes, commas and brackets around an item, or the longest number. */
const BETWEEN = 32;

/** An expression that has been evaluated already. */
interface Known extends Node {
  readonly known: Value;
}

interface Literal extends Node {
  known?: Value;
}

interface Filtered extends Node {
  readonly operand: Node;
  readonly filter: Named | Call;
}

interface FilterBlock extends Node {
  readonly body: readonly Node[];
  readonly filter: Named | Call;
}

interface Named extends Node {
  readonly value: string;
}

interface Call extends Node {
  readonly callee: Node;
  readonly args: readonly Node[];
}

interface Member extends Node {
  readonly object: Node;
  readonly property: Node & { readonly value?: unknown };
  readonly computed: boolean;
}

interface Loop extends Node {
  readonly iterable: Node & { readonly lhs?: Node };
}

/** The arguments of a call: in their places, and by name. */
interface Given {
  readonly nodes: readonly Node[];
  readonly values: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

export class BoundedInterpreter extends Interpreter {
  #left = MOST_STEPS;
  readonly #sizes = new Sizes();

  override evaluate(node: Node | undefined, scope: Scope): Value {
    switch (node?.type) {
      case "Known":
        return (node as Known).known;
      case "Identifier":
        return this.#read(scope.lookupVariable((node as Named).value));
      // What stands in the template is always the same. Not making it anew pays for what counting costs.
      case "StringLiteral":
      case "IntegerLiteral": {
        const literal = node as Literal;
        literal.known ??= super.evaluate(node, scope);
        return literal.known;
      }
      case undefined:
        return super.evaluate(node, scope);
    }
    if (--this.#left < 0) this.#spend(0);
    const value = this.#read(super.evaluate(this.#prepared(node!, scope), scope));
    if (isMany(value) && node!.type !== "MemberExpression") this.#measure(value);
    if (value.type === "FunctionValue" && node!.type === "MemberExpression") requireCalled(node!);
    return value;
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0)
      throw new TemplateLimitError(`takes more than ${MOST_STEPS} steps for these messages`);
  }

  /** Whoever gets a value may go over all of it. */
  #read(value: Value): Value {
    const inside = value.value;
    if (typeof inside === "string") {
      if (inside.length > AT_ONCE) {
        requireLength(inside.length);
        this.#spend(inside.length / AT_ONCE);
      }
    } else if (typeof inside === "object" && inside !== null) {
      const count = countOf(value);
      if (count > LOOKED_THROUGH) this.#spend(count / LOOKED_THROUGH);
    }
    return value;
  }

  /** Of lists and dictionaries that are made here. */
  #measure(value: Value): void {
    this.#sizes.looked = 0;
    this.#sizes.of(value);
    this.#spend(this.#sizes.looked);
  }

  /** The same node, with parts that have been evaluated and found to be small enough. */
  #prepared(node: Node, scope: Scope): Node {
    switch (node.type) {
      case "For":
        return this.#loop(node as Loop, scope);
      case "FilterExpression":
        return this.#filtered(node as Filtered, scope);
      case "FilterStatement":
        return this.#filterBlock(node as FilterBlock, scope);
      case "CallExpression":
        return this.#call(node as Call, scope);
      case "MemberExpression": {
        const member = node as Member;
        return member.property.type === "SliceExpression" ? this.#slice(member, scope) : node;
      }
      default:
        return node;
    }
  }

  #loop(node: Loop, scope: Scope): Node {
    const { iterable } = node;
    const source = iterable.type === "SelectExpression" ? iterable.lhs! : iterable;
    const value = this.evaluate(source, scope);
    this.#spend(ITERATION * countOf(value));
    const known = knownAs(value);
    return copy(node, {
      iterable: source === iterable ? known : copy(iterable, { lhs: known }),
    });
  }

  #filterBlock(node: FilterBlock, scope: Scope): Node {
    const body = this.evaluate(copy(node, { type: "Program" }), scope);
    return this.#filtered(
      copy<Filtered>(node, { type: "FilterExpression", operand: knownAs(body) }),
      scope,
    );
  }

  #filtered(node: Filtered, scope: Scope): Node {
    const { filter } = node;
    const operand = this.evaluate(node.operand, scope);
    const known = { operand: knownAs(operand) };
    if (filter.type !== "CallExpression") {
      const { value: name } = filter as Named;
      this.#checkFilter(name, operand, NONE);
      // The package would write JSON, or refuse.
      const text = name === "string" && !isText(operand) ? pythonText(operand) : undefined;
      return text === undefined
        ? copy(node, known)
        : copy({ type: "StringLiteral" }, { value: text });
    }
    const { callee, args } = filter as Call;
    const name = (callee as Named).value;
    // Its arguments must be texts as they stand, which are short.
    if (name === "selectattr" || name === "rejectattr") return copy(node, known);
    const given = this.#given(args, scope);
    this.#checkFilter(name, operand, given);
    return copy(node, { ...known, filter: copy(filter, { args: given.nodes }) });
  }

  #checkFilter(name: string, operand: Value, given: Given): void {
    const { values, named } = given;
    const { characters, items, depth } = this.#sizes.of(operand);
    const text = operand.type === "StringValue" ? (operand.value as string) : undefined;
    if (name === "indent" && text !== undefined) {
      const width = requireWidth(values[0] ?? named.get("width"));
      requireLength(characters + width * (1 + occurrences(text, "\n")));
    } else if (name === "join") {
      if (text !== undefined) this.#spend(characters / ONE_BY_ONE);
      const count = text === undefined ? countOf(operand) : characters;
      requireLength(characters + count * lengthOf(values[0] ?? named.get("separator")));
    } else if (name === "tojson") {
      const width = requireWidth(named.get("indent"));
      const separators = named.get("separators");
      const between = separators === undefined ? 2 : this.#sizes.of(separators).characters;
      requireLength(characters + items * (width * (depth + 1) + between));
    } else if (name === "string" && text === undefined) {
      this.#spend(characters / ONE_BY_ONE + items);
      requireLength(characters * LONGEST_ESCAPE + items * BETWEEN);
    } else if (name === "replace" && text !== undefined) {
      this.#checkReplace(text, given);
    } else if (name === "sort" || name === "unique") {
      this.#spend((characters + items) / ONE_BY_ONE);
    }
    if (name === "map" || name === "sort")
      for (const value of [...values, ...named.values()])
        if (lengthOf(value) > LONGEST_NAME)
          throw new TemplateLimitError(
            `has the name of an attribute of more than ${LONGEST_NAME} characters`,
          );
  }

  #checkReplace(text: string, { values, named }: Given): void {
    this.#spend(text.length / ONE_BY_ONE);
    const by = Math.max(0, ...[...values.slice(1), ...named.values()].map(lengthOf));
    const wanted = values[0]?.type === "StringValue" ? (values[0].value as string) : "";
    requireLength(text.length + by * occurrences(text, wanted));
  }

  /** Methods of texts that can make much of little are called with what is known. */
  #call(node: Call, scope: Scope): Node {
    const name =
      node.callee.type === "MemberExpression" ? nameOf(node.callee as Member) : undefined;
    if (name === undefined || !GROWING.has(name)) return node;
    const given = this.#given(node.args, scope);
    const callee = node.callee as Member;
    const object = this.evaluate(callee.object, scope);
    if (object.type === "StringValue") {
      const text = object.value as string;
      if (name === "replace") this.#checkReplace(text, given);
      else {
        this.#spend(text.length / ONE_BY_ONE);
        const [mark] = given.values;
        const pieces =
          mark?.type === "StringValue" ? occurrences(text, mark.value as string) : text.length;
        if (pieces > MOST_ITEMS)
          throw new TemplateLimitError(`splits a text into more than ${MOST_ITEMS} pieces`);
      }
    }
    return copy(node, { args: given.nodes, callee: copy(callee, { object: knownAs(object) }) });
  }

  /** A part of a text is taken out of it character by character. */
  #slice(node: Member, scope: Scope): Node {
    const object = this.evaluate(node.object, scope);
    this.#spend(object.type === "StringValue" ? lengthOf(object) / ONE_BY_ONE : countOf(object));
    return copy(node, { object: knownAs(object) });
  }

  #given(nodes: readonly Node[], scope: Scope): Given {
    const values: Value[] = [];
    const named = new Map<string, Value>();
    const evaluated = nodes.map((node) => {
      const { type } = node;
      if (type === "KeywordArgumentExpression") {
        const { key, value } = node as Node & { key: Named; value: Node };
        named.set(key.value, this.evaluate(value, scope));
        return copy(node, { value: knownAs(named.get(key.value)!) });
      }
      if (type === "SpreadExpression" || type === "KeywordSpreadExpression") {
        const spread = this.evaluate((node as Node & { argument: Node }).argument, scope);
        if (spread.value instanceof Map)
          for (const [key, value] of spread.value as Map<string, Value>) named.set(key, value);
        else if (Array.isArray(spread.value)) values.push(...(spread.value as Value[]));
        return copy(node, { argument: knownAs(spread) });
      }
      const value = this.evaluate(node, scope);
      values.push(value);
      return knownAs(value);
    });
    return { nodes: evaluated, values, named };
  }
}

/** Methods whose result is not bounded by what they are given. */
const GROWING = new Set(["replace", "split"]);
const NONE: Given = { nodes: [], values: [], named: new Map() };

/** The name of what is taken, if the template says it; undefined where it is calculated. */
function nameOf({ computed, property }: Member): string | undefined {
  if (computed && property.type !== "StringLiteral") return undefined;
  return typeof property.value === "string" ? property.value : undefined;
}

/** A method that is kept for later would be called without anyone looking. */
function requireCalled(node: Node): void {
  const member = node as Member;
  const name = nameOf(member);
  if ((name !== undefined && !GROWING.has(name)) || member.object.type === "Known") return;
  throw new TemplateLimitError("takes a method of a text without calling it");
}

function isText({ type }: Value): boolean {
  return type === "StringValue";
}

function knownAs(value: Value): Known {
  return { type: "Known", known: value } as Known;
}

function copy<Kind extends Node>(
  node: Node,
  changes: Partial<Record<keyof Kind | string, unknown>>,
): Kind {
  return { ...node, ...changes } as unknown as Kind;
}

function countOf({ value }: Value): number {
  return Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0;
}

function lengthOf(value: Value | undefined): number {
  return value?.type === "StringValue" ? (value.value as string).length : 0;
}

function occurrences(text: string, part: string): number {
  if (part === "") return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

function requireLength(length: number): void {
  if (length > LONGEST_TEXT)
    throw new TemplateLimitError(`makes a text of more than ${LONGEST_TEXT} characters`);
}

function requireWidth(value: Value | undefined): number {
  const width = typeof value?.value === "number" ? value.value : 4;
  if (width > WIDEST) throw new TemplateLimitError(`indents by more than ${WIDEST} characters`);
  return Math.max(0, width);
}
