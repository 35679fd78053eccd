/**
 * @file Models on a device that is not the CPU (native/standin): transformers' numbers, and the CPU's.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import {
  addLora,
  loadModel,
  logits,
  type Model,
  openSafetensors,
  packSequences,
  saveModel,
  separate,
  tokenOutputs,
  valueModelFrom,
  values,
} from "../../src/models/index.ts";
import { adamw, Generator, noGrad, type Tensor, tensor, tidy } from "../../src/torch/index.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin } from "../support/standin.ts";
import { temporaryFolder } from "./files.ts";

const FOLDER = fileURLToPath(new URL("golden", import.meta.url));
const FAMILIES = readdirSync(FOLDER);

interface Expected {
  rows: number[][];
  logits: number[][][];
  loss: number;
  logprobs: number[];
  adamw: { lr: number; betas: [number, number]; eps: number; weight_decay: number };
}

beforeAll(async () => {
  await loadStandin();
}, BUILD_TIMEOUT);

/** The largest difference, wherever both are. */
function difference(a: Tensor, b: Tensor): number {
  const [one, other] = [a.toNumbers(), b.toNumbers()];
  expect(one.length).toBe(other.length);
  return one.reduce((most, value, i) => Math.max(most, Math.abs(value - other[i]!)), 0);
}

/** −log p of all tokens but the first of each row. */
function logprobsOf(
  model: Model,
  rows: readonly number[][],
  options: { layersPerSegment?: number; allowed?: ReadonlyMap<number, number[]> } = {},
  sharePrefixes = false,
) {
  const { device } = model;
  const packed = packSequences(rows, { device, sharePrefixes });
  const places = rows.flatMap((row, i) => row.slice(1).map((_, k) => packed.places[i]![k]!));
  const targets = rows.flatMap((row) => row.slice(1));
  const ids = (list: number[]) => tensor(list, { dtype: "int64", device });
  return tokenOutputs(model, packed, ids(places), ids(targets), options);
}

describe.each(FAMILIES)("%s on a device", (family) => {
  const expected = JSON.parse(
    readFileSync(join(FOLDER, family, "expected.json"), "utf8"),
  ) as Expected;
  const open = () => loadModel(join(FOLDER, family), { dtype: "float32", device: DEVICE });

  it("transformers' logits, log-probabilities, gradients and a step of AdamW", () => {
    const model = open();
    const { lr, betas, eps, weight_decay } = expected.adamw;
    const how = { lr, betas, epsilon: eps, weightDecay: weight_decay };
    const optimizer = adamw(model.trainable, how);
    const theirs = (file: string, body: (name: string, tensor: Tensor) => void) => {
      const opened = openSafetensors(join(FOLDER, family, `${file}.safetensors`));
      for (const name of opened.tensors.keys()) tidy(() => body(name, opened.load(name)));
      opened.close();
    };
    tidy(() => {
      const packed = packSequences(expected.rows, { device: DEVICE });
      const found = noGrad(() => logits(model, packed));
      expect(difference(found, tensor(expected.logits.flat()))).toBeLessThan(1e-5);
      const { logprobs } = logprobsOf(model, expected.rows, { layersPerSegment: 2 });
      expect(difference(logprobs, tensor(expected.logprobs))).toBeLessThan(1e-5);
      const loss = logprobs.mean().neg();
      loss.backward();
      const own = new Map([...model.parameters].map(([name, { grad }]) => [name, grad!]));
      const gradients = separate(model.config, own);
      theirs("gradients", (name, gradient) => {
        const largest = gradient.abs().amax().item();
        expect(difference(gradients.get(name)!, gradient) / largest, name).toBeLessThan(1e-5);
      });
      optimizer.step();
      const weights = model.weights();
      theirs("stepped", (name, weight) => {
        expect(difference(weights.get(name)!, weight), name).toBeLessThan(1e-5);
      });
    });
    optimizer.dispose();
    model.dispose();
  });

  it("an adapter, shared prefixes, limited choices: as on the CPU", () => {
    const prompt = Array.from({ length: 20 }, (_, i) => (i * 7) % 40);
    const rows = [
      [...prompt, 3, 4, 5],
      [...prompt, 3, 9],
      [...prompt, 8],
      [4, 5, 6],
    ];
    const allowed = new Map([
      [2, [rows[0]![3]!, 1, 2]],
      [5, [rows[0]![6]!]],
    ]);
    const [first, second] = ["cpu", DEVICE].map((device) => {
      const base = loadModel(join(FOLDER, family), { dtype: "float32", device });
      const model = addLora(base, { rank: 2, targets: "all-linear" }, new Generator(1));
      const optimizer = adamw(model.trainable, { lr: 1e-2 });
      const losses: number[] = [];
      for (let step = 0; step < 3; step++)
        tidy(() => {
          const { logprobs, entropies } = logprobsOf(model, rows, { allowed }, true);
          const loss = logprobs.mean().neg().add(entropies!.mean());
          loss.backward();
          losses.push(loss.item());
          optimizer.step();
          optimizer.clearGradients();
        });
      model.merge();
      const merged = tidy(() =>
        noGrad(() => logits(model, packSequences(rows, { device })).toNumbers()),
      );
      model.unmerge();
      const found = [...losses, ...merged];
      optimizer.dispose();
      model.dispose();
      return found;
    });
    for (const [i, value] of first!.entries()) expect(second![i]!).toBeCloseTo(value, 4);
  });

  it("a value model, saved and loaded", () => {
    const folder = temporaryFolder();
    const model = valueModelFrom(join(FOLDER, family), { dtype: "float32", device: DEVICE });
    noGrad(() => {
      for (const parameter of model.parameters.values()) parameter.add_(0.01);
    });
    saveModel(model, join(folder, "saved"));
    const [there, here] = [DEVICE, "cpu"].map((device) => {
      const again = loadModel(join(folder, "saved"), { dtype: "float32", device });
      const found = tidy(() =>
        noGrad(() => values(again, packSequences(expected.rows, { device })).toNumbers()),
      );
      again.dispose();
      return found;
    });
    expect(there!.length).toBe(expected.rows.flat().length);
    for (const [i, value] of here!.entries()) expect(there![i]!).toBeCloseTo(value, 5);
    model.dispose();
  });
});
