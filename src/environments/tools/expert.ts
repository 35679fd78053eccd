/**
 * @file The scripted expert for generated questions: it reads the question, searches for the places
 * in it, reads the facts in what it finds, calculates and answers. It sees what an agent sees.
 */
import type { Expert } from "../environment.ts";
import { FIELDS } from "./tasks/country.ts";
import { answerText, callText } from "./tasks/generate.ts";
import { understood } from "./tasks/kinds.ts";

export function toolExpert(): Expert {
  let question: string | undefined;
  /** The documents seen, by title. */
  const seen = new Map<string, string>();
  const searched = new Set<string>();
  let last: "search" | "calculator" | undefined;
  return {
    act({ text, instruction }) {
      question ??= instruction ?? text;
      const read = understood(question);
      // Not one of ours: an honest shrug ends it.
      if (!read) return answerText("unknown");
      if (last === "calculator") return answerText(text.trim());
      for (const [, title, body] of text.matchAll(/^\d+\. (.+)\n(.+)$/gm)) seen.set(title!, body!);
      const { kind, names } = read;
      const values: string[] = [];
      for (const [named, field] of kind.needs(names)) {
        const place = named === "*" ? values.at(-1)! : named;
        const value = FIELDS[field]!.exec(seen.get(place) ?? "")?.[1];
        if (value === undefined) {
          if (searched.has(place)) return answerText("unknown");
          searched.add(place);
          last = "search";
          return callText("search", { query: place });
        }
        values.push(value);
      }
      const expression = kind.expression?.(values);
      if (expression === undefined) return answerText(values.at(-1)!);
      last = "calculator";
      return callText("calculator", { expression });
    },
  };
}
