/**
 * @file Processes end as they should whatever is alive, and threads do not disturb each other.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

function run(script: string, ...args: string[]) {
  const path = fileURLToPath(new URL(`support/${script}`, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", path, ...args], { timeout: 150_000 });
  const ended = { stdout: "", stderr: "" };
  child.stdout.on("data", (data) => {
    ended.stdout += data;
  });
  child.stderr.on("data", (data) => {
    ended.stderr += data;
  });
  return new Promise<{ code: number | null; signal: string | null } & typeof ended>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, ...ended }));
  });
}

describe.concurrent("a process with everything alive", () => {
  it.each<[string, number]>([
    ["normal", 0],
    ["exit", 3],
    ["exit inside tidy", 3],
    ["throw", 1],
    ["reject", 1],
    ["exit handler", 0],
  ])(
    "%s: exit code %i, no signal",
    async (way, wanted) => {
      const { code, signal, stdout, stderr } = await run("ending.ts", way);
      expect(stdout).toBe("ready\n");
      expect([signal, code]).toEqual([null, wanted]);
      if (wanted === 1) expect(stderr).toContain("nobody catches this");
      else expect(stderr).toBe("");
    },
    180_000,
  );
});

describe("threads", () => {
  it("have tensors of their own, end in every way, and free what they had", async () => {
    const { code, signal, stdout, stderr } = await run("threads.ts");
    expect([signal, code, stderr]).toEqual([null, 0, ""]);
    const { reports, rounds, leftInMain, kept, grownMegabytes } = JSON.parse(stdout);
    // The same seed trains to the same number in every thread, to the last bit.
    expect(new Set(reports.map((report: { result: number }) => report.result)).size).toBe(1);
    for (const { tensors, recording } of reports) {
      // The weight, its 0.1-fold, the tensor held.
      expect(tensors).toBeLessThanOrEqual(4);
      expect(recording).toBe(true);
    }
    expect(reports.map((report: { code: number }) => report.code)).toEqual([0, 0, 1, 1]);
    expect(rounds).toBeGreaterThan(0);
    expect([leftInMain, kept]).toEqual([0, 0]);
    console.log(`after four threads that held 200 MB each: ${grownMegabytes.toFixed(0)} MB more`);
    expect(grownMegabytes).toBeLessThan(150);
  }, 180_000);
});
