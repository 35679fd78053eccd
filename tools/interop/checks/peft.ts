/**
 * @file PEFT loads the LoRA adapters that we save, over models that we made, and computes the same.
 */
import { join } from "node:path";
import { addLora, type LoraOptions, loadModel, saveLora } from "../../../src/models/index.ts";
import { Generator, noGrad } from "../../../src/torch/index.ts";
import type { InteropCheck } from "../check.ts";
import { comparedLogits, newModelFolder, ourLogits, someSequences } from "../models.ts";

const ADAPTERS: readonly { name: string; family: string; options: LoraOptions }[] = [
  { name: "all matrices", family: "qwen2", options: { rank: 4, alpha: 6 } },
  { name: "all of Gemma 3", family: "gemma3_text", options: { rank: 2 } },
  {
    name: "some, rank-stabilised",
    family: "llama",
    options: {
      rank: 3,
      alpha: 5,
      dropout: 0.5,
      rankStabilised: true,
      targets: ["q_proj", "down_proj"],
    },
  },
];

const check: InteropCheck = {
  name: "peft",
  async run(peers, place) {
    const cases = ADAPTERS.map(({ name, family, options }) => {
      const folder = newModelFolder(place, family);
      const adapter = join(place, `${family}-adapter`);
      const generator = new Generator(3);
      const model = addLora(loadModel(folder), options, generator);
      // Adapters begin as nothing; this one is as if it had been trained.
      noGrad(() => {
        for (const matrix of model.matrices.values()) matrix.normal_(generator, 0, 0.2);
      });
      saveLora(model, adapter, { baseModel: folder });
      const sequences = someSequences(folder);
      const ours = ourLogits(model, sequences);
      const base = ourLogits(model.base, sequences);
      model.dispose();
      return { name, folder, adapter, sequences, ours, base };
    });
    const { models } = await peers.ask<{ models: { logits: number[][] }[] }>(
      "transformers_reads.py",
      place,
      { models: cases.map(({ folder, adapter, sequences }) => ({ folder, adapter, sequences })) },
    );
    return cases.map(({ name, ours, base }, i) => {
      const finding = comparedLogits(`adapter of ${name}: logits`, ours, models[i]!.logits);
      const doesNothing = String(ours) === String(base);
      return doesNothing ? { ...finding, problem: "the adapter changes nothing" } : finding;
    });
  },
};

export default check;
