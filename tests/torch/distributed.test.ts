/**
 * @file Process groups of four ranks on this machine: every operation gives what plain JavaScript
 * computes, whatever the size and dtype. The ranks run tests/torch/distributed/collectives.ts.
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type Run, runRanks, saidBy } from "./distributed/ranks.ts";

// Starting processes is slow on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const CHECKS = [
  "allReduce, odd sizes and dtypes",
  "allReduce, all reductions",
  "allReduce of bfloat16 adds in float32",
  "allReduce gives all ranks the same bits, every time",
  "allReduce of strided, empty and scalar tensors",
  "allReduce of a parameter",
  "broadcast, odd sizes and dtypes",
  "allGather, odd sizes and dtypes",
  "allGatherUneven",
  "reduceScatter, equal and own sizes",
  "reduceScatter sends half of what allReduce does",
  "operations that are only begun",
  "subgroups",
  "send and receive",
  "barrier",
  "objects",
  "wrong arguments are errors of this rank alone",
];

describe("four ranks", () => {
  let run: Run;
  beforeAll(async () => {
    run = await runRanks("collectives.ts");
  });

  it.each(CHECKS)("%s", (name) => {
    for (const rank of [0, 1, 2, 3]) {
      const said = saidBy<{ name: string; problem?: string }>(run, rank, "check");
      const check = said.find((one) => one.name === name);
      expect(check, `rank ${rank} did not come to it:\n${run.output}`).toBeDefined();
      expect(check?.problem, `on rank ${rank}`).toBeUndefined();
    }
  });

  it("all of them are looked at", () => {
    expect(saidBy<{ name: string }>(run, 0, "check").map((one) => one.name)).toEqual(CHECKS);
  });

  it("end well", () => {
    expect(run.error?.message, run.output).toBeUndefined();
    expect(saidBy(run, 1, "destroyed")).toEqual(["this process group was destroyed"]);
  });

  it("say what is wrong with an argument", () => {
    expect(saidBy<string[]>(run, 0, "wrong")[0]).toEqual([
      expect.stringContaining('expected "sum", "average"'),
      expect.stringMatching(/average of int64 .* convert to float32/),
      expect.stringMatching(/share one place in memory .* clone/),
      expect.stringContaining("no rank 4 in a world of 4"),
      expect.stringContaining("is this rank itself"),
      expect.stringContaining("give the size of each rank's part"),
      expect.stringContaining("sum 3 (of float32[3]), got 4 with the sum 4"),
      expect.stringContaining("at least one dimension"),
      expect.stringContaining("could not be cloned"),
    ]);
  });
});
