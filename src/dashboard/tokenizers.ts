/**
 * @file Tokens' texts, by the tokenizer of the model that a run began with.
 */
import { loadTokenizer, modelFolderOf } from "../models/index.ts";
import type { TokenText } from "./episodes/page.ts";

/** Tokenizers that are kept. */
const MOST = 4;

/** A model whose folder is gone leaves the page without the texts of single tokens. */
export function tokenizers(): (folder: string | undefined) => TokenText {
  const known = new Map<string, TokenText>();
  return (folder) => {
    if (folder === undefined) return undefined;
    if (known.has(folder)) return known.get(folder);
    let textOf: TokenText;
    try {
      const tokenizer = loadTokenizer(modelFolderOf(folder));
      textOf = (id) => tokenizer.decode([id], { skipSpecialTokens: false });
    } catch {
      textOf = undefined;
    }
    known.set(folder, textOf);
    if (known.size > MOST) known.delete(known.keys().next().value!);
    return textOf;
  };
}
