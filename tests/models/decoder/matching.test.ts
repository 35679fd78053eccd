/**
 * @file Attention that begins by matching: before any training a token looks at tokens like itself, and
 * what it sees is passed on.
 */
import { join } from "node:path";
import { expect, it } from "vitest";
import { initModelFolder, loadModel, presetConfig } from "../../../src/models/index.ts";
import { memory, type Tensor, tidy } from "../../../src/torch/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";

const texts = ["the cup is on the table, the key is in the drawer. ".repeat(20)];

/** Rows of a matrix. */
function rows(tensor: Tensor): number[][] {
  const [count, width] = tensor.shape as [number, number];
  const numbers = tidy(() => [...tensor.detach().toNumbers()]);
  return Array.from({ length: count }, (_, i) => numbers.slice(i * width, (i + 1) * width));
}
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0);
const times = (matrix: readonly number[][], x: readonly number[]) =>
  matrix.map((row) => dot(row, x));

it.each([
  ["a head's own keys", "mini"],
  ["keys that heads share", "tiny"],
] as const)("%s", (_, preset) => {
  const folder = join(temporaryFolder(), "model");
  const config = presetConfig(preset);
  initModelFolder(folder, { config, texts, vocabularySize: 300, seed: 3, matching: true });
  const model = loadModel(folder);
  const { heads, keyValueHeads, headDimension: size } = model.config;
  const joined = rows(model.layer(1, "self_attn.qkv_proj.weight")!);
  const output = rows(model.layer(1, "self_attn.o_proj.weight")!);
  // Any directions will do; the norm before attention makes their lengths equal.
  const tokens = rows(model.layer(0, "self_attn.qkv_proj.weight")!)
    .slice(0, 40)
    .map((row) => row.map((value) => value / Math.sqrt(dot(row, row))));
  let [looked, passedOn] = [0, 0];
  const queries = joined.slice(0, size);
  const keys = joined.slice(heads * size, (heads + 1) * size);
  const values = joined.slice((heads + keyValueHeads) * size);
  for (const [i, token] of tokens.entries()) {
    const query = times(queries, token);
    const scores = tokens.map((other) => dot(query, times(keys, other)));
    if (scores.indexOf(Math.max(...scores)) === i) looked++;
    // All heads look at it: what comes out points to where it came from.
    const shared = heads / keyValueHeads;
    const seen = times(values, token);
    const mixed = Array.from({ length: heads * size }, (_, place) => {
      const head = Math.floor(place / size);
      return seen[Math.floor(head / shared) * size + (place % size)]!;
    });
    const passed = times(output, mixed);
    const likeness = tokens.map((other) => dot(passed, other));
    if (likeness.indexOf(Math.max(...likeness)) === i) passedOn++;
  }
  // Of 40; by chance it would be 1.
  expect(looked).toBeGreaterThan(30);
  expect(passedOn).toBeGreaterThan(38);
  model.dispose();
  expect(memory().tensors).toBe(0);
});
