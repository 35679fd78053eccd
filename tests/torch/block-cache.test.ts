/**
 * @file What large tensors free is kept for the next ones, but not far beyond what was in use at once.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { full, returnFreedMemory, type Tensor, tidy } from "../../src/torch/index.ts";

const measurable = existsSync("/proc/self/clear_refs");
const MB = 2 ** 20;

function resident(field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return 1024 * Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]);
}

/** Written to, so that its pages are there. */
const megabytes = (count: number): Tensor => full([count * (MB / 4)], 1.5);

it.runIf(measurable)("freed memory is kept, and given back on request", () => {
  returnFreedMemory();
  const before = resident("VmRSS");
  megabytes(100).dispose();
  expect(resident("VmRSS") - before).toBeGreaterThan(90 * MB);
  const again = megabytes(100);
  expect(again.sum().item()).toBe(1.5 * 100 * (MB / 4));
  expect(resident("VmRSS") - before).toBeLessThan(115 * MB);
  again.dispose();
  returnFreedMemory();
  expect(resident("VmRSS") - before).toBeLessThan(15 * MB);
});

it.runIf(measurable)(
  "tensors of ever other sizes take a quarter more than the most at once",
  () => {
    returnFreedMemory();
    writeFileSync("/proc/self/clear_refs", "5"); // the peak starts from here
    const before = resident("VmRSS");
    let state = 1;
    const below = (limit: number) => {
      state = (state * 48271) % 2147483647;
      return state % limit;
    };
    const live: { tensor: Tensor; size: number; value: number }[] = [];
    let used = 0;
    let most = 0;
    for (let i = 0; i < 300; i++) {
      const size = 1 + below(40);
      while (used + size > 150) {
        const [gone] = live.splice(below(live.length), 1);
        // Nobody else has written to it.
        expect(tidy(() => gone!.tensor.eq(gone!.value).all().item())).toBeTruthy();
        gone!.tensor.dispose();
        used -= gone!.size;
      }
      live.push({ tensor: full([size * (MB / 4)], i), size, value: i });
      used += size;
      most = Math.max(most, used);
    }
    // And blocks are up to an eighth larger than what is asked for.
    expect(resident("VmHWM") - before).toBeLessThan(1.15 * 1.25 * most * MB + 15 * MB);
    for (const { tensor } of live) tensor.dispose();
    returnFreedMemory();
  },
);
