/**
 * @file Reply formats: how an agent is told to answer, and how its answer is read. Both come from one
 * list of fields, so the prompt cannot ask for what the parser refuses.
 */
import type { ToolDefinition } from "../../environments/index.ts";

/** One part of a reply: a tag, a label, or the whole of it. */
export interface Field {
  /** As it is written in the reply: "think" for `<think>`, "Thought" for `Thought:`. */
  readonly name: string;
  /** What belongs in it, said to the agent: "your reasoning". */
  readonly about: string;
  /** A reply without it is well-formed too. */
  readonly optional?: boolean;
  /** Asked for only when there is something to look back on: from the second reply on. */
  readonly withHistory?: boolean;
}

export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What a format must know about the moment at which it asks or reads. */
export interface Situation {
  /** Replies given before this one. When the instruction is for all replies: undefined. */
  readonly turn?: number | undefined;
  /** Functions that may be called; used by the format "tools". */
  readonly tools?: readonly ToolDefinition[] | undefined;
}

export type ProblemKind =
  /** A field that must be there is not. */
  | "missing"
  /** It is there, and nothing is in it. */
  | "empty"
  /** There are two actions (or two of another field): which is meant? */
  | "twice"
  /** A tag that is opened and never closed: often a reply that was cut off. */
  | "unclosed"
  /** A tool call that is no JSON, or lacks a name or arguments. */
  | "not a call"
  /** A call of a function that does not exist. */
  | "unknown tool";

/** What is wrong with a reply, in words that the agent can use. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly field: string;
  /** A sentence without its end: "there is no <action>…</action>". */
  readonly message: string;
}

export interface ParsedReply {
  /** What the world is to be given; undefined when that cannot be told. */
  readonly action: string | undefined;
  /** The tool call that the action is, in formats that have them. */
  readonly call?: ToolCall | undefined;
  /** The other fields, by name. */
  readonly parts: Readonly<Record<string, string>>;
  /** Empty: the reply is well-formed. */
  readonly problems: readonly Problem[];
}

export interface ReplyFormat {
  readonly name: string;
  readonly fields: readonly Field[];
  /** The field that holds the action. */
  readonly actionField: string;
  /** How to answer: a paragraph for the prompt. */
  instruction(situation: Situation): string;
  parse(reply: string, situation: Situation): ParsedReply;
  /**
   * A reply in this format: what experts say. Parts that are left out are left out of the reply, and
   * what would be mistaken for the format's own signs is taken out of them.
   */
  write(action: string, parts?: Readonly<Record<string, string>>): string;
}

/** Whether a field is asked for at this turn. */
export function isAskedFor(field: Field, { turn }: Situation): boolean {
  return !(field.withHistory && turn === 0);
}

/** Whether a reply at this turn is incomplete without the field. */
export function isRequired(field: Field, situation: Situation): boolean {
  return !field.optional && isAskedFor(field, situation);
}

/** What stands behind a field in an instruction that holds for all turns. */
export function whenAsked(field: Field, { turn }: Situation): string {
  const notes = [
    field.withHistory && turn === undefined ? "from your second reply on" : "",
    field.optional ? "may be left out" : "",
  ].filter(Boolean);
  return notes.length > 0 ? ` (${notes.join("; ")})` : "";
}

/** Throws unless the action is one of the fields and no name comes twice. */
export function checkFields(format: string, fields: readonly Field[], actionField: string): void {
  const names = fields.map(({ name }) => name.toLowerCase());
  const wrong = fields.find(({ name }) => !/^[A-Za-z][\w-]*$/.test(name));
  if (wrong)
    throw new RangeError(
      `reply format "${format}": the field "${wrong.name}" must be a word of letters, digits, - and _`,
    );
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new RangeError(`reply format "${format}": there are two fields "${twice}"`);
  const action = fields.find(({ name }) => name === actionField);
  if (!action)
    throw new RangeError(
      `reply format "${format}": its action is "${actionField}", which is none of its fields ` +
        `(${fields.map(({ name }) => name).join(", ")})`,
    );
  if (action.optional || action.withHistory)
    throw new RangeError(
      `reply format "${format}": its action "${actionField}" must not be optional`,
    );
}
