/**
 * @file metrics.jsonl: written and read back, torn, cut back, refused.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openMetrics, readMetrics, type StepMetrics } from "../../src/monitoring/index.ts";
import { anySteps, finiteOnly, temporaryFolder } from "./support.ts";

function write(file: string, steps: readonly StepMetrics[]): void {
  const metrics = openMetrics(file);
  for (const { step, metrics: values } of steps) metrics.log(step, values);
  metrics.close();
}

const THREE = [1, 2, 5].map((step) => ({ step, metrics: { "actor/pg_loss": step / 3 } }));

describe("metrics.jsonl", () => {
  it("gives back what was logged, bit by bit; what is not finite as NaN", () => {
    const folder = temporaryFolder();
    let run = 0;
    fc.assert(
      fc.property(anySteps, (steps) => {
        const file = join(folder, String(run++), "metrics.jsonl");
        write(file, steps);
        expect(readMetrics(file)).toEqual(steps.map((step) => finiteOnly(step)));
      }),
      { numRuns: 50 },
    );
  });

  it("has a line per step that other tools can read", () => {
    const file = join(temporaryFolder(), "metrics.jsonl");
    write(file, [{ step: 3, metrics: { "val/loss": Number.NaN, b: 0.5 } }]);
    expect(readFileSync(file, "utf8")).toBe('{"step":3,"val/loss":null,"b":0.5}\n');
  });

  it("goes on after a crash at every byte as if the torn line had not been begun", () => {
    const file = join(temporaryFolder(), "metrics.jsonl");
    write(file, THREE);
    const whole = readFileSync(file);
    const before = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let size = before; size < whole.length; size++) {
      writeFileSync(file, whole.subarray(0, size));
      expect(readMetrics(file)).toEqual(THREE.slice(0, 2));
      const metrics = openMetrics(file);
      expect(metrics).toMatchObject({ repaired: size - before, lastStep: 2 });
      metrics.log(5, THREE[2]!.metrics);
      metrics.close();
      expect(readFileSync(file).equals(whole)).toBe(true);
    }
  });

  it("forgets the steps after a checkpoint", () => {
    const folder = temporaryFolder();
    let run = 0;
    fc.assert(
      fc.property(anySteps, fc.integer({ min: -1, max: 3000 }), (steps, last) => {
        const file = join(folder, String(run++));
        write(file, steps);
        const metrics = openMetrics(file);
        metrics.truncateAfter(last);
        const kept = steps.filter(({ step }) => step <= last);
        expect(metrics.lastStep).toBe(kept.at(-1)?.step);
        metrics.log(last + 1, { again: 1 });
        metrics.close();
        const again = { step: last + 1, metrics: { again: 1 } };
        expect(readMetrics(file)).toEqual([...kept.map((step) => finiteOnly(step)), again]);
      }),
      { numRuns: 50 },
    );
  });

  it("of an interrupted run is that of one that was not", () => {
    const folder = temporaryFolder();
    const [straight, resumed] = [join(folder, "a"), join(folder, "b")];
    write(straight, THREE);
    write(resumed, THREE.slice(0, 2));
    appendFileSync(resumed, '{"step":5,"ac');
    const metrics = openMetrics(resumed);
    metrics.truncateAfter(1);
    for (const { step, metrics: values } of THREE.slice(1)) metrics.log(step, values);
    metrics.close();
    expect(readFileSync(resumed).equals(readFileSync(straight))).toBe(true);
  });

  it.each([
    ["a step twice", 5, {}, /step 5 comes after step 5.*truncateAfter/],
    ["a step before the last", 4, {}, /step 4 comes after step 5/],
    ["half a step", 5.5, {}, /expected a whole number/],
    ["a metric called step", 6, { step: 1 }, /cannot have the name "step"/],
    ["no number", 6, { a: "1" as unknown as number }, /a is string, expected a number/],
  ])("refuses %s, and stays as it was", (_, step, values, message) => {
    const file = join(temporaryFolder(), "metrics.jsonl");
    write(file, THREE);
    const { size } = statSync(file);
    const metrics = openMetrics(file);
    expect(() => metrics.log(step, values)).toThrow(message);
    metrics.close();
    expect(statSync(file).size).toBe(size);
    expect(() => metrics.log(6, {})).toThrow(/was closed/);
  });

  it.each([
    ["other text", "hello\n", /no JSON.*is this a metrics file/],
    ["other JSON", '{"a":1}\n', /"step"/],
    ["null", "null\n", /"step"/],
    ["a text for a number", '{"step":1,"a":"x"}\n', /"a" to be a number or null/],
  ])("refuses %s with the file's name, and does not touch it", (_, text, message) => {
    const file = join(temporaryFolder(), "metrics.jsonl");
    writeFileSync(file, text);
    for (const read of [() => readMetrics(file), () => openMetrics(file)]) {
      expect(read).toThrow(message);
      expect(read).toThrow(file);
    }
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("says where it cannot write", () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    expect(() => openMetrics(join(file, "metrics.jsonl"))).toThrow(/cannot be opened for writing/);
  });

  it("takes half a line back when the disk is full", () => {
    const file = join(temporaryFolder(), "metrics.jsonl");
    const door = new URL("../../src/monitoring/json-lines.ts", import.meta.url).href;
    const script = `
      const { openMetrics } = await import(${JSON.stringify(door)});
      const metrics = openMetrics(${JSON.stringify(file)});
      metrics.log(1, { a: 1 });
      const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => ["metric/" + i, i]));
      try { metrics.log(2, many); } catch (error) { console.log(error.message); }
      metrics.log(3, { a: 3 });`;
    // A limit on the size of files (1 KiB) is a full disk that needs no privileges.
    const { stdout, stderr } = spawnSync(
      "bash",
      [
        ...["-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "bash"],
        ...[process.execPath, "--import", "tsx", "--input-type=module", "-e", script],
      ],
      {
        encoding: "utf8",
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
        // tsx writes what it compiled to a file that would be too large as well.
        env: { ...process.env, TSX_DISABLE_CACHE: "1" },
      },
    );
    expect(stdout, stderr).toMatch(/cannot be written, because .*What was written before is whole/);
    expect(readMetrics(file).map(({ step }) => step)).toEqual([1, 3]);
  });
});
