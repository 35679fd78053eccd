/**
 * @file Formats of labels: `Thought: …` and `Action: …`, each at the beginning of a line.
 *
 * A field reaches to the next label or the end. The action is one line: more lines are read as more
 * than one action.
 */
import {
  checkFields,
  type Field,
  isAskedFor,
  isRequired,
  type Problem,
  type ReplyFormat,
  whenAsked,
} from "./format.ts";

export function labelsFormat(
  name: string,
  fields: readonly Field[],
  actionField: string,
): ReplyFormat {
  checkFields(name, fields, actionField);
  const label = new RegExp(
    `^[ \\t]*(${fields.map((field) => field.name).join("|")})[ \\t]*:`,
    "gim",
  );
  return {
    name,
    fields,
    actionField,
    instruction(situation) {
      const lines = fields
        .filter((field) => isAskedFor(field, situation))
        .map((field) => `${field.name}: ${field.about}${whenAsked(field, situation)}`);
      return `Answer in this form, each label at the beginning of a line:\n${lines.join("\n")}`;
    },
    parse(reply, situation) {
      const found = sections(reply, label);
      const problems: Problem[] = [];
      const parts: Record<string, string> = {};
      let action: string | undefined;
      for (const field of fields) {
        const texts = found.get(field.name.toLowerCase()) ?? [];
        const isAction = field.name === actionField;
        const lines = isAction ? texts.flatMap(nonEmptyLines) : texts;
        const problem = problemOf(field.name, texts, lines, isRequired(field, situation));
        if (problem) problems.push(problem);
        const text = lines[0];
        if (isAction) action = text;
        else if (text) parts[field.name] = text;
      }
      return { action: action || undefined, parts, problems };
    },
    write(text, parts = {}) {
      const oneLine = (value: string) => value.replace(/\s+/g, " ").trim();
      return fields
        .filter((field) => field.name === actionField || Object.hasOwn(parts, field.name))
        .map((field) => {
          const value = field.name === actionField ? text : parts[field.name]!;
          return `${field.name}: ${oneLine(value)}`;
        })
        .join("\n");
    },
  };
}

/** The texts behind each label, by its name in lower case. */
function sections(reply: string, label: RegExp): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const matches = [...reply.matchAll(label)];
  for (const [i, match] of matches.entries()) {
    const end = matches[i + 1]?.index ?? reply.length;
    const text = reply.slice(match.index + match[0].length, end).trim();
    const name = match[1]!.toLowerCase();
    const texts = found.get(name);
    if (texts) texts.push(text);
    else found.set(name, [text]);
  }
  return found;
}

function problemOf(
  field: string,
  texts: readonly string[],
  values: readonly string[],
  required: boolean,
): Problem | undefined {
  if (texts.length === 0)
    return required
      ? { kind: "missing", field, message: `there is no line that begins with "${field}:"` }
      : undefined;
  if (values.length > 1)
    return {
      kind: "twice",
      field,
      message: `there are ${values.length} of "${field}:", expected one, on one line`,
    };
  if (required && !values[0])
    return { kind: "empty", field, message: `nothing stands behind "${field}:"` };
  return undefined;
}

function nonEmptyLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
