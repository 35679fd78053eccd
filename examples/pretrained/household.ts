/**
 * @file A real pretrained language model (SmolLM2, 135 million parameters) learns household tasks: from 200 episodes of an
 * expert what one says, from its own episodes (GiGPO, LoRA) what one says when. Then it is asked in rooms that training knows,
 * and in rooms that it never entered.
 *
 *   npx tsx household.ts [--from-nothing] [--minutes 60] [--seed 0]
 *
 * --from-nothing is the comparison: a model of 0.4 million parameters made from this world's words, which needs thousands of
 * the expert's episodes to come as far, and goes on in the same way.
 */
import { parseArgs } from "node:util";
import {
  fetchPublished,
  PUBLISHED_MODELS,
  successReport,
  type TrainOptions,
  train,
} from "openmanus-rl";

const { values } = parseArgs({
  options: {
    "from-nothing": { type: "boolean", default: false },
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: "0" },
  },
});

async function pretrained(): Promise<Partial<TrainOptions> & Pick<TrainOptions, "model">> {
  const { folder: model } = await fetchPublished(PUBLISHED_MODELS.smollm2!, undefined, {
    onProgress: (doing, done) => done === undefined && console.log(`${doing} …`),
  });
  return {
    model,
    warmStart: { episodes: 200, epochs: 3, learningRate: 5e-5, mistakes: 0.1 },
    learningRate: 2e-4,
    settings: {
      // Recorded log-probabilities are exact here: they need not be computed again.
      algorithm: { rollout_correction: { bypass_mode: true } },
      actor_rollout_ref: {
        model: { lora_rank: 16, lora_alpha: 32 },
        rollout: { temperature: 0.7 },
      },
      trainer: { max_minutes: Number(values.minutes), save_freq: 5 },
    },
  };
}

const fromNothing: Partial<TrainOptions> & Pick<TrainOptions, "model"> = {
  model: { preset: "mini", vocabulary: 1024, numbers: "named", matching: true },
  warmStart: { episodes: 4000, mistakes: 0.1, learningRate: 2e-3 },
  learningRate: 3e-4,
  settings: {
    actor_rollout_ref: { rollout: { temperature: 0.7 } },
    trainer: { max_minutes: Number(values.minutes), save_freq: 5 },
  },
};

const run = await train({
  world: "household",
  worldOptions: {
    ...{ difficulty: "easy", receptacles: 6, objects: 5, closed: 0.4, expert: "orderly" },
    types: ["pick_and_place_simple", "pick_clean_then_place_in_recep"],
  },
  agent: { prompts: "bare", showAdmissible: false, replyTokens: 20, promptTokens: 1800 },
  turns: 12,
  ...(values["from-nothing"] ? fromNothing : await pretrained()),
  algorithm: { name: "gigpo", miniBatch: 32 },
  ...{ tasks: 8, groupSize: 8, iterations: 200, seed: Number(values.seed) },
  validation: { every: 10, tasks: 100, split: "valid_seen" },
  folder: `runs/household-${values["from-nothing"] ? "from-nothing" : "pretrained"}`,
});
for (const split of ["valid_seen", "valid_unseen"]) {
  const { table, against, comparison } = await run.evaluate({ against: "start", split });
  console.log(`\n${split}, before\n${successReport(against.table)}`);
  console.log(
    `\n${split}, after\n${successReport(table)}\np = ${comparison.pValue.toPrecision(1)}`,
  );
}
console.log(`best ${run.best?.folder}, ${run.report}`);
