/**
 * @file A new model from a world's words: a tokenizer that has learned them, and random weights.
 */
import { agentOf, type PlayOptions, type RunWorld } from "../assembly/index.ts";
import {
  configParameterCount,
  initModelFolder,
  loadTokenizer,
  presetConfig,
  readModelConfig,
} from "../models/index.ts";
import { taskOrder, worldTexts } from "../training/index.ts";
import type { NewModel } from "./options.ts";

/** Tokenizer, warm start and training go through the training tasks in different orders. */
const ORDER = 1;

/** A model that is there already is left as it is. */
export async function makeModel(
  folder: string,
  options: NewModel,
  world: RunWorld,
  play: PlayOptions,
  say: (text: string) => void,
): Promise<void> {
  const { preset, family, vocabulary = 1024, tasks = 300, seed = 0 } = options;
  const order = taskOrder(await world.world.tasks(world.trainSplit), seed + ORDER, true);
  const { format } = agentOf({ format: play.agent.format ?? "action" });
  const texts = await worldTexts(world, order.next(tasks), seed + ORDER, format);
  initModelFolder(folder, {
    config: presetConfig(preset, family ? { family } : {}),
    texts,
    vocabularySize: vocabulary,
    numbers: options.numbers ?? "apart",
    matching: options.matching ?? false,
    seed,
  });
  const millions = (configParameterCount(readModelConfig(folder)) / 1e6).toFixed(1);
  const { vocabularySize } = loadTokenizer(folder);
  say(
    `a new model of ${millions} million random parameters, and a tokenizer of ${vocabularySize} tokens`,
  );
}
