/**
 * @file Every new family against transformers: tiny models in golden/, and what it computed with them
 * (tools/interop/python/make_goldens.py).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PagePool } from "../../src/generation/cache/pages.ts";
import { CachedSequence } from "../../src/generation/cache/sequence.ts";
import { newCacheStore, PAGE_SIZE } from "../../src/generation/cache/store.ts";
import { createEngine } from "../../src/generation/index.ts";
import { layoutOf } from "../../src/generation/layout.ts";
import { hasNativePass, nativePass } from "../../src/generation/native-pass.ts";
import { operatorPass } from "../../src/generation/operator-pass.ts";
import { rotaryTable } from "../../src/generation/step.ts";
import {
  addLora,
  describeModel,
  embedded,
  hiddenStates,
  loadModel,
  logits,
  type Model,
  openSafetensors,
  packSequences,
  parseModelConfig,
  readModelConfig,
  saveModel,
  separate,
  toConfigJson,
  tokenOutputs,
  valueModelFrom,
  values,
} from "../../src/models/index.ts";
import {
  adamw,
  Generator,
  memory,
  noGrad,
  type Tensor,
  tensor,
  tidy,
} from "../../src/torch/index.ts";
import { difference } from "./decoder/support.ts";
import { temporaryFolder } from "./files.ts";

const FOLDER = fileURLToPath(new URL("golden", import.meta.url));
const FAMILIES = readdirSync(FOLDER);

interface Expected {
  rows: number[][];
  /** [tokens, vocabulary] of each row. */
  logits: number[][][];
  greedy: number[][];
  loss: number;
  /** Of all tokens but the first of each row. */
  logprobs: number[];
  adamw: { lr: number; betas: [number, number]; eps: number; weight_decay: number };
  /** embeddings: of the first three tokens; logits: of the first row. */
  bfloat16: { embeddings: number[][]; logits: number[][] };
}

const made: Model[] = [];
let before = 0;
beforeEach(() => {
  before = memory().tensors;
});

function open(family: string, dtype: "float32" | "bfloat16" | "float64" = "float32"): Model {
  const model = loadModel(join(FOLDER, family), { dtype });
  made.push(model);
  return model;
}

afterEach(() => {
  for (const model of made.splice(0)) model.dispose();
  expect(memory().tensors).toBe(before);
});

function expectedOf(family: string): Expected {
  return JSON.parse(readFileSync(join(FOLDER, family, "expected.json"), "utf8")) as Expected;
}

const ids = (list: readonly number[]): Tensor => tensor([...list], { dtype: "int64" });

/** −log p of all tokens but the first of each row. */
function logprobsOf(model: Model, { rows }: Expected, layersPerSegment = 0): Tensor {
  const [places, targets]: [number[], number[]] = [[], []];
  let start = 0;
  for (const row of rows) {
    for (let i = 1; i < row.length; i++) {
      places.push(start + i - 1);
      targets.push(row[i]!);
    }
    start += row.length;
  }
  const options = { entropy: false, layersPerSegment };
  return tokenOutputs(model, packSequences(rows), ids(places), ids(targets), options).logprobs;
}

/** The tensors of one of the golden files. */
function golden(family: string, file: string, body: (tensors: Map<string, Tensor>) => void): void {
  const opened = openSafetensors(join(FOLDER, family, `${file}.safetensors`));
  try {
    tidy(() => body(new Map([...opened.tensors.keys()].map((name) => [name, opened.load(name)]))));
  } finally {
    opened.close();
  }
}

/** How far two tensors are apart, in parts of the largest number. */
function relative(found: Tensor, expected: Tensor): number {
  return tidy(() => difference(found, expected) / expected.abs().amax().item());
}

