/**
 * @file What the fused operators must not do: hold scores or logits. Peak resident memory, in a
 * process of its own (vitest gives each file one), at the shapes of the engine's contract.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  arange,
  attention,
  grad,
  noGrad,
  randint,
  returnFreedMemory,
  stock,
  type Tensor,
  tidy,
  tokenLogprob,
} from "../../src/torch/index.ts";
import { Samples } from "./support/twins.ts";

const MB = 2 ** 20;

function status(field: string): number {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(
    readFileSync("/proc/self/status", "utf8"),
  )!;
  return Number(kilobytes) * 1024;
}

/** How far the peak rises above the beginning, and how much of that is still there at the end. */
function rise(body: () => Tensor[]): { peak: number; kept: number } {
  returnFreedMemory();
  writeFileSync("/proc/self/clear_refs", "5"); // the peak starts from here
  const before = status("VmRSS");
  const results = body();
  const peak = status("VmHWM") - before;
  returnFreedMemory();
  const rises = { peak, kept: status("VmRSS") - before };
  for (const result of results) result.dispose();
  return rises;
}

const measurable = existsSync("/proc/self/clear_refs");

it.runIf(measurable)("attention takes less than a tenth of its twin's extra memory", () => {
  const [sequences, length] = [16, 512];
  const samples = new Samples();
  const [q, k, v] = [8, 4, 4].map((heads) => samples.leaf([sequences * length, heads, 32])) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  const boundaries = arange(0, sequences * length + 1, length);
  const run = (operation: typeof attention) => () =>
    tidy(() => grad(operation(q, k, v, boundaries).sum(), [q, k, v]) as Tensor[]);
  const fused = rise(run(attention));
  const twin = rise(run(stock.attention));
  expect(fused.peak).toBeLessThan(twin.peak / 10);
});

it.runIf(measurable)("token log-probabilities: 64 MB of scratch, logits up to 192 MB", () => {
  const samples = new Samples();
  for (const [tokens, hidden, vocab, dtype] of [
    [8192, 256, 4096, "float32"],
    [8192, 64, 8192, "float32"],
    [600, 64, 151_936, "float32"],
    [600, 64, 151_936, "bfloat16"],
    [4096, 2048, 300, "bfloat16"],
  ] as const) {
    const h = samples.leaf([tokens, hidden], dtype, 0.1);
    const w = samples.leaf([vocab, hidden], dtype);
    const targets = randint(0, vocab, [tokens], samples.generator);
    const results = rise(() =>
      tidy(() => {
        const { logprob, entropy } = tokenLogprob(h, w, targets);
        return grad(logprob.sum().add(entropy.sum()), [h, w]) as Tensor[];
      }),
    );
    const logits = tokens * vocab * 4;
    const extra = 64 * MB + (logits < 192 * MB ? 1.1 * logits : 0);
    expect(results.peak).toBeLessThan(results.kept + extra);
    const gradients = (tokens + vocab) * hidden * (dtype === "float32" ? 4 : 2);
    expect(results.peak).toBeLessThan(gradients + extra);
    for (const input of [h, w, targets]) input.dispose();
  }
});

it.runIf(measurable)("what needs no gradient saves nothing", () => {
  const samples = new Samples();
  const q = samples.leaf([4096, 8, 32]);
  const boundaries = arange(0, 4097, 512);
  const { peak } = rise(() => tidy(() => [noGrad(() => attention(q, q, q, boundaries))]));
  expect(peak).toBeLessThan(q.byteLength + 8 * MB);
});
