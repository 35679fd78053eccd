/**
 * @file TensorBoard event files, read back by a reader of their own (tests/monitoring/event-reader.ts).
 * That TensorBoard itself reads the same was checked with its Python package.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openTensorBoard, type StepMetrics } from "../../src/monitoring/index.ts";
import { crc32c } from "../../src/monitoring/tensorboard/crc32c.ts";
import { readEvents, slowCrc32c } from "./event-reader.ts";
import { anySteps, finiteOnly, temporaryFolder } from "./support.ts";

const now = () => 1_700_000_000_500;

function write(folder: string, steps: readonly StepMetrics[]): string {
  const board = openTensorBoard(folder, { now });
  for (const { step, metrics } of steps) board.log(step, metrics);
  board.close();
  return board.file;
}

/** What the file says, without its first event. */
function read(file: string): StepMetrics[] {
  return readEvents(readFileSync(file))
    .slice(1)
    .map(({ step, scalars }) => finiteOnly({ step: step!, metrics: scalars }));
}

const rounded = (steps: readonly StepMetrics[]) =>
  steps.map((step) => finiteOnly(step, Math.fround));

const THREE = [1, 2, 300].map((step) => ({ step, metrics: { "actor/pg_loss": step / 3, b: -1 } }));

describe("CRC-32C", () => {
  it("has the published values", () => {
    expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
  });

  it("is that of its definition", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => crc32c(bytes) === slowCrc32c(bytes)));
  });
});

describe("event files", () => {
  it("have what was logged, as float32", () => {
    const folder = temporaryFolder();
    let run = 0;
    fc.assert(
      fc.property(anySteps, (steps) => {
        expect(read(write(join(folder, String(run++)), steps))).toEqual(rounded(steps));
      }),
      { numRuns: 30 },
    );
  });

  it("begin with their version, and have the time in seconds", () => {
    const file = write(temporaryFolder(), THREE);
    expect(basename(file)).toContain("tfevents");
    const events = readEvents(readFileSync(file));
    expect(events[0]).toEqual({
      time: 1_700_000_000.5,
      step: undefined,
      version: "brain.Event:2",
      scalars: {},
    });
    expect(new Set(events.map(({ time }) => time))).toEqual(new Set([1_700_000_000.5]));
  });

  it("take steps beyond 32 bits", () => {
    const steps = [0, 127, 128, 2 ** 31, 2 ** 40 + 1].map((step) => ({ step, metrics: { a: 1 } }));
    const folder = temporaryFolder();
    expect(read(write(folder, steps))).toEqual(steps);
    const board = openTensorBoard(folder);
    expect(board.lastStep).toBe(2 ** 40 + 1);
    board.close();
  });

  it("go on after a crash at every byte as if the torn record had not been begun", () => {
    const folder = temporaryFolder();
    const file = write(folder, THREE.slice(0, 2));
    const { size: before } = statSync(file);
    write(folder, THREE.slice(2));
    const whole = readFileSync(file);
    for (let size = before; size < whole.length; size++) {
      writeFileSync(file, whole.subarray(0, size));
      const board = openTensorBoard(folder, { now });
      expect(board).toMatchObject({ repaired: size - before, lastStep: 2 });
      board.log(300, THREE[2]!.metrics);
      board.close();
      expect(readFileSync(file).equals(whole)).toBe(true);
    }
  });

  it("go on after a crash in the very first record", () => {
    const folder = temporaryFolder();
    const file = write(folder, []);
    const whole = readFileSync(file);
    for (let size = 0; size < whole.length; size++) {
      writeFileSync(file, whole.subarray(0, size));
      openTensorBoard(folder, { now }).close();
      expect(readFileSync(file).equals(whole)).toBe(true);
    }
  });

  it("forget the steps after a checkpoint", () => {
    const folder = temporaryFolder();
    let run = 0;
    fc.assert(
      fc.property(anySteps, fc.integer({ min: -1, max: 3000 }), (steps, last) => {
        const own = join(folder, String(run++));
        const file = write(own, steps);
        const board = openTensorBoard(own, { now });
        board.truncateAfter(last);
        const kept = steps.filter(({ step }) => step <= last);
        expect(board.lastStep).toBe(kept.at(-1)?.step);
        board.log(last + 1, { again: 1 });
        board.close();
        const again = { step: last + 1, metrics: { again: 1 } };
        expect(read(file)).toEqual([...rounded(kept), again]);
      }),
      { numRuns: 30 },
    );
  });

  it("refuse a step twice", () => {
    const board = openTensorBoard(temporaryFolder());
    board.log(1, {});
    expect(() => board.log(1, {})).toThrow(/step 1 comes after step 1/);
    board.close();
  });

  it("are not written over something else", () => {
    const folder = temporaryFolder();
    const file = write(folder, []);
    const other = "something else, and long enough to be no beginning of ours\n";
    writeFileSync(file, other);
    expect(() => openTensorBoard(folder)).toThrow(/is no TensorBoard event file/);
    expect(readFileSync(file, "utf8")).toBe(other);
  });
});
