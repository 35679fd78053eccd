/**
 * @file Attention that begins by matching: a head's keys are made like its queries, so that a token looks
 * at tokens like itself, and what it sees there is passed on as it is (the output matrix is the values'
 * transposed). Random heads have to learn this before they can look a name up in what was said before,
 * which takes a small model most of its training.
 */
import { noGrad, tidy } from "../../torch/index.ts";
import type { Model } from "./model.ts";

export function startMatching(model: Model): void {
  const { layers, heads, keyValueHeads, headDimension: size } = model.config;
  const shared = heads / keyValueHeads;
  tidy(() =>
    noGrad(() => {
      for (let layer = 0; layer < layers; layer++) {
        const joined = model.layer(layer, "self_attn.qkv_proj.weight")!;
        const output = model.layer(layer, "self_attn.o_proj.weight")!;
        const queries = joined.narrow(0, 0, heads * size);
        const keys = joined.narrow(0, heads * size, keyValueHeads * size);
        const values = joined.narrow(0, (heads + keyValueHeads) * size, keyValueHeads * size);
        for (let head = 0; head < heads; head++) {
          const group = Math.floor(head / shared);
          // Heads that share keys: those of the first.
          if (head % shared === 0)
            keys.narrow(0, group * size, size).copy_(queries.narrow(0, head * size, size));
          output.narrow(1, head * size, size).copy_(
            values
              .narrow(0, group * size, size)
              .transpose(0, 1)
              .div(shared),
          );
        }
      }
    }),
  );
}
