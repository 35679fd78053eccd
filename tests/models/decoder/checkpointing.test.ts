/**
 * @file Segments that are computed again in backward: the same gradients, less memory.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import {
  type Model,
  newModel,
  packSequences,
  presetConfig,
  tokenOutputs,
} from "../../../src/models/index.ts";
import {
  clearGradients,
  Generator,
  memory,
  type Tensor,
  tensor,
  tidy,
} from "../../../src/torch/index.ts";
import { randomSequences } from "./support.ts";

/** The mean log-probability of every token after itself. */
function loss(model: Model, sequences: readonly number[][], layersPerSegment: number): Tensor {
  // In a scope of its own: what backward needs must outlive it.
  return tidy(() => {
    const ids = sequences.flat();
    const places = tensor(
      ids.map((_, i) => i),
      { dtype: "int64" },
    );
    const targets = tensor(ids, { dtype: "int64" });
    const options = { layersPerSegment, entropy: false };
    return tokenOutputs(model, packSequences(sequences), places, targets, options).logprobs.mean();
  });
}

const families = ["qwen2", "smollm3", "gemma3_text"] as const;

it.each(families)("gradients are the same bits, whatever the segments: %s", (family) => {
  const slidingWindows = [null, 8, null, 8, null, 8];
  const withoutRope = family === "smollm3" ? [1, 4] : [];
  const config = { ...presetConfig("tiny", { family }), layers: 6, slidingWindows, withoutRope };
  const model = newModel(config, new Generator(3));
  const sequences = randomSequences([80, 33, 1, 70], config.vocabularySize);
  const gradients = (layersPerSegment: number): Map<string, Tensor> => {
    tidy(() => loss(model, sequences, layersPerSegment).backward());
    const found = [...model.parameters].map(
      ([name, { grad }]) => [name, tidy(() => grad!.clone())] as const,
    );
    clearGradients(model.parameters);
    return new Map(found);
  };
  tidy(() => {
    const plain = gradients(0);
    for (const layers of [1, 2, 4, 6, 100])
      for (const [name, gradient] of gradients(layers))
        expect(gradient.eq(plain.get(name)!).all().item(), name).toBe(1);
  });
  model.dispose();
  expect(memory().tensors).toBe(0);
});

it("holds less between forward and backward", () => {
  const program = fileURLToPath(new URL("held.ts", import.meta.url));
  const output = execFileSync(process.execPath, ["--import", "tsx", program], {
    encoding: "utf8",
    // malloc then gives every activation back when it is freed, so that the process's size tells.
    env: { ...process.env, MALLOC_MMAP_THRESHOLD_: "65536" },
  });
  const [all, one, four] = JSON.parse(output) as [number, number, number];
  console.log(`held for backward: ${all} MB; by segments of 1: ${one}, of 4: ${four}`);
  expect(one).toBeLessThan(all / 5);
  expect(four).toBeLessThan(all / 5);
});
