/**
 * @file The steps of the quickstart. Each leaves a folder; a step whose folder is there is not done again.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/index.ts";
import {
  type ConfiguredWorld,
  chosenTasks,
  evaluate,
  openPlayer,
  SETTINGS_FILE,
  settingsNote,
} from "../../evaluation/index.ts";
import {
  initModelFolder,
  loadChat,
  loadModel,
  loadTokenizer,
  presetConfig,
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
import { type QuickstartFolders, RECIPE } from "./recipe.ts";

type Say = (text: string) => void;

/** A tokenizer that learned the household's words, and random weights. */
export async function makeModel(
  world: ConfiguredWorld,
  { model }: QuickstartFolders,
  say: Say,
): Promise<void> {
  if (!existsSync(join(model, "config.json"))) {
    const order = taskOrder(await world.world.tasks(world.trainSplit), 1, true);
    const texts = await worldTexts(world, order.next(RECIPE.tokenizerTasks), 1);
    initModelFolder(model, {
      config: presetConfig(RECIPE.preset),
      texts,
      vocabularySize: RECIPE.vocabulary,
      seed: 0,
    });
  }
  const { vocabularySize } = loadTokenizer(model);
  say(`a new model of 0.1 million random parameters, and a tokenizer of ${vocabularySize} tokens`);
}

/** A short warm start on episodes of the scripted expert. */
export async function warmUp(
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
    const tasks = order.next(RECIPE.expertEpisodes);
    const contextLength = model.config.maximumPositions;
    const episodes = await expertEpisodes({
      ...{ config, world, chat, tasks, seed: 0, contextLength },
      slips: RECIPE.slips,
      wanders: RECIPE.wanders,
    });
    const result = await fineTune(model, episodes.flatMap(examplesOfEverything), {
      epochs: 1,
      lr: RECIPE.learningRate,
      batchSize: RECIPE.batchSize,
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
  config: Config,
  world: ConfiguredWorld,
  folder: string,
): Promise<readonly Trajectory[]> {
  const player = openPlayer(config, folder);
  try {
    const tasks = chosenTasks(await world.world.tasks(world.valSplit), RECIPE.evaluationTasks);
    const { all } = await evaluate({ config, world, player, tasks });
    return all;
  } finally {
    await player.close();
  }
}
