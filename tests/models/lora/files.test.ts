/**
 * @file Adapters in PEFT's format: names, shapes, round trip, and what is refused.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  addLora,
  type LoraModel,
  type LoraOptions,
  loadLora,
  loadModel,
  logits,
  openSafetensors,
  packSequences,
  saveLora,
  saveModel,
  valueModelFrom,
  values,
} from "../../../src/models/index.ts";
import { Generator, noGrad, type Tensor, tidy } from "../../../src/torch/index.ts";
import { difference, randomSequences, smallConfig, smallModel } from "../decoder/support.ts";
import { temporaryFolder, withoutLeaks } from "../files.ts";

const config = smallConfig({ queryKeyValueBias: true });
const batch = () => packSequences(randomSequences([8, 5], config.vocabularySize));

function trained(options: LoraOptions = { rank: 2 }): LoraModel {
  const generator = new Generator(3);
  const model = addLora(smallModel(config), options, generator);
  noGrad(() => {
    for (const matrix of model.matrices.values()) matrix.normal_(generator, 0, 0.1);
  });
  return model;
}

const read = (folder: string) =>
  JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as Record<string, unknown>;

const logitsOf = (model: LoraModel): Tensor => noGrad(() => logits(model, batch()));

it("writes PEFT's files and reads them back, bit for bit", () => {
  const folder = temporaryFolder();
  withoutLeaks(() => {
    const options: LoraOptions = {
      ...{ rank: 2, alpha: 7, dropout: 0.25, rankStabilised: true },
      targets: ["v_proj", "q_proj", "down_proj"],
    };
    const model = trained(options);
    saveLora(model, folder, { baseModel: "some/base" });
    expect(readdirSync(folder).sort()).toEqual([
      "adapter_config.json",
      "adapter_model.safetensors",
    ]);
    expect(read(folder)).toMatchObject({
      ...{ peft_type: "LORA", task_type: "CAUSAL_LM", base_model_name_or_path: "some/base" },
      ...{ r: 2, lora_alpha: 7, lora_dropout: 0.25, use_rslora: true, bias: "none" },
      target_modules: ["q_proj", "v_proj", "down_proj"],
    });
    const file = openSafetensors(join(folder, "adapter_model.safetensors"));
    const at = "base_model.model.model.layers.1.mlp.down_proj";
    expect(file.tensors.size).toBe(2 * 3 * config.layers);
    expect(file.tensors.get(`${at}.lora_A.weight`)!.shape).toEqual([2, 20]);
    expect(file.tensors.get(`${at}.lora_B.weight`)!.shape).toEqual([24, 2]);
    file.close();
    tidy(() => {
      const again = loadLora(smallModel(config), folder);
      expect(again.settings).toEqual(model.settings);
      expect(difference(logitsOf(again), logitsOf(model))).toBe(0);
      again.dispose();
    });
    model.dispose();
  });
});

it("keeps a value model's head with the adapter", () => {
  const folder = temporaryFolder();
  withoutLeaks(() => {
    const policy = smallModel(config);
    const model = addLora(valueModelFrom(policy), { rank: 2 }, new Generator(1));
    noGrad(() => {
      for (const each of model.trainable.values()) each.normal_(new Generator(5), 0, 0.1);
    });
    saveLora(model, folder);
    expect(read(folder)).toMatchObject({ task_type: "TOKEN_CLS", modules_to_save: ["score"] });
    tidy(() => {
      const again = loadLora(valueModelFrom(policy), folder);
      const [a, b] = [model, again].map((each) => noGrad(() => values(each, batch())));
      expect(difference(a!, b!)).toBe(0);
      again.dispose();
    });
    model.dispose();
    policy.dispose();
  });
});

it("a saved model has the adapter in its weights, and stays as it is in memory", () => {
  const folder = join(temporaryFolder(), "merged");
  withoutLeaks(() => {
    const model = trained();
    tidy(() => {
      const before = logitsOf(model);
      saveModel(model, folder);
      expect(difference(logitsOf(model), before)).toBe(0);
      const plain = loadModel(folder);
      expect(
        difference(
          noGrad(() => logits(plain, batch())),
          before,
        ),
      ).toBeLessThan(5e-5);
      model.merge();
      expect(
        difference(
          noGrad(() => logits(plain, batch())),
          logitsOf(model),
        ),
      ).toBe(0);
      plain.dispose();
    });
    model.dispose();
  });
});

it("reads the whole paths that PEFT writes for all-linear", () => {
  const folder = temporaryFolder();
  withoutLeaks(() => {
    const model = trained({ rank: 2, targets: ["q_proj", "up_proj"] });
    saveLora(model, folder);
    const paths = [0, 1].flatMap((i) => [
      `model.layers.${i}.self_attn.q_proj`,
      `layers.${i}.up_proj`,
    ]);
    const json = { ...read(folder), target_modules: paths, use_bdlora: null, peft_version: "0.21" };
    writeFileSync(join(folder, "adapter_config.json"), JSON.stringify(json));
    const again = loadLora(smallModel(config), folder);
    expect(again.settings.targets).toEqual(["q_proj", "up_proj"]);
    again.dispose();
    model.dispose();
  });
});

describe("refuses", () => {
  const save = (): string => {
    const folder = temporaryFolder();
    const model = trained();
    saveLora(model, folder);
    model.dispose();
    return folder;
  };
  const refusal = (folder: string): string => {
    let message = "";
    withoutLeaks(() => {
      const base = smallModel(config);
      try {
        loadLora(base, folder);
      } catch (error) {
        message = (error as Error).message;
      }
      base.dispose();
    });
    return message;
  };

  it.each<[Record<string, unknown>, RegExp]>([
    [{ peft_type: "IA3" }, /peft_type is "IA3"; only LORA/],
    [{ use_dora: true }, /use_dora is true, which is not supported/],
    [{ some_new_idea: { size: 3 } }, /some_new_idea is .*which is not supported/],
    [{ init_lora_weights: "pissa" }, /init_lora_weights is "pissa", which changes the base/],
    [{ rank_pattern: { q_proj: 8 } }, /rank_pattern/],
    [{ layers_to_transform: [0] }, /layers_to_transform/],
    [{ bias: "all" }, /bias is "all"; only adapters without biases/],
    [{ modules_to_save: ["lm_head"] }, /modules_to_save has "lm_head"/],
    [{ target_modules: ".*proj" }, /target_modules is ".*proj"; expected a list/],
    [{ target_modules: ["c_attn"] }, /target_modules has "c_attn"; supported are q_proj/],
    [{ target_modules: ["q_proj"] }, /has base_model\S+down_proj.*do not ask for; and \d+ more/],
    [{ r: 3 }, /lora_A.weight has the shape \[2,24\] instead of \[3,24\]/],
    [{ lora_dropout: 1 }, /dropout from 0 to below 1/],
  ])("%j", (change, message) => {
    const folder = save();
    const json = { ...read(folder), ...change };
    writeFileSync(join(folder, "adapter_config.json"), JSON.stringify(json));
    expect(refusal(folder)).toMatch(message);
  });

  it("a folder that is not there, or has no adapter", () => {
    expect(refusal("/nowhere/adapter")).toMatch(/the folder does not exist/);
    expect(refusal(temporaryFolder())).toMatch(/adapter_config.json: the file does not exist/);
  });

  it("an adapter of another model", () => {
    const folder = save();
    const base = smallModel(smallConfig({ layers: 3 }));
    expect(() => loadLora(base, folder)).toThrow(/lacks base_model\.model\.model\.layers\.2\./);
    base.dispose();
  });
});
