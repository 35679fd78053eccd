/**
 * @file Where a run's time went.
 */
import { expect, it } from "vitest";
import { phaseTimes } from "../../src/evaluation/index.ts";

const metricsOf = (metrics: Record<string, number>, step = 1) => ({ step, metrics });

it("gives means and shares of phases, the longest first, and what is left", () => {
  const found = phaseTimes([
    metricsOf({ "val/success_rate": 0.5 }, 0),
    metricsOf({ "timing_s/gen": 2, "timing_s/update_actor": 3, "timing_s/step": 6 }),
    metricsOf({
      ...{ "timing_s/gen": 2, "timing_s/update_actor": 5, "timing_s/step": 10 },
      // A part of another phase, another figure, and what comes after the iteration.
      ...{
        "timing_s/agent_loop/generate_sequences": 1,
        "perf/x": 7,
        "timing_s/save_checkpoint": 9,
      },
    }),
  ]);
  expect(found).toEqual([
    { name: "update_actor", seconds: 4, share: 0.5 },
    { name: "gen", seconds: 2, share: 0.25 },
    { name: "other", seconds: 2, share: 0.25 },
  ]);
});

it("says nothing of a run without iterations", () => {
  expect(phaseTimes([])).toEqual([]);
  expect(phaseTimes([metricsOf({ "val/success_rate": 1 }, 0)])).toEqual([]);
});
