/**
 * @file Formats of tags: `<think> … </think> <action> … </action>`.
 *
 * Text outside of the tags is ignored. The other fields are read before the action and taken out, so an
 * action that is only talked about in a thought is not taken for one.
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

export function tagsFormat(
  name: string,
  fields: readonly Field[],
  actionField: string,
): ReplyFormat {
  checkFields(name, fields, actionField);
  const others = fields.filter((field) => field.name !== actionField);
  const action = fields.find((field) => field.name === actionField)!;
  const ownTags = new RegExp(`</?(?:${fields.map((field) => field.name).join("|")})>`, "gi");
  const wrapped = (field: string, text: string) => `<${field}>${text}</${field}>`;
  return {
    name,
    fields,
    actionField,
    instruction(situation) {
      const asked = fields.filter((field) => isAskedFor(field, situation));
      const lines = asked.map(
        (field) => wrapped(field.name, field.about) + whenAsked(field, situation),
      );
      return `Answer in this form, with the tags as they stand here:\n${lines.join("\n")}`;
    },
    parse(reply, situation) {
      const problems: Problem[] = [];
      const parts: Record<string, string> = {};
      let rest = reply;
      for (const field of others) {
        const found = read(rest, field.name);
        rest = found.rest;
        if (found.problem) problems.push(found.problem);
        if (found.text !== undefined && found.text !== "") parts[field.name] = found.text;
        if (!isRequired(field, situation) || found.problem) continue;
        if (found.text === undefined) problems.push(missing(field.name));
        else if (found.text === "") problems.push(empty(field.name));
      }
      const found = read(rest, action.name);
      if (found.problem) problems.push(found.problem);
      else if (found.text === undefined) problems.push(missing(action.name));
      else if (found.text === "") problems.push(empty(action.name));
      return { action: found.text || undefined, parts, problems };
    },
    write(text, parts = {}) {
      const clean = (value: string) => value.replace(ownTags, "").trim();
      return fields
        .filter((field) => field === action || parts[field.name] !== undefined)
        .map((field) => wrapped(field.name, clean(field === action ? text : parts[field.name]!)))
        .join("\n");
    },
  };
}

interface Found {
  /** Undefined: the tag is not there. */
  text: string | undefined;
  /** The reply without it. */
  rest: string;
  problem?: Problem;
}

function read(reply: string, field: string): Found {
  const tag = new RegExp(`<${field}>([\\s\\S]*?)</${field}>`, "gi");
  const matches = [...reply.matchAll(tag)];
  const rest = matches.length > 0 ? reply.replace(tag, " ") : reply;
  const text = matches[0]?.[1]?.trim();
  if (new RegExp(`<${field}>`, "i").test(rest)) {
    const message = `<${field}> is opened and not closed with </${field}>`;
    return { text, rest, problem: { kind: "unclosed", field, message } };
  }
  if (matches.length < 2) return { text, rest };
  const message = `there are ${matches.length} of <${field}>…</${field}>, expected one`;
  return { text, rest, problem: { kind: "twice", field, message } };
}

function missing(field: string): Problem {
  return { kind: "missing", field, message: `there is no <${field}>…</${field}>` };
}

function empty(field: string): Problem {
  return { kind: "empty", field, message: `<${field}></${field}> is empty` };
}
