/**
 * @file SentencePiece's BPE, as Llama 2 has it: scores in GGUF, merges in tokenizer.json.
 */
import { ModelFileError } from "../../checkpoint/errors.ts";
import type { GgufVocabulary } from "./vocabulary.ts";
import { KIND } from "./vocabulary.ts";

/** SentencePiece's sign for a space. */
const SPACE = "▁";
/** Characters of a token that is split; Llama's longest have 16, others' some 50. */
const LONGEST_SPLIT = 100;
/** Ways to split all tokens; the largest vocabularies have 2 million. */
const MOST_SPLITS = 4_000_000;

/**
 * All ways to make a token of two others, the token with the highest score first; of the same token, as
 * transformers orders them: long left parts first, then by ids.
 */
export function mergesOfScores({
  tokens,
  scores,
  kinds,
  file,
}: GgufVocabulary): [string, string][] {
  const ids = new Map<string, number>();
  for (const [id, token] of tokens.entries()) if (kinds[id] !== KIND.unused) ids.set(token, id);
  const merges: { left: string; right: string; score: number; lengths: [number, number] }[] = [];
  let splits = 0;
  for (const [token, id] of ids) {
    const characters = [...token];
    if (characters.length > LONGEST_SPLIT) continue;
    splits += characters.length;
    if (splits > MOST_SPLITS)
      throw new ModelFileError(file, "its tokens are longer and more than those of any tokenizer");
    const own = [];
    for (let i = 1; i < characters.length; i++) {
      const [left, right] = [characters.slice(0, i).join(""), characters.slice(i).join("")];
      if (ids.has(left) && ids.has(right))
        own.push({
          ...{ left, right, score: scores[id]! },
          lengths: [i, characters.length - i] as [number, number],
        });
    }
    own.sort(
      (a, b) => ids.get(a.left)! - ids.get(b.left)! || ids.get(a.right)! - ids.get(b.right)!,
    );
    merges.push(...own);
  }
  merges.sort(
    (a, b) => b.score - a.score || b.lengths[0] - a.lengths[0] || b.lengths[1] - a.lengths[1],
  );
  return merges.map(({ left, right }) => [left, right]);
}

/** The parts of tokenizer.json around the model, as transformers writes them for Llama 2. */
export function sentencePieceParts(addSpacePrefix: boolean) {
  const replaced = { type: "Replace", pattern: { String: " " }, content: SPACE };
  return {
    normalizer: addSpacePrefix
      ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: SPACE }, replaced] }
      : { type: "Sequence", normalizers: [replaced] },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: SPACE }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(addSpacePrefix ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
  };
}
