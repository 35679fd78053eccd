/**
 * @file Copies of weights in fewer bytes: what they stand for, and that generation with them is generation with
 * those numbers.
 */
import { afterAll, describe, expect, it } from "vitest";
import { createEngine } from "../../src/generation/index.ts";
import { type Quantization, shortWeights } from "../../src/generation/short-weights.ts";
import { addLora, type Model, modelOf } from "../../src/models/index.ts";
import {
  fromTypedArray,
  Generator,
  keep,
  memory,
  noGrad,
  type Tensor,
  tidy,
} from "../../src/torch/index.ts";
import { GEMMA_PARTS, random, type TestModelOptions, testModel } from "./support.ts";

const BEFORE = memory().tensors;
const GROUP = 64;

afterAll(() => expect(memory().tensors).toBe(BEFORE));

/** Halves go to the even one. */
function nearest(value: number): number {
  const below = Math.floor(value);
  return (value - below === 0.5 ? below + (below & 1) : Math.round(value)) + 0;
}

/** What int8 makes of a matrix, by plain arithmetic. */
function rounded(rows: number[][]): number[][] {
  return rows.map((row) =>
    row.map((value, column) => {
      const first = column - (column % GROUP);
      const largest = Math.max(...row.slice(first, first + GROUP).map(Math.abs));
      if (largest === 0) return 0;
      const scale = Math.fround(largest / 127);
      return Math.fround(nearest(Math.fround(value * Math.fround(127 / largest))) * scale);
    }),
  );
}

/** The float32 matrix that a row of scales and bytes stands for. */
function widened(bytes: Int8Array, columns: number): number[][] {
  const scales = Math.ceil(columns / GROUP);
  const width = scales * 4 + columns;
  return Array.from({ length: bytes.length / width }, (_, row) => {
    const own = bytes.slice(row * width, (row + 1) * width);
    const factors = new Float32Array(own.buffer.slice(0, scales * 4));
    return Array.from(own.slice(scales * 4), (byte, column) =>
      Math.fround(byte * factors[Math.floor(column / GROUP)]!),
    );
  });
}

/** A model of float32 weights, each matrix as a copy in fewer bytes has it. */
function asRounded(model: Model, quantization: Quantization): Model {
  const as = (tensor: Tensor): Tensor => {
    if (tensor.shape.length !== 2) return tensor.detach().clone();
    if (quantization === "bfloat16") return tensor.detach().to("bfloat16").to("float32");
    const rows = rounded(tensor.detach().toArray() as number[][]);
    return fromTypedArray(Float32Array.from(rows.flat())).view(tensor.shape);
  };
  const tensors = [...model.parameters].map(
    ([name, tensor]) => [name, keep(tidy(() => noGrad(() => as(tensor))))] as const,
  );
  return modelOf(model.config, new Map(tensors));
}

async function answers(model: Model, quantization?: Quantization) {
  const engine = createEngine(model, { cacheBytes: 2 ** 22, quantization });
  const from = random(5);
  const prompts = Array.from({ length: 11 }, () =>
    from.ids(2 + from.below(40), model.config.vocabularySize),
  );
  const found = await Promise.all(
    prompts.map((prompt, seed) =>
      engine.generate({ prompt, sampling: { maximumTokens: 12, stopTokens: [] }, seed }),
    ),
  );
  await engine.close();
  return found.map(({ ids, logprobs }) => ({ ids, logprobs }));
}

const MODELS: [string, TestModelOptions][] = [
  ["tied", {}],
  ["an output layer of its own, biases", { tiedEmbeddings: false, queryKeyValueBias: true }],
  ["what Gemma 3 has", GEMMA_PARTS],
  ["odd sizes", { hiddenSize: 37, intermediateSize: 301, headDimension: 6, vocabularySize: 211 }],
];

describe("weights in int8", () => {
  it.each([1, 63, 64, 65, 200, 576])("stand for the nearest 255th, %i columns", (columns) => {
    const from = random(columns);
    const rows = Array.from({ length: 7 }, (_, row) =>
      // A row of zeros, one with an outlier, and usual ones.
      Array.from({ length: columns }, (_, i) =>
        row === 0 ? 0 : Math.fround((from.uniform() - 0.5) * (row === 1 && i === 0 ? 100 : 1)),
      ),
    );
    const own = tidy(() => keep(fromTypedArray(Float32Array.from(rows.flat())).view([7, columns])));
    const source = { parameters: new Map([["m", own]]), output: own, layer: () => null };
    const short = shortWeights(source as unknown as Model, "int8");
    const found = widened(short.output.toTypedArray() as Int8Array, columns);
    expect(found).toEqual(rounded(rows));
    expect(short.bytes).toBe(7 * (columns + 4 * Math.ceil(columns / GROUP)));
    short.dispose();
    own.dispose();
  });

  it("does not make numbers of what is none", () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const own = tidy(() => keep(fromTypedArray(Float32Array.of(1, bad, 3)).view([1, 3])));
      const source = { parameters: new Map([["m", own]]), output: own, layer: () => null };
      const short = shortWeights(source as unknown as Model, "int8");
      const found = widened(short.output.toTypedArray() as Int8Array, 3);
      expect(found).toEqual([[Number.NaN, Number.NaN, Number.NaN]]);
      short.dispose();
      own.dispose();
    }
  });
});

describe.each(["bfloat16", "int8"] as const)("an engine with %s copies", (quantization) => {
  it.each(MODELS)("answers as one with these numbers in float32: %s", async (_, options) => {
    const model = testModel({ sharpness: 2, ...options });
    const twin = asRounded(model, quantization);
    expect(await answers(model, quantization)).toEqual(await answers(twin));
    twin.dispose();
    model.dispose();
  });

  it("makes them anew when the weights change, and with a merged adapter", async () => {
    const model = testModel({ sharpness: 2 });
    const lora = addLora(model, { rank: 2, alpha: 64 }, new Generator(3));
    const engine = createEngine(lora, { cacheBytes: 2 ** 22, quantization });
    const ask = () =>
      engine
        .generate({ prompt: [1, 2, 3], sampling: { maximumTokens: 4, stopTokens: [] }, seed: 1 })
        .then(({ logprobs }) => logprobs);
    await expect(ask()).rejects.toThrow(/whose adapter, if they have one, is merged/);
    engine.weightsChanged();
    lora.merge();
    const before = await ask();
    tidy(() => noGrad(() => model.output.mul_(0.5)));
    expect(await ask()).toEqual(before);
    engine.weightsChanged();
    expect(await ask()).not.toEqual(before);
    lora.unmerge();
    await engine.close();
    lora.dispose();
  });
});
