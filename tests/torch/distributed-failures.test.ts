/**
 * @file Process groups that fail: whoever dies, hangs, leaves or calls something else is named by all
 * others, in time, and no process stays behind.
 */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { isRunning, type Run, runRanks, saidBy } from "./distributed/ranks.ts";
import type { Outcome } from "./distributed/worker.ts";

// Starting processes is slow on a busy machine; what must be fast is measured by the ranks.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const RANKS = [0, 1, 2, 3];

describe("a failure that leaves all processes alive", () => {
  let run: Run;
  beforeAll(async () => {
    run = await runRanks("failures.ts");
  });

  interface Case {
    name: string;
    reason: string;
    /** Who is to blame. */
    ranks: number[];
    /** Who gets an error; all unless told. */
    failing?: number[];
    message: RegExp;
  }

  const cases: Case[] = [
    {
      name: "a rank never calls",
      reason: "timeout",
      ranks: [3],
      message:
        /^allReduce #2 .*within 1\.5 s on rank [012]: rank 3 .* has not called it: its last operation, barrier #1, ended \d\.\d s ago/,
    },
    {
      name: "another shape",
      reason: "mismatch",
      ranks: [1],
      message: /rank 1 calls allReduce\(float32\[2, 4\], sum\), ranks 0, 2 and 3 call .*\[2, 3\]/,
    },
    {
      name: "another dtype",
      reason: "mismatch",
      ranks: [0],
      message: /rank 0 calls allGather\(int64\[2\]\), ranks 1, 2 and 3 call .*float32/,
    },
    {
      name: "another operation",
      reason: "mismatch",
      ranks: [2],
      message: /rank 2 calls broadcast\(float32\[3\], root 0\), ranks 0, 1 and 3 call allReduce/,
    },
    {
      name: "another reduction",
      reason: "mismatch",
      ranks: [3],
      message: /rank 3 calls allReduce\(float32\[3\], maximum\)/,
    },
    {
      name: "another root",
      reason: "mismatch",
      ranks: [1],
      message: /rank 1 calls broadcast\(float32\[3\], root 2\)/,
    },
    {
      name: "two and two",
      reason: "mismatch",
      ranks: RANKS,
      message: /ranks 2 and 3 call allGatherUneven\(float32\[3\]\), ranks 0 and 1 call barrier\(\)/,
    },
    {
      name: "nobody sends",
      reason: "timeout",
      ranks: [2],
      message:
        /receive from rank 2 \(tag 4\) did not end .* rank 2 .* has not called the other side/,
    },
    {
      name: "received into another shape",
      reason: "mismatch",
      ranks: [0, 3],
      message: /rank 0 calls send\(float32\[4\]\), rank 3 receives into float32\[3\]/,
    },
    {
      name: "a rank leaves",
      reason: "left",
      ranks: [2],
      failing: [0, 1, 3],
      message: /^allReduce #2 failed: rank 2 has left the group after its collective #1$/,
    },
  ];

  it.each(cases)("$name", ({ name, reason, ranks, failing = RANKS, message }) => {
    for (const rank of failing) {
      const said = saidBy<{ name: string; outcome: Outcome; again: Outcome }>(run, rank, "failure");
      const found = said.find((one) => one.name === name);
      expect(found, `rank ${rank} did not come to it:\n${run.output}`).toBeDefined();
      expect(found?.outcome).toMatchObject({ ok: false, reason, ranks });
      expect(found?.outcome.message).toMatch(message);
      expect(found?.outcome.milliseconds).toBeLessThan(6000);
      // The group stays unusable, and says why.
      expect(found?.again).toMatchObject({ ok: false, reason, ranks });
      expect(found?.again.message).toContain("cannot be used any more");
    }
  });

  it("does not harm the next group on the same port", () => {
    for (const rank of RANKS) expect(saidBy(run, rank, "sum"), run.output).toEqual([6]);
    expect(run.error).toBeUndefined();
  });
});

describe("a rank that ends in the middle of a collective", () => {
  let started: number[] = [];
  afterEach(() => {
    expect(started).not.toEqual([]);
    expect(started.filter(isRunning)).toEqual([]);
    started = [];
  });

  /** Starts ranks, one of which ends in some way, or by a signal as soon as all are busy. */
  async function run(way: string, victim: number, processes = 4): Promise<Run> {
    let busy = 0;
    const numbers = new Map<number, number>();
    const result = await runRanks("deaths.ts", {
      processes,
      arguments: [way, `${victim}`],
      onSaying: ({ rank, about, value }) => {
        if (about === "process") numbers.set(rank, value as number);
        if (about === "busy") busy++;
        if (about === "busy" && busy === processes && way.startsWith("SIG"))
          setTimeout(() => process.kill(numbers.get(victim)!, way as NodeJS.Signals), 50);
      },
    });
    started = [...numbers.values()];
    return result;
  }

  function expectBlame(result: Run, victim: number, reason: string, message: RegExp): void {
    for (const { rank } of result.results.filter((one) => one.rank !== victim)) {
      const [outcome] = saidBy<Outcome>(result, rank, "outcome");
      expect(outcome, `rank ${rank} said nothing:\n${result.output}`).toBeDefined();
      expect(outcome).toMatchObject({ ok: false, reason, ranks: [victim] });
      expect(outcome?.message).toMatch(message);
      // Far below the timeout of 20 s: a closed connection is noticed at once.
      expect(outcome?.milliseconds).toBeLessThan(10_000);
      expect(result.results[rank]).toMatchObject({ exitCode: 0, stopped: false });
    }
  }

  it("killed: the others name it", async () => {
    const result = await run("SIGKILL", 2);
    expectBlame(result, 2, "died", /^allReduce #\d+ failed: rank 2 \(process \d+ on .*\) died/);
    expect(result.error?.message).toMatch(/^rank 2 of 4 failed first \(ended by SIGKILL\)/);
  });

  it("killed, and it is rank 0, where the ranks meet", async () => {
    const result = await run("SIGKILL", 0);
    expectBlame(result, 0, "died", /^allReduce #\d+ failed: rank 0 died: its connection at 127/);
  });

  it("by an uncaught exception", async () => {
    const result = await run("throw", 1, 2);
    expectBlame(result, 1, "left", /^allReduce #7 failed: rank 1 has ended with exit code 1 after/);
    expect(result.error?.message).toContain("a bug of this rank");
    expect(result.results[1]?.exitCode).toBe(1);
  });

  it("by process.exit, and it is rank 0", async () => {
    const result = await run("exit", 0, 3);
    expectBlame(result, 0, "left", /^allReduce #7 failed: rank 0 has ended with exit code 7 after/);
    expect(result.results[0]?.exitCode).toBe(7);
  });

  it("by running out of code", async () => {
    const result = await run("end", 1, 2);
    expectBlame(result, 1, "left", /^allReduce #7 failed: rank 1 has ended with exit code 0 after/);
    expect(result.error).toBeUndefined();
  });
});
