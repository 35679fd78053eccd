/**
 * @file The quickstart from end to end, with small numbers: what it leaves and says, that nothing is done
 * twice, and that a stopped run goes on.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { readMetrics } from "../../src/monitoring/index.ts";
import { type RunningProcess, startScript } from "../training/support/processes.ts";

const SMALL_START = fileURLToPath(new URL("./support/small-start.ts", import.meta.url));
const parent = mkdtempSync(join(tmpdir(), "openmanus-start-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** The command; whatever becomes of the test, it does not outlive it. */
function started(words: readonly string[], onLine?: (line: string) => void): RunningProcess {
  const running = startScript(SMALL_START, words, onLine);
  onTestFinished(() => void running.child.kill("SIGKILL"));
  return running;
}

const steps = (root: string) => readMetrics(join(root, "metrics.jsonl")).map(({ step }) => step);

/** When each file of the finished steps was written; the report is made anew each time. */
function written(root: string): Record<string, number> {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => /^(model|warm|checkpoints)\//.test(name))
    .filter((name) => statSync(join(root, name)).isFile());
  return Object.fromEntries(names.map((name) => [name, statSync(join(root, name)).mtimeMs]));
}

/** The success rates that were printed, with their intervals. */
const rates = (lines: readonly string[]) =>
  lines.filter((line) => /^after /.test(line) && /%: [\d.]+ to [\d.]+\)$/.test(line));

// Each test goes on in the folder that the one before it left, as a user would.
describe("the quickstart", () => {
  const root = join(parent, "quickstart");
  /** Iterations of the run that was stopped. */
  let done: number;
  let finished: string[];

  it("makes a model, warms it up, plays; SIGTERM finishes the iteration, saves, exits 130", async () => {
    let sent = false;
    const run = started(["--folder", root, "trainer.total_epochs=500"], (line) => {
      if (sent || !/^step +1\/500/.test(line)) return;
      sent = true;
      run.child.kill("SIGTERM");
    });
    expect(await run.ended, run.lines.join("\n")).toBe(130);
    const text = run.lines.join("\n");
    expect(text).toMatch(
      /a new model of 0\.1 million random parameters, and a tokenizer of \d+ to/,
    );
    expect(text).toMatch(/warm start on \d+ sequences/);
    expect(text).toMatch(/before: +[\d.]+ % {2}\(95 %: [\d.]+ to [\d.]+\) in unseen rooms/);
    expect(text).toMatch(/training with gigpo, 500 iterations of 2 tasks × 2 episodes/);
    expect(text).toMatch(/finishing the iteration, then saving/);
    expect(text).toMatch(/the same command goes on from here/);
    for (const model of ["model", "warm"])
      expect(existsSync(join(root, model, "config.json"))).toBe(true);
    done = steps(root).length;
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(500);
  });

  it("goes on where it was stopped, and says how it was before and after", async () => {
    const run = started(["--folder", root, `trainer.total_epochs=${done + 1}`]);
    expect(await run.ended, run.lines.join("\n")).toBe(0);
    const text = run.lines.join("\n");
    expect(text).toContain(`going on after iteration ${done} `);
    expect(steps(root)).toHaveLength(done + 1);
    expect(text).toMatch(/success in 4 unseen rooms/);
    finished = rates(run.lines);
    expect(finished.map((line) => line.slice(0, 16))).toEqual([
      "after warm start",
      "after training  ",
    ]);
    const report = /^report +(\S+)$/m.exec(text)?.[1];
    expect(report).toBe(join(root, "report.html"));
    expect(existsSync(report!)).toBe(true);
  });

  it("does nothing again that is done", async () => {
    const before = written(root);
    expect(Object.keys(before)).not.toEqual([]);
    const run = started(["--folder", root, `trainer.total_epochs=${done + 1}`]);
    expect(await run.ended, run.lines.join("\n")).toBe(0);
    expect(run.lines.join("\n")).toMatch(/the new model is there already/);
    expect(run.lines.join("\n")).toMatch(/the warm start is there already/);
    expect(rates(run.lines)).toEqual(finished);
    expect(written(root)).toEqual(before);
    expect(steps(root)).toHaveLength(done + 1);
  });

  it("--again begins anew, and leaves alone what is not the quickstart's", async () => {
    writeFileSync(join(root, "notes.txt"), "mine");
    const run = started(["--folder", root, "--again"]);
    expect(await run.ended, run.lines.join("\n")).toBe(0);
    expect(run.lines.join("\n")).toMatch(/a new model/);
    expect(steps(root)).toEqual([1, 2]);
    expect(existsSync(join(root, "notes.txt"))).toBe(true);
  });
});
