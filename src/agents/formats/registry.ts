/**
 * @file The reply formats by name, and how to make one's own.
 */
import { callsFormat } from "./calls.ts";
import { checkFields, type Field, type ReplyFormat } from "./format.ts";
import { labelsFormat } from "./labels.ts";
import { plainFormat } from "./plain.ts";
import { tagsFormat } from "./tags.ts";

const ACTION: Field = { name: "action", about: "exactly one action" };

/** A format as data. */
export interface FormatSketch {
  readonly name: string;
  /** tags: `<plan>…</plan>`; labels: `Plan: …` at the beginning of a line. */
  readonly style: "tags" | "labels";
  /** In the order in which they are asked for. */
  readonly fields: readonly Field[];
  /** The field that holds the action. Default: the last one. */
  readonly action?: string;
}

/** A format of one's own: the instruction, the parser and the writer follow from the fields. */
export function defineFormat({ name, style, fields, action }: FormatSketch): ReplyFormat {
  const actionField = action ?? fields.at(-1)?.name ?? "";
  checkFields(name, fields, actionField);
  return (style === "tags" ? tagsFormat : labelsFormat)(name, fields, actionField);
}

const FORMATS: readonly ReplyFormat[] = [
  plainFormat("action", { name: "action", about: "exactly one action" }),
  defineFormat({
    name: "react",
    style: "labels",
    fields: [
      { name: "Thought", about: "what you see and what you want to do next" },
      { ...ACTION, name: "Action" },
    ],
  }),
  defineFormat({
    name: "think-action",
    style: "tags",
    fields: [{ name: "think", about: "your reasoning" }, ACTION],
  }),
  defineFormat({
    name: "openmanus",
    style: "tags",
    fields: [
      {
        name: "memory",
        about: "what you remember of earlier steps that matters now, with their numbers",
        withHistory: true,
      },
      {
        name: "reflection",
        about: "whether the last action did what you wanted, and how far the task is",
        withHistory: true,
      },
      { name: "plan", about: "what you will do next, and why" },
      ACTION,
    ],
  }),
  callsFormat("tools"),
];

export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);

/** The format of a name; with the known names in the error where there is none. */
export function replyFormat(name: string): ReplyFormat {
  const format = FORMATS.find((candidate) => candidate.name === name);
  if (!format)
    throw new RangeError(
      `there is no reply format "${name}"; there are ${FORMAT_NAMES.join(", ")} ` +
        "(or one made with defineFormat)",
    );
  return format;
}
