/**
 * @file Checkpointed segments really save memory: the resident set of a deep chain with and without.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  checkpoint,
  Generator,
  randn,
  returnFreedMemory,
  type Tensor,
  tidy,
} from "../../src/torch/index.ts";

const MEBIBYTES = 34;
const WIDTH = (MEBIBYTES * 2 ** 20) / 4;
const SEGMENTS = 3;
const OPERATORS = 3; // per segment, each keeping one activation

const residentMegabytes = () => {
  returnFreedMemory(); // else the resident set has what is no longer held
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))![1]) / 1024;
};

function segment(x: Tensor): Tensor {
  let h = x;
  for (let i = 0; i < OPERATORS; i++) h = h.tanh();
  return h;
}

/** Megabytes that the graph holds between forward and backward, and the gradient's sum. */
function run(step: (x: Tensor) => Tensor): { held: number; gradient: number } {
  return tidy(() => {
    const x = randn([WIDTH], new Generator(1)).requiresGrad_();
    const start = residentMegabytes();
    let h: Tensor = x;
    for (let i = 0; i < SEGMENTS; i++) {
      const input = h;
      h = tidy(() => step(input));
    }
    const loss = h.sum();
    const held = residentMegabytes() - start;
    loss.backward();
    return { held, gradient: x.grad!.sum().item() };
  });
}

it("a chain of segments holds its boundaries instead of everything", () => {
  const all = run(segment);
  const few = run((x) => checkpoint((input) => segment(input!), [x]));
  console.log(
    `graph of ${SEGMENTS * OPERATORS} activations of ${MEBIBYTES} MiB: ${all.held.toFixed(0)} MiB, ` +
      `checkpointed ${few.held.toFixed(0)} MiB`,
  );
  expect(few.gradient).toBe(all.gradient);
  expect(all.held).toBeGreaterThan((SEGMENTS * OPERATORS - 0.5) * MEBIBYTES);
  expect(few.held).toBeLessThan((SEGMENTS + 0.5) * MEBIBYTES);
});