describe.each(FAMILIES)("%s as in transformers", (family) => {
  const expected = expectedOf(family);

  it("logits and log-probabilities, packed", () => {
    const model = open(family);
    noGrad(() =>
      tidy(() => {
        const found = logits(model, packSequences(expected.rows));
        expect(difference(found, tensor(expected.logits.flat()))).toBeLessThan(1e-5);
        const found1 = logprobsOf(model, expected);
        expect(difference(found1, tensor(expected.logprobs))).toBeLessThan(1e-5);
      }),
    );
  });

  it.each([0, 1, 3])("gradients of every parameter, %d layers per segment", (layers) => {
    const model = open(family);
    tidy(() => {
      const loss = logprobsOf(model, expected, layers).mean().neg();
      expect(Math.abs(loss.item() - expected.loss)).toBeLessThan(1e-5);
      loss.backward();
      const own = new Map([...model.parameters].map(([name, { grad }]) => [name, grad!]));
      const found = separate(model.config, own);
      golden(family, "gradients", (theirs) => {
        expect([...found.keys()].toSorted()).toEqual([...theirs.keys()].toSorted());
        for (const [name, gradient] of theirs)
          expect(relative(found.get(name)!, gradient), name).toBeLessThan(1e-5);
      });
    });
  });

  it("a step of AdamW", () => {
    const model = open(family);
    const { lr, betas, eps, weight_decay } = expected.adamw;
    const options = { lr, betas, epsilon: eps, weightDecay: weight_decay };
    const optimizer = adamw(model.trainable, options);
    tidy(() => {
      logprobsOf(model, expected).mean().neg().backward();
      optimizer.step();
      golden(family, "stepped", (theirs) => {
        const found = model.weights();
        for (const [name, weight] of theirs)
          expect(difference(found.get(name)!, weight), name).toBeLessThan(1e-5);
      });
    });
    optimizer.dispose();
  });

  it.each([
    ["native", nativePass],
    ["operator", operatorPass],
  ])("logits token by token from the cache: %s pass", (_, pass) => {
    const model = open(family);
    expect(hasNativePass(model)).toBe(true);
    const cache = newCacheStore(model.config, 4);
    const table = rotaryTable(model);
    for (const [i, row] of expected.rows.entries()) {
      const sequence = new CachedSequence(new PagePool(4, PAGE_SIZE));
      sequence.setTokens(row);
      sequence.reserve(row.length);
      for (const [at, theirs] of expected.logits[i]!.entries())
        noGrad(() =>
          tidy(() => {
            const layout = layoutOf([{ sequence, tokens: 1 }], [0]);
            const found = pass(model, cache, table, layout);
            sequence.markComputed(at + 1);
            expect(difference(found, tensor([theirs]))).toBeLessThan(1e-5);
          }),
        );
    }
    cache.dispose();
    table.dispose();
  });

  it("greedy continuations by the engine, with and without an adapter", async () => {
    const base = open(family);
    const plain = { temperature: 0, maximumTokens: expected.greedy[0]!.length, stopTokens: [] };
    const continued = async (model: Model): Promise<number[][]> => {
      const engine = createEngine(model, { cacheBytes: 2 ** 20 });
      const answers = await Promise.all(
        expected.rows.map((prompt) => engine.generate({ prompt, seed: 1, sampling: plain })),
      );
      await engine.close();
      return answers.map((answer) => [...answer.ids]);
    };
    expect(await continued(base)).toEqual(expected.greedy);
    // A new adapter changes nothing; its pass is the operators'.
    const adapted = addLora(base, { rank: 2 }, new Generator(1));
    made.splice(0, 1, adapted);
    expect(hasNativePass(adapted)).toBe(false);
    expect(await continued(adapted)).toEqual(expected.greedy);
  });

  it("an adapter on all matrices learns, and its sum is what it computed", () => {
    const base = open(family);
    const adapted = addLora(base, { rank: 2, targets: "all-linear" }, new Generator(1));
    made.splice(0, 1, adapted);
    const optimizer = adamw(adapted.trainable, { lr: 1e-2 });
    const step = (): number =>
      tidy(() => {
        const loss = logprobsOf(adapted, expected).mean().neg();
        loss.backward();
        optimizer.step();
        optimizer.clearGradients();
        return loss.item();
      });
    expect(Math.abs(step() - expected.loss)).toBeLessThan(1e-5);
    expect(adapted.trainable.size).toBe(4 * 7 * 2);
    for (let i = 0; i < 5; i++) step();
    expect(step()).toBeLessThan(expected.loss - 0.05);
    optimizer.dispose();
    noGrad(() =>
      tidy(() => {
        const apart = logits(adapted, packSequences(expected.rows));
        adapted.merge();
        expect(difference(logits(adapted, packSequences(expected.rows)), apart)).toBeLessThan(1e-4);
      }),
    );
  });

  it("bfloat16: the same embeddings, logits as far apart as that rounds", () => {
    const model = open(family, "bfloat16");
    noGrad(() =>
      tidy(() => {
        const row = expected.rows[0]!;
        const own = embedded(model, ids(row.slice(0, 3)));
        expect(difference(own, tensor(expected.bfloat16.embeddings))).toBe(0);
        const found = logits(model, packSequences([row]));
        const theirs = tensor(expected.bfloat16.logits);
        const exact = tensor(expected.logits[0]!);
        expect(found.dtype).toBe("bfloat16");
        // Both are about as far from float32.
        expect(difference(found, theirs)).toBeLessThan(2 * difference(theirs, exact));
        expect(relative(found, exact)).toBeLessThan(0.05);
      }),
    );
  });

  it("load, save and load are the same bits; the config is the same", () => {
    const model = open(family);
    const folder = temporaryFolder();
    saveModel(model, join(folder, "saved"));
    const again = loadModel(join(folder, "saved"));
    made.push(again);
    tidy(() => {
      const loaded = again.weights();
      for (const [name, weight] of model.weights())
        expect(difference(loaded.get(name)!, weight), name).toBe(0);
    });
    expect({ ...again.config, remarks: [] }).toEqual({ ...model.config, remarks: [] });
    expect(describeModel(join(folder, "saved"))).toMatchObject({ family, layers: 4 });
  });

  it("a value model of it, from memory and from its folder", () => {
    const policy = open(family);
    const fromModel = valueModelFrom(policy, { generator: new Generator(5) });
    const fromFolder = valueModelFrom(join(FOLDER, family), { generator: new Generator(5) });
    made.push(fromModel, fromFolder);
    const batch = () => packSequences(expected.rows);
    tidy(() => {
      const found = values(fromModel, batch());
      const head = fromModel.parameters.get("score.weight")!;
      const hidden = hiddenStates(policy, batch());
      expect(difference(found, hidden.matmul(head.transpose(0, 1)).squeeze(-1))).toBeLessThan(1e-5);
      expect(difference(values(fromFolder, batch()), found)).toBe(0);
      found.sum().backward();
      for (const [name, { grad }] of fromModel.parameters) expect(grad, name).not.toBeNull();
    });
    const folder = join(temporaryFolder(), "critic");
    saveModel(fromModel, folder);
    const again = loadModel(folder);
    made.push(again);
    expect(again.config).toEqual(fromModel.config);
  });
});

describe("both spellings of config.json", () => {
  const read = (family: string): Record<string, unknown> =>
    JSON.parse(readFileSync(join(FOLDER, family, "config.json"), "utf8")) as Record<
      string,
      unknown
    >;

  it("Gemma 3 of transformers 4", () => {
    const { rope_parameters: _, layer_types: __, ...rest } = read("gemma3_text");
    const older = {
      ...rest,
      ...{ rope_theta: 1e6, rope_local_base_freq: 1e4, sliding_window_pattern: 3 },
      rope_scaling: { factor: 8, rope_type: "linear" },
    };
    const config = readModelConfig(join(FOLDER, "gemma3_text"));
    expect(parseModelConfig(older)).toEqual(config);
    expect(parseModelConfig(toConfigJson(config) as typeof older)).toEqual(config);
  });

  it("SmolLM3 of transformers 4, with an interval in place of the list", () => {
    const { rope_parameters: _, layer_types: __, no_rope_layers: ___, ...rest } = read("smollm3");
    const config = readModelConfig(join(FOLDER, "smollm3"));
    expect(config.withoutRope).toEqual([1, 3]);
    expect(parseModelConfig({ ...rest, rope_theta: 2e6 })).toEqual(config);
  });
});
