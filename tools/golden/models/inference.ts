/**
 * @file Logits and greedy continuations against transformers', by the packed training path and by the
 * cached generation path.
 */
import { PagePool } from "../../../src/generation/cache/pages.ts";
import { CachedSequence } from "../../../src/generation/cache/sequence.ts";
import { newCacheStore, PAGE_SIZE } from "../../../src/generation/cache/store.ts";
import { createEngine } from "../../../src/generation/index.ts";
import { forwardStep, rotaryTable } from "../../../src/generation/step.ts";
import { logits, type Model, packSequences } from "../../../src/models/index.ts";
import { noGrad, tidy } from "../../../src/torch/index.ts";
import { type Golden, unpadded } from "./format.ts";

const LOGIT_TOLERANCE = 2e-5;

function rowsOf(golden: Golden): number[][] {
  return golden.input_ids.map((row, i) => unpadded(row, golden.attention_mask[i]!));
}

export function logitProblems(model: Model, golden: Golden): string[] {
  const rows = rowsOf(golden);
  const computed = noGrad(() =>
    tidy(() => logits(model, packSequences(rows)).toArray() as number[][]),
  );
  return compareLogits(computed, golden);
}

/** Token by token, all rows at once, each token meeting the earlier ones in the cache. */
export function cachedLogitProblems(model: Model, golden: Golden): string[] {
  const rows = rowsOf(golden);
  const pages = rows.reduce((sum, row) => sum + Math.ceil(row.length / PAGE_SIZE), 0);
  const pool = new PagePool(pages, PAGE_SIZE);
  const cache = newCacheStore(model.config, pages);
  const table = rotaryTable(model);
  const work = rows.map((ids) => {
    const sequence = new CachedSequence(pool);
    sequence.setTokens(ids);
    sequence.reserve(ids.length);
    return { sequence, tokens: 1, found: [] as number[][] };
  });
  for (;;) {
    const left = work.filter(({ sequence }) => sequence.computed < sequence.ids.length);
    if (left.length === 0) break;
    const wanted = left.map((_, i) => i);
    tidy(() => {
      const step = forwardStep(model, cache, table, left, wanted)!.toArray() as number[][];
      for (const [i, { found }] of left.entries()) found.push(step[i]!);
    });
  }
  cache.dispose();
  table.dispose();
  return compareLogits(
    work.flatMap(({ found }) => found),
    golden,
  );
}

/** `computed` has the rows' tokens one after the other. */
function compareLogits(computed: readonly number[][], golden: Golden): string[] {
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
  const continued = golden.greedy_16.map((expected, i) => {
    const ids = rowsOf(golden)[i]!;
    return expected.map(() => {
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
  });
  return compareContinuations(continued, golden);
}

/** The same through the generation engine, all rows at once. */
export async function cachedGreedyProblems(model: Model, golden: Golden): Promise<string[]> {
  const engine = createEngine(model, { cacheBytes: 2 ** 24 });
  const answers = await Promise.all(
    rowsOf(golden).map((prompt, i) =>
      engine.generate({
        prompt,
        seed: i,
        // Past any end of text, as the numbers were made.
        sampling: { temperature: 0, maximumTokens: golden.greedy_16[i]!.length, stopTokens: [] },
      }),
    ),
  );
  await engine.close();
  return compareContinuations(
    answers.map(({ ids }) => ids),
    golden,
  );
}

function compareContinuations(found: readonly number[][], golden: Golden): string[] {
  return golden.greedy_16.flatMap((expected, i) =>
    String(found[i]) === String(expected)
      ? []
      : [`row ${i} continues with ${found[i]}, expected ${expected}`],
  );
}
