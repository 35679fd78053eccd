/**
 * @file What every setting of the configuration says about itself: a sentence for the reference page and,
 * for settings that cannot matter here, why.
 */
import { z } from "zod";

export interface SettingNotes {
  /** One sentence. */
  readonly about: string;
  /**
   * It is accepted because the documents' command lines have it, and does nothing here: why. A run says
   * so when somebody sets it.
   */
  readonly inert?: string;
  /** It says where a key is: its value is never repeated in a message. */
  readonly secret?: true;
}

const notes = new WeakMap<z.core.$ZodType, SettingNotes>();

/** A setting with its sentence. */
export function setting<Schema extends z.ZodType>(schema: Schema, about: string): Schema {
  notes.set(schema, { about });
  return schema;
}

/** A setting that says where a key is. */
export function secret<Schema extends z.ZodType>(schema: Schema, about: string): Schema {
  notes.set(schema, { about, secret: true });
  return schema;
}

/** A setting that is accepted and does nothing. */
export function inert<Schema extends z.ZodType>(given: Schema, reason: string) {
  // verl's own files have null for many of them.
  const schema = given.nullable();
  notes.set(schema, { about: `No effect: ${reason}.`, inert: reason });
  return schema;
}

/** A group of settings, all of which may be left out. */
export function section<Shape extends z.core.$ZodShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as never);
}

export function notesOf(schema: z.core.$ZodType): SettingNotes | undefined {
  return notes.get(schema);
}

/** A name of a list, or the file of something of one's own; `checkNames` says what is wrong. */
export function named(names: readonly string[]) {
  const schema = z.string();
  choices.set(schema, names);
  return schema;
}

const choices = new WeakMap<z.core.$ZodType, readonly string[]>();

/** The names of a setting made with `named`. */
export function choicesOf(schema: z.core.$ZodType): readonly string[] | undefined {
  return choices.get(schema);
}

// Kinds of numbers that come again and again.
export const count = z.int().positive();
export const countOrZero = z.int().nonnegative();
export const share = z.number().min(0).max(1);
export const positive = z.number().positive();
export const notNegative = z.number().nonnegative();
