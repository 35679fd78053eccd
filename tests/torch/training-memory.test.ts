/**
 * @file Ten thousand training steps do not leak.
 */
import { expect, it } from "vitest";
import {
  adamw,
  asParameters,
  Generator,
  memory,
  randn,
  setThreads,
  type Tensor,
  tidy,
} from "../../src/torch/index.ts";
import { collectGarbage } from "./support/garbage.ts";

const STEPS = 10_000;
const WARM_UP_STEPS = 1_000;
const ALLOWED_MEGABYTES = 20;

/** V8 lets its young generation grow to some 30 MB while objects survive in it: not ours to count. */
function growYoungGeneration(): void {
  let alive: number[][] = [];
  for (let i = 0; i < 5_000_000; i++) {
    if (i % 400_000 === 0) alive = [];
    alive.push([i]);
  }
}

it(`${STEPS} steps of linear-tanh-linear with AdamW: live tensors unchanged, memory within ${ALLOWED_MEGABYTES} MB`, async () => {
  const generator = new Generator(1);
  const weight = (rows: number, columns: number) => randn([rows, columns], generator).mul(0.3);
  const parameters = asParameters(
    new Map<string, Tensor>([
      ["first.weight", weight(32, 8)],
      ["first.bias", weight(1, 32).view([32])],
      ["second.weight", weight(1, 32)],
    ]),
  );
  const optimizer = adamw(parameters, { lr: 1e-2 });
  const parameter = (name: string) => parameters.get(name)!;

  function step(): number {
    return tidy(() => {
      const x = randn([16, 8], generator);
      const target = x.square().sum(1, true);
      const hidden = x.linear(parameter("first.weight"), parameter("first.bias")).tanh();
      const loss = hidden.linear(parameter("second.weight")).meanSquaredError(target);
      loss.backward();
      optimizer.step();
      optimizer.clearGradients();
      return loss.item();
    });
  }

  // Tensors this small are faster on one thread.
  setThreads(1);
  const first = step();
  growYoungGeneration();
  for (let i = 0; i < WARM_UP_STEPS; i++) step();
  await collectGarbage();
  const before = { ...memory(), resident: process.memoryUsage.rss() };
  let last = 0;
  for (let i = 0; i < STEPS; i++) last = step();
  expect(memory()).toEqual({ tensors: before.tensors, bytes: before.bytes });
  await collectGarbage();
  const grown = (process.memoryUsage.rss() - before.resident) / 1e6;
  console.log(`resident memory after ${STEPS} training steps: ${grown.toFixed(1)} MB more`);
  expect(grown).toBeLessThan(ALLOWED_MEGABYTES);
  expect(last).toBeLessThan(first);
}, 180_000);
