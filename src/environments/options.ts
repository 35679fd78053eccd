/**
 * @file Options of a world: declared once, from which come the types, the checks, the defaults and
 * the text of `env show`.
 */

import { nearest } from "../spelling/index.ts";
import { EnvironmentError } from "./environment.ts";

interface Described<Value> {
  /** One sentence for `env show`. */
  readonly about: string;
  /** Without a default the option may be left out, and is then undefined. */
  readonly default?: Value;
}

export interface TextOption extends Described<string> {
  readonly kind: "text";
  /** Where only these are allowed. */
  readonly choices?: readonly string[];
}

export interface NumberOption extends Described<number> {
  readonly kind: "number";
  readonly minimum?: number;
  readonly maximum?: number;
  readonly integer?: boolean;
}

export interface BooleanOption extends Described<boolean> {
  readonly kind: "boolean";
}

/** A list of texts. On a command line: separated by commas. */
export interface ListOption extends Described<readonly string[]> {
  readonly kind: "list";
  readonly choices?: readonly string[];
}

export type Option = TextOption | NumberOption | BooleanOption | ListOption;
export type OptionTable = Readonly<Record<string, Option>>;

/** What an option of a kind holds. */
export type OptionValue<Each extends Option> = Each extends { kind: "text" }
  ? string
  : Each extends { kind: "number" }
    ? number
    : Each extends { kind: "boolean" }
      ? boolean
      : readonly string[];

/** The values that a table of options gives: those with a default are always there. */
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly default: unknown }
    ? OptionValue<Table[Name]>
    : OptionValue<Table[Name]> | undefined;
};

/**
 * Checks what a user gave against the table and fills in the defaults. Texts are understood for
 * every kind ("true", "12", "a,b"), because configuration comes from command lines too.
 */
export function checkOptions<Table extends OptionTable>(
  environment: string,
  table: Table,
  given: Readonly<Record<string, unknown>>,
): OptionValues<Table> {
  const fail = (message: string): never => {
    throw new EnvironmentError(environment, message);
  };
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(table, name)) continue;
    const known = Object.keys(table);
    const guess = nearest(name, known);
    fail(
      `there is no option "${name}"${guess ? `; did you mean "${guess}"?` : "."} ` +
        `Its options: ${known.length > 0 ? known.join(", ") : "none"}.`,
    );
  }
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(table)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    values[name] = value === undefined ? option.default : checked(name, option, value, fail);
  }
  return values as OptionValues<Table>;
}

function checked(
  name: string,
  option: Option,
  value: unknown,
  fail: (message: string) => never,
): unknown {
  const wrong = (expected: string): never =>
    fail(`option "${name}" must be ${expected}, not ${shown(value)}.`);
  switch (option.kind) {
    case "text": {
      if (typeof value !== "string") return wrong("a text");
      return option.choices && !option.choices.includes(value)
        ? wrong(`one of ${option.choices.join(", ")}`)
        : value;
    }
    case "boolean":
      if (typeof value === "boolean") return value;
      if (value === "true" || value === "false") return value === "true";
      return wrong("true or false");
    case "number": {
      const { minimum = -Infinity, maximum = Infinity, integer = false } = option;
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      const right =
        typeof number === "number" &&
        number >= minimum &&
        number <= maximum &&
        Number.isFinite(number) &&
        (!integer || Number.isSafeInteger(number));
      if (right) return number;
      const range = [
        minimum > -Infinity ? `at least ${minimum}` : "",
        maximum < Infinity ? `at most ${maximum}` : "",
      ].filter(Boolean);
      return wrong([integer ? "a whole number" : "a number", ...range].join(", "));
    }
    case "list": {
      const items = typeof value === "string" ? value.split(",").map((item) => item.trim()) : value;
      if (!Array.isArray(items) || items.some((item) => typeof item !== "string"))
        return wrong("a list of texts");
      const stranger = option.choices && items.find((item) => !option.choices!.includes(item));
      if (stranger !== undefined)
        return fail(
          `option "${name}" cannot hold ${shown(stranger)}; it may hold ${option.choices!.join(", ")}.`,
        );
      return items;
    }
  }
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
