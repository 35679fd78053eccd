/**
 * @file Loading must not hold file and tensors at once: peak memory beside what was loaded.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSafetensors } from "../../../src/models/safetensors/file.ts";
import { writeSafetensors } from "../../../src/models/safetensors/writer.ts";
import {
  type Dtype,
  dispose,
  ones,
  returnFreedMemory,
  type Tensor,
  tidy,
} from "../../../src/torch/index.ts";
import { temporaryFolder } from "../files.ts";

const RESET_PEAK = "/proc/self/clear_refs";

/** Resident bytes of the process: now, and at most since the last reset. */
function resident(): { now: number; peak: number } {
  const status = readFileSync("/proc/self/status", "utf8");
  const read = (key: string): number =>
    Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)![1]) * 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

it.skipIf(!existsSync(RESET_PEAK))("peak memory is at most 1.3 times the loaded size", () => {
  const path = join(temporaryFolder(), "model.safetensors");
  const megabytes = 128;
  tidy(() => {
    const weight = ones([megabytes / 8, 2 ** 22], { dtype: "bfloat16" });
    writeSafetensors(
      path,
      weight.unbind(0).map((row, i) => [`layer ${i}`, row]),
    );
  });
  const peakOf = (dtype: Dtype, copy: boolean): number => {
    const file = openSafetensors(path);
    const loaded: Tensor[] = [];
    returnFreedMemory();
    writeFileSync(RESET_PEAK, "5");
    const before = resident().now;
    for (const name of file.tensors.keys()) {
      const tensor = file.load(name, { dtype, copy });
      // Touches every page.
      tidy(() => {
        tensor.sum();
      });
      loaded.push(tensor);
    }
    const size = loaded.reduce((sum, tensor) => sum + tensor.byteLength, 0);
    const ratio = (resident().peak - before) / size;
    dispose(loaded);
    file.close();
    return ratio;
  };
  expect(peakOf("bfloat16", false)).toBeLessThan(1.3);
  expect(peakOf("bfloat16", true)).toBeLessThan(1.3);
  expect(peakOf("float32", false)).toBeLessThan(1.3);
});
