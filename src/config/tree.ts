/**
 * @file The schema as a tree that can be walked: every setting with its path, default and notes.
 */
import type { z } from "zod";
import { configSchema } from "./schema.ts";
import { choicesOf, notesOf, type SettingNotes } from "./setting.ts";

export interface SettingEntry extends SettingNotes {
  /** "actor_rollout_ref.actor.optim.lr" */
  readonly path: string;
  /** What it may be, in words: "a number, 0 or more". */
  readonly kind: string;
  /** Undefined: it has none. */
  readonly defaultValue: unknown;
}

/** The type inside of defaults, optionals and the like; and what the outer ones say. */
function unwrapped(schema: z.core.$ZodType): {
  inner: z.core.$ZodType;
  notes: SettingNotes | undefined;
  defaultValue: unknown;
  nullable: boolean;
} {
  let inner = schema;
  let notes = notesOf(inner);
  let defaultValue: unknown;
  let nullable = false;
  for (;;) {
    const { def } = inner._zod as {
      def: { type: string; innerType?: z.core.$ZodType; defaultValue?: unknown };
    };
    if (def.type === "default") defaultValue = def.defaultValue;
    if (def.type === "nullable") nullable = true;
    if (def.innerType === undefined) return { inner, notes, defaultValue, nullable };
    inner = def.innerType;
    notes ??= notesOf(inner);
  }
}

/** The settings and sections inside of a section; undefined for what is none. */
export function childrenOf(
  schema: z.core.$ZodType,
): Readonly<Record<string, z.core.$ZodType>> | undefined {
  const { def } = unwrapped(schema).inner._zod as {
    def: { type: string; shape?: Record<string, z.core.$ZodType> };
  };
  return def.type === "object" ? def.shape : undefined;
}

/** All settings in their order. */
export function allSettings(
  schema: z.core.$ZodType = configSchema,
  prefix: readonly string[] = [],
): SettingEntry[] {
  const children = childrenOf(schema);
  if (children)
    return Object.entries(children).flatMap(([name, child]) =>
      allSettings(child, [...prefix, name]),
    );
  const { inner, notes, defaultValue, nullable } = unwrapped(schema);
  const path = prefix.join(".");
  if (!notes) throw new Error(`config: the setting ${path} says nothing about itself`);
  const kind = `${kindOf(inner)}${nullable ? ", or null" : ""}`;
  return [{ path, kind, defaultValue, ...notes }];
}

interface Definition {
  type: string;
  entries?: Record<string, string>;
  values?: unknown[];
  options?: z.core.$ZodType[];
  element?: z.core.$ZodType;
  items?: z.core.$ZodType[];
  checks?: NumberCheck[];
  /** Of z.int(). */
  check?: string;
}

function kindOf(schema: z.core.$ZodType): string {
  const { def } = schema._zod as unknown as { def: Definition };
  switch (def.type) {
    case "enum":
      return Object.values(def.entries!).join(" · ");
    case "literal":
      return def.values!.map(String).join(" · ");
    case "boolean":
      return "True · False";
    case "string": {
      const names = choicesOf(schema);
      return names ? `${names.join(" · ")}, or a file` : "text";
    }
    case "number":
      return numberKind(def);
    case "array":
      return `list of ${kindOf(unwrapped(def.element!).inner)}`;
    case "tuple":
      return `list of ${def.items!.length} numbers`;
    case "union":
      return def.options!.map((option) => kindOf(unwrapped(option).inner)).join(", or ");
    case "record":
      return "names and values";
    default:
      return "anything";
  }
}

interface NumberCheck {
  _zod: { def: { check: string; value: number; inclusive: boolean } };
}

function numberKind({ checks = [], check }: Definition): string {
  const whole =
    check === "number_format" || checks.some(({ _zod: { def } }) => def.check === "number_format");
  const bounds = checks.flatMap(({ _zod: { def } }) => {
    if (def.check === "greater_than") return [`${def.inclusive ? "≥" : ">"} ${def.value}`];
    if (def.check === "less_than") return [`${def.inclusive ? "≤" : "<"} ${def.value}`];
    return [];
  });
  return [whole ? "whole number" : "number", ...bounds].join(" ");
}
