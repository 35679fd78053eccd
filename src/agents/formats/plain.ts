/**
 * @file The format in which the whole reply is the action, on one line.
 */
import type { Field, ReplyFormat } from "./format.ts";

export function plainFormat(name: string, action: Field): ReplyFormat {
  return {
    name,
    fields: [action],
    actionField: action.name,
    instruction: () => `Answer with ${action.about}, on one line and with nothing else.`,
    parse(reply) {
      const lines = reply
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
      const field = action.name;
      if (lines.length === 0)
        return {
          action: undefined,
          parts: {},
          problems: [{ kind: "empty", field, message: "the reply is empty" }],
        };
      const problems =
        lines.length === 1
          ? []
          : [
              {
                kind: "twice" as const,
                field,
                message: `the reply has ${lines.length} lines, where one action on one line was asked for`,
              },
            ];
      return { action: lines[0]!, parts: {}, problems };
    },
    write: (text) => text.replace(/\s+/g, " ").trim(),
  };
}
