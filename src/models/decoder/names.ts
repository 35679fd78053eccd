/**
 * @file Names with numbers begin as what they are made of: where "drawer 12" is one token, its embedding is
 * that of "drawer" and that of "12" together. Otherwise a model must find out of every such name that it
 * is a drawer.
 */
import { type Generator, noGrad, randn, type Tensor, tidy } from "../../torch/index.ts";
import { BYTE_CHARACTERS } from "../tokenizer/byte-alphabet.ts";
import type { Model } from "./model.ts";

/** `vocabulary`: the learned tokens by id, in the letters of byte-level BPE. */
export function composeNames(
  model: Model,
  vocabulary: readonly string[],
  generator: Generator,
): void {
  const space = BYTE_CHARACTERS[0x20]!;
  const { hiddenSize, initializerRange } = model.config;
  tidy(() =>
    noGrad(() => {
      const embeddings = model.parameters.get("model.embed_tokens.weight")!;
      const parts = new Map<string, Tensor>(
        vocabulary.map((token, id) => [token, embeddings.narrow(0, id, 1)]),
      );
      /** The token's embedding, or where it is no token of its own, one that all its names share. */
      const part = (text: string): Tensor => {
        const known = parts.get(text) ?? randn([1, hiddenSize], generator).mul(initializerRange);
        parts.set(text, known);
        return known;
      };
      for (const [id, token] of vocabulary.entries()) {
        const border = token.lastIndexOf(space);
        if (border < 1 || !/^\d+$/.test(token.slice(border + 1))) continue;
        const sum = part(token.slice(0, border)).add(part(token.slice(border)));
        // As long as others: the sum of two that are independent is √2 times as long.
        embeddings.narrow(0, id, 1).copy_(sum.div(Math.SQRT2));
      }
    }),
  );
}
