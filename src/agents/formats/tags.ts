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
      return fields
        .filter((field) => field === action || Object.hasOwn(parts, field.name))
        .map((field) => {
          const value = field === action ? text : parts[field.name]!;
          return wrapped(field.name, withoutTags(value, ownTags).trim());
        })
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

/**
 * Walks over the field's tags once, from the left: a reply may be megabytes of them, and a pattern that
 * looks for each end anew would take hours.
 */
function read(reply: string, field: string): Found {
  const texts: string[] = [];
  const kept: string[] = [];
  let unclosed = false;
  /** First letter that is neither in a pair nor kept. */
  let done = 0;
  let open: { start: number; inside: number } | undefined;
  for (const tag of reply.matchAll(new RegExp(`<(/?)${field}>`, "gi"))) {
    const after = tag.index + tag[0].length;
    if (tag[1] === "") {
      // Opened again before it was closed: the last one counts, and the reply is not well-formed.
      unclosed ||= open !== undefined;
      open = { start: open?.start ?? tag.index, inside: after };
    } else if (open) {
      texts.push(reply.slice(open.inside, tag.index).trim());
      kept.push(reply.slice(done, open.start));
      done = after;
      open = undefined;
    }
  }
  const rest = texts.length === 0 ? reply : [...kept, reply.slice(done)].join(" ");
  const text = texts[0];
  if (unclosed || open) {
    const message = `<${field}> is opened and not closed with </${field}>`;
    return { text, rest, problem: { kind: "unclosed", field, message } };
  }
  if (texts.length < 2) return { text, rest };
  const message = `there are ${texts.length} of <${field}>…</${field}>, expected one`;
  return { text, rest, problem: { kind: "twice", field, message } };
}

/** What is left may be a tag again (`<act<action>ion>`): then no tag can be in it at all. */
function withoutTags(text: string, tags: RegExp): string {
  const once = text.replace(tags, "");
  return once.search(tags) < 0 ? once : once.replaceAll("<", "");
}

function missing(field: string): Problem {
  return { kind: "missing", field, message: `there is no <${field}>…</${field}>` };
}

function empty(field: string): Problem {
  return { kind: "empty", field, message: `<${field}></${field}> is empty` };
}
