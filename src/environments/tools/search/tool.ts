/**
 * @file Search over a local corpus as a tool: the best documents, each with the passage that has most
 * of the query's words.
 */
import type { Tool } from "../tool.ts";
import type { Document } from "./corpus.ts";
import { searchIndex, wordsOf } from "./index.ts";

const PASSAGE = 600;
const MOST_RESULTS = 10;

export function searchTool(documents: readonly Document[], usual = 3): Tool {
  const index = searchIndex(documents);
  return {
    name: "search",
    description: `Searches ${index.size} documents for words and shows the best ones.`,
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", description: "a few words", maxLength: 1000 },
        count: {
          ...{ type: "integer", minimum: 1, maximum: MOST_RESULTS },
          description: `how many documents to show; default: ${usual}`,
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
    execute({ query, count = usual }) {
      const hits = index.search(String(query), Number(count));
      if (hits.length === 0) return "Nothing was found.";
      return hits
        .map(({ document }, i) => {
          return `${i + 1}. ${document.title}\n${passage(document.text, String(query))}`;
        })
        .join("\n\n");
    },
  };
}

/** The whole text if it is short, else the stretch with the most words of the query. */
function passage(text: string, query: string): string {
  if (text.length <= PASSAGE) return text;
  const wanted = new Set(wordsOf(query));
  let [best, most] = [0, -1];
  for (let start = 0; start < text.length; start += PASSAGE / 2) {
    const words = new Set(wordsOf(text.slice(start, start + PASSAGE)));
    const count = [...wanted].filter((word) => words.has(word)).length;
    if (count > most) [best, most] = [start, count];
  }
  const end = best + PASSAGE;
  return `${best > 0 ? "… " : ""}${text.slice(best, end).trim()}${end < text.length ? " …" : ""}`;
}
