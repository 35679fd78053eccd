/**
 * @file A run that generates with copies of the weights in fewer bytes: the difference is measured, corrected, and
 * bounded.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../rollout/support.ts";
import { newTinyFolder, tinyRun } from "./support/runs.ts";

const parent = temporaryFolder();
const DIFFERENCE = "training/rollout_logprob_diff_max";

function metricsOf(run: string): Record<string, number>[] {
  return readFileSync(join(run, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, number>)
    .filter((line) => DIFFERENCE in line);
}

describe.each(["bfloat16", "int8"])("rollout.quantization=%s", (quantization) => {
  const words = [`actor_rollout_ref.rollout.quantization=${quantization}`];

  it.each([
    ["all weights", []],
    ["LoRA", ["actor_rollout_ref.model.lora_rank=4"]],
  ])("measures and corrects the difference: %s", { timeout: 120_000 }, async (name, own) => {
    const model = newTinyFolder(parent, `${quantization}-${name}`);
    const correction = ["algorithm.rollout_correction.rollout_is=token"];
    const { run } = await tinyRun(parent, model, [...words, ...correction, ...own]);
    const metrics = metricsOf(run);
    expect(metrics.length).toBeGreaterThan(0);
    for (const line of metrics) {
      // Rounding of short weights: seen, and small.
      expect(line[DIFFERENCE]).toBeGreaterThan(1e-5);
      expect(line[DIFFERENCE]).toBeLessThan(0.5);
      expect(Object.keys(line).some((key) => key.startsWith("rollout_corr/"))).toBe(true);
    }
  });
});

it("other names are refused", async () => {
  const model = newTinyFolder(parent, "fp8");
  await expect(
    tinyRun(parent, model, ["actor_rollout_ref.rollout.quantization=fp8"]),
  ).rejects.toThrow(/quantization/);
});
