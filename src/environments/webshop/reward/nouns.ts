/**
 * @file The nouns of a title, by wink-nlp. The original asks spaCy (en_core_web_sm), whose statistical
 * tagger has no equal in JavaScript; docs/environments.md says how far the two differ.
 *
 * Loading takes a tenth of a second and some 20 MB, so it happens when the first purchase is scored.
 */
import { createRequire } from "node:module";
import type { ItemToken, WinkMethods } from "wink-nlp";
import { keepingRecent } from "../../recent-cache.ts";
import type { NounFinder } from "./type.ts";

/** Titles whose nouns are remembered. */
const KEPT = 20_000;
/** Real titles have some 20 words; whatever is far beyond that is cut. */
const LONGEST_TITLE = 10_000;

let tagger: WinkMethods | undefined;

function loadedTagger(): WinkMethods {
  // Both packages are CommonJS without an ES module's door, and a step is not asynchronous.
  const require = createRequire(import.meta.url);
  const wink = require("wink-nlp") as typeof import("wink-nlp").default;
  return wink(require("wink-eng-lite-web-model"), ["sbd", "pos"]);
}

export const nounsOf: NounFinder = keepingRecent(
  (title: string) => title,
  KEPT,
  (title): readonly string[] => {
    tagger ??= loadedTagger();
    const { its } = tagger;
    const nouns: string[] = [];
    tagger
      .readDoc(title.slice(0, LONGEST_TITLE))
      .tokens()
      .each((token: ItemToken) => {
        const kind = token.out(its.pos);
        if (kind === "NOUN" || kind === "PROPN") nouns.push(token.out().toLowerCase());
      });
    return nouns;
  },
);
