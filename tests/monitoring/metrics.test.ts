/**
 * @file Merging metrics, telling timings from the rest, several loggers as one, their names.
 */
import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceMetrics } from "../../src/algorithms/index.ts";
import {
  allLoggers,
  isTiming,
  type Metrics,
  type MetricsLogger,
  mergeMetrics,
  requireLoggerNames,
  withoutTimings,
} from "../../src/monitoring/index.ts";
import { anyMetrics } from "./support.ts";

describe("mergeMetrics", () => {
  it("is the algorithms' rule where all parts count the same", () => {
    fc.assert(
      fc.property(fc.array(anyMetrics, { maxLength: 6 }), (parts) => {
        const merged = mergeMetrics(parts.map((metrics) => ({ metrics })));
        expect(merged).toEqual(reduceMetrics(parts));
      }),
    );
  });

  it("of cut data is that of the whole", () => {
    const whole = (values: readonly number[]): Metrics => ({
      "reward/mean": values.reduce((sum, value) => sum + value, 0) / values.length,
      "reward/max": Math.max(...values),
      "reward/min": Math.min(...values),
    });
    const numbers = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 5 }), (parts) => {
        const merged = mergeMetrics(
          parts.map((values) => ({ metrics: whole(values), count: values.length })),
        );
        for (const [name, value] of Object.entries(whole(parts.flat())))
          expect(merged[name]).toBeCloseTo(value, 9);
      }),
    );
  });

  it("leaves out parts that counted nothing, and merges what only some have", () => {
    const merged = mergeMetrics([
      { metrics: { a: 1, "b/min": 5 }, count: 2 },
      { metrics: { a: 99, "b/min": 0 }, count: 0 },
      { metrics: { a: 4, c: 3 }, count: 1 },
    ]);
    expect(merged).toEqual({ a: 2, "b/min": 5, c: 3 });
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("refuses a count of %s", (count) => {
    expect(() => mergeMetrics([{ metrics: { a: 1 }, count }])).toThrow(/count is/);
  });
});

describe("timings", () => {
  it("are what the clock and the machine say, and nothing else", () => {
    const names = ["timing_s/gen", "timing_per_token_ms/gen", "perf/throughput", "actor/pg_loss"];
    expect(names.filter(isTiming)).toEqual(names.slice(0, 3));
    expect(withoutTimings({ "timing_s/step": 1, "perf/mfu/actor": 2, "val/time": 3 })).toEqual({
      "val/time": 3,
    });
  });
});

describe("allLoggers", () => {
  function recorder(fails = false): MetricsLogger & { calls: unknown[] } {
    const calls: unknown[] = [];
    const record = (...call: unknown[]) => {
      if (fails) throw new Error(`no ${call[0]}`);
      calls.push(call);
    };
    return {
      calls,
      log: (step, metrics) => record("log", step, metrics),
      close: () => record("close"),
    };
  }

  it("gives every logger everything, though one of them fails", () => {
    const [first, broken, last] = [recorder(), recorder(true), recorder()];
    const all = allLoggers(first, broken, last);
    expect(() => all.log(1, { a: 2 })).toThrow("no log");
    expect(() => all.close()).toThrow("no close");
    expect(last.calls).toEqual([["log", 1, { a: 2 }], ["close"]]);
    expect(first.calls).toEqual(last.calls);
  });

  it("names every reason where several fail", () => {
    const all = allLoggers(recorder(true), recorder(true));
    expect(() => all.log(7, {})).toThrow("logging step 7: no log; no log");
  });

  it("is flushed when all of them are", async () => {
    const flushed: string[] = [];
    const sending = (name: string, milliseconds: number): MetricsLogger => ({
      ...{ log: () => {}, close: () => {} },
      flush: async () => {
        await wait(milliseconds);
        flushed.push(name);
      },
    });
    const plain = { log: () => {}, close: () => {} };
    await allLoggers(sending("slow", 20), plain, sending("quick", 1)).flush!();
    expect(flushed).toEqual(["quick", "slow"]);
  });
});

describe("the names of loggers", () => {
  it("are those that there are, files, and those of verl", () => {
    const names = ["console", "mlflow", "wandb", "./mine.ts", "console", "file", "a/b.mjs"];
    const { offered, files, notOffered } = requireLoggerNames(names);
    expect(offered).toEqual(["console", "mlflow"]);
    expect(files).toEqual(["./mine.ts", "a/b.mjs"]);
    expect(notOffered).toEqual([
      expect.stringMatching(/^the logger wandb is not offered: .*a file of your own/),
      expect.stringMatching(/^the logger file is not offered: metrics.jsonl is written/),
    ]);
    expect(requireLoggerNames([])).toEqual({ offered: [], files: [], notOffered: [] });
  });

  it.each([
    ["wandbb", /no logger "wandbb"; did you mean "wandb"\?/],
    ["Console", /did you mean "console"\?/],
    ["tensorbord", /did you mean "tensorboard"\?/],
    ["constructor", /no logger "constructor"\. There are console, tensorboard, mlflow, and a file/],
    ["", /no logger ""/],
  ])("%j is none", (name, message) => {
    expect(() => requireLoggerNames(["console", name])).toThrow(message);
  });
});
