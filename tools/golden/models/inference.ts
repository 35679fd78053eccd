/**
 * @file Logits and greedy continuations against transformers'.
 */
import { logits, type Model, packSequences } from "../../../src/models/index.ts";
import { noGrad, tidy } from "../../../src/torch/index.ts";
import { type Golden, unpadded } from "./format.ts";

const LOGIT_TOLERANCE = 2e-5;

export function logitProblems(model: Model, golden: Golden): string[] {
  const rows = golden.input_ids.map((row, i) => unpadded(row, golden.attention_mask[i]!));
  const computed = noGrad(() =>
    tidy(() => logits(model, packSequences(rows)).toArray() as number[][]),
  );
  let at = 0;
  let worst = { difference: 0, place: "" };
  for (const [i, row] of golden.logits.entries())
    for (const [k, expected] of unpadded(row, golden.attention_mask[i]!).entries()) {
      const found = computed[at++]!;
      for (const [id, value] of expected!.entries()) {
        const difference = Math.abs(value - found[id]!);
        // A NaN is worse than any number.
        if (!(difference <= worst.difference))
          worst = { difference, place: `row ${i}, token ${k}, id ${id}` };
      }
    }
  return worst.difference <= LOGIT_TOLERANCE
    ? []
    : [`logits differ by ${worst.difference} at ${worst.place}`];
}

/** The 16 most likely next tokens one after the other, each from a full forward pass. */
export function greedyProblems(model: Model, golden: Golden): string[] {
  return golden.greedy_16.flatMap((expected, i) => {
    const ids = unpadded(golden.input_ids[i]!, golden.attention_mask[i]!);
    const found = expected.map(() => {
      const next = noGrad(() =>
        tidy(() =>
          logits(model, packSequences([ids]))
            .select(0, -1)
            .argmax()
            .item(),
        ),
      );
      ids.push(next);
      return next;
    });
    return String(found) === String(expected)
      ? []
      : [`row ${i} continues with ${found}, expected ${expected}`];
  });
}
