/**
 * @file Value models: their values, where they start from, their files.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  addLora,
  loadModel,
  type Model,
  openCheckpoint,
  packSequences,
  saveModel,
  valueModelFrom,
  values,
} from "../../src/models/index.ts";
import { cat, Generator, noGrad, tidy } from "../../src/torch/index.ts";
import {
  difference,
  plainHidden,
  randomSequences,
  smallConfig,
  smallModel,
} from "./decoder/support.ts";
import { temporaryFolder, withoutLeaks } from "./files.ts";

const config = smallConfig({ queryKeyValueBias: true, tiedEmbeddings: false });
const sequences = randomSequences([7, 1, 12], config.vocabularySize);

/** Runs with a policy and proves that nothing is left. */
function withPolicy(body: (policy: Model) => void): void {
  withoutLeaks(() => {
    const policy = smallModel(config);
    tidy(() => body(policy));
    policy.dispose();
  });
}

const valuesOf = (model: Model) => noGrad(() => values(model, packSequences(sequences)));

it("a new head gives zero everywhere", () =>
  withPolicy((policy) => {
    const model = valueModelFrom(policy);
    expect(valuesOf(model).toArray()).toEqual(new Array(20).fill(0));
    expect(model.config).toMatchObject({ head: "token-classification", labels: 1 });
    expect(model.parameters.has("lm_head.weight")).toBe(false);
    // The first gradient reaches the head.
    values(model, packSequences(sequences)).sub(1).square().mean().backward();
    expect(model.parameters.get("score.weight")!.grad!.norm().item()).toBeGreaterThan(0);
    model.dispose();
  }));

it("values are score · hidden + bias, and the policy is untouched", () =>
  withPolicy((policy) => {
    const before = [...policy.weights().values()].map((weight) => weight.clone());
    const model = valueModelFrom(policy, { generator: new Generator(4) });
    noGrad(() => model.parameters.get("score.bias")!.fill_(0.5));
    const score = model.parameters.get("score.weight")!;
    expect(score.shape).toEqual([1, 24]);
    expect(score.norm().item()).toBeGreaterThan(0);
    const plain = noGrad(() =>
      cat(sequences.map((ids) => plainHidden(policy, ids).mul(score).sum(-1).add(0.5))),
    );
    const found = valuesOf(model);
    expect([found.shape, found.dtype]).toEqual([[20], "float32"]);
    expect(difference(found, plain)).toBeLessThan(1e-5);
    for (const weight of model.parameters.values()) noGrad(() => weight.zero_());
    for (const [i, weight] of [...policy.weights().values()].entries())
      expect(difference(weight, before[i]!)).toBe(0);
    model.dispose();
  }));

it("starts from a policy's folder, and is saved and loaded in transformers' layout", () =>
  withPolicy((policy) => {
    const folder = temporaryFolder();
    saveModel(policy, join(folder, "policy"));
    const model = valueModelFrom(join(folder, "policy"), { generator: new Generator(4) });
    const twin = valueModelFrom(policy, { generator: new Generator(4) });
    expect(difference(valuesOf(model), valuesOf(twin))).toBe(0);
    saveModel(model, join(folder, "critic"));
    const json = JSON.parse(readFileSync(join(folder, "critic", "config.json"), "utf8"));
    expect(json).toMatchObject({ architectures: ["Qwen2ForTokenClassification"], num_labels: 1 });
    const checkpoint = openCheckpoint(join(folder, "critic"));
    expect(checkpoint.info("score.weight").shape).toEqual([1, 24]);
    expect(checkpoint.info("score.bias").shape).toEqual([1]);
    expect(checkpoint.has("lm_head.weight")).toBe(false);
    checkpoint.close();
    // From a value model's folder it is that value model, head and all.
    for (const back of [
      loadModel(join(folder, "critic")),
      valueModelFrom(join(folder, "critic")),
    ]) {
      expect(difference(valuesOf(back), valuesOf(model))).toBe(0);
      back.dispose();
    }
    model.dispose();
    twin.dispose();
  }));

it("computes values of a bfloat16 backbone in float32", () =>
  withPolicy((policy) => {
    const [long, short] = (["float32", "bfloat16"] as const).map((dtype) =>
      valueModelFrom(policy, { generator: new Generator(4), dtype }),
    );
    const found = valuesOf(short!);
    expect(found.dtype).toBe("float32");
    const exact = valuesOf(long!);
    expect(difference(found, exact)).toBeLessThan(0.1 * exact.abs().amax().item());
    long!.dispose();
    short!.dispose();
  }));

it("says what is wrong", () => {
  withPolicy((policy) => {
    expect(() => valuesOf(policy)).toThrow(/no score\.weight; expected a value model/);
  });
  withoutLeaks(() => {
    const policy = addLora(smallModel(config), { rank: 1 }, new Generator(1));
    expect(() => valueModelFrom(policy)).toThrow(/has an adapter; start from its base/);
    policy.dispose();
  });
});
