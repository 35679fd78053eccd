/**
 * @file The steps of the quickstart. Each leaves a folder; a step whose folder is there is not done again.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/index.ts";
import {
  type ConfiguredWorld,
  chosenTasks,
  evaluateModel,
  SETTINGS_FILE,
  settingsNote,
} from "../../evaluation/index.ts";
import {
  configParameterCount,
  initModelFolder,
  loadChat,
  loadModel,
  loadTokenizer,
  presetConfig,
  readModelConfig,
  saveModel,
} from "../../models/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import {
  examplesOfEverything,
  expertEpisodes,
  fineTune,
  taskOrder,
  worldTexts,
} from "../../training/index.ts";
import type { QuickstartFolders, Recipe } from "./recipe.ts";

type Say = (text: string) => void;

/** A tokenizer that learned the household's words, and random weights. */
export async function makeModel(
  recipe: Recipe,
  world: ConfiguredWorld,
  { model }: QuickstartFolders,
  say: Say,
): Promise<void> {
  if (existsSync(join(model, "config.json"))) return say("the new model is there already");
  const order = taskOrder(await world.world.tasks(world.trainSplit), 1, true);
  const texts = await worldTexts(world, order.next(recipe.tokenizerTasks), 1);
  initModelFolder(model, {
    config: presetConfig(recipe.preset),
    texts,
    vocabularySize: recipe.vocabulary,
    seed: 0,
  });
  const millions = (configParameterCount(readModelConfig(model)) / 1e6).toFixed(1);
  const { vocabularySize } = loadTokenizer(model);
  say(
    `a new model of ${millions} million random parameters, and a tokenizer of ${vocabularySize} tokens`,
  );
}

/** A short warm start on episodes of the scripted expert. */
export async function warmUp(
  recipe: Recipe,
  config: Config,
  world: ConfiguredWorld,
  { model: folder, warm }: QuickstartFolders,
  say: Say,
  progress: (share: number, loss: number) => void,
): Promise<void> {
  if (existsSync(join(warm, "config.json"))) return say("the warm start is there already");
  const chat = loadChat(folder);
  const model = loadModel(folder);
  try {
    const order = taskOrder(await world.world.tasks(world.trainSplit), 2, true);
    const tasks = order.next(recipe.expertEpisodes);
    const contextLength = model.config.maximumPositions;
    const episodes = await expertEpisodes({
      ...{ config, world, chat, tasks, seed: 0, contextLength },
      slips: recipe.slips,
      wanders: recipe.wanders,
    });
    const result = await fineTune(model, episodes.flatMap(examplesOfEverything), {
      epochs: 1,
      lr: recipe.learningRate,
      batchSize: recipe.batchSize,
      weightDecay: 0,
      seed: 0,
      onUpdate: ({ update, updates, loss }) => progress(update / updates, loss),
    });
    saveModel(model, warm, {
      tokenizerFolder: folder,
      extraFiles: { [SETTINGS_FILE]: settingsNote(config) },
    });
    say(
      `warm start on ${episodes.length} expert episodes (${result.tokens} tokens), loss ${result.loss.toFixed(2)}`,
    );
  } finally {
    model.dispose();
  }
}

/** The model in rooms that no training has seen. */
export async function inUnseenRooms(
  recipe: Recipe,
  config: Config,
  world: ConfiguredWorld,
  folder: string,
): Promise<readonly Trajectory[]> {
  const tasks = chosenTasks(await world.world.tasks(world.valSplit), recipe.evaluationTasks);
  const { all } = await evaluateModel(folder, { config, world, tasks });
  return all;
}
