/**
 * @file What the tests of this room share.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { onTestFinished } from "vitest";
import type { Metrics, StepMetrics } from "../../src/monitoring/index.ts";

/** Removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "monitoring-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const name = fc.constantFrom(
  ...[
    "actor/pg_loss",
    "critic/rewards/max",
    "response_length/min",
    "timing_s/gen",
    "perf/mfu/actor",
  ],
  ...["val/größe", "episode/success_rate"],
);

/** -0 is left out: JSON has no other zero. */
const value = fc.double().map((number) => number + 0);

export const anyMetrics: fc.Arbitrary<Metrics> = fc.dictionary(name, value, {
  noNullPrototype: true,
});

/** Steps go up, not always by one. */
export const anySteps: fc.Arbitrary<StepMetrics[]> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 1000 }), anyMetrics), { minLength: 1, maxLength: 8 })
  .map((rows) => {
    let step = -1;
    return rows.map(([more, metrics]) => {
      step += more;
      return { step, metrics };
    });
  });

/** As JSON and float32 know no difference between numbers that are not finite, neither do we here. */
export function finiteOnly({ step, metrics }: StepMetrics, round = (x: number) => x): StepMetrics {
  const known = Object.entries(metrics).map(([key, number]) => {
    const rounded = round(number);
    return [key, Number.isFinite(rounded) ? rounded : Number.NaN] as const;
  });
  return { step, metrics: Object.fromEntries(known) };
}
