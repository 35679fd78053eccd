/**
 * @file A model that learns from pairs or labelled episodes, from its folder to that of the result: an adapter where one
 * is asked for, checkpoints, metrics, and the weights that did best with what was held out.
 */
import { readFileSync } from "node:fs";
import { type LoraModel, type Model, saveLora, saveModel } from "../../models/index.ts";
import { openMetrics } from "../../monitoring/index.ts";
import {
  bestIn,
  metricsIn,
  openWork,
  requireNewModel,
  resumeFrom,
  type Work,
  type WorkIdentity,
  weightsIn,
} from "../checkpoint/work.ts";
import type { LoraSettings } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { folderOfFirst } from "../ranks/send.ts";
import { adapterOf } from "../workers/adapter.ts";
import {
  type LearnOptions,
  type LearnPosition,
  type LearnResult,
  learn,
  type Objective,
} from "./learn.ts";

export interface ModelLearning<Item> {
  /** The folder to begin with, and where the result goes. */
  readonly start: string;
  readonly out: string;
  /** Loads the start, or the weights of a checkpoint. */
  readonly load: (folder: string) => Model;
  /** Undefined: all weights are trained. */
  readonly lora: LoraSettings | undefined;
  readonly seed: number;
  readonly ranks: Ranks;
  readonly saveMinutes: number;
  /** Further files beside the result's weights, by name. */
  readonly notes: Readonly<Record<string, string>>;
  /** What is learned from, with whatever of it the model as it begins has to say. */
  prepare(model: Model): Promise<Prepared<Item>> | Prepared<Item>;
  objective(model: Model | LoraModel): Objective<Item>;
  readonly options: Omit<LearnOptions, "seed" | "ranks" | "resume" | "checkpoints" | "saveBest">;
  /** Hears that it goes on after so many updates. */
  readonly onResume?: ((update: number) => void) | undefined;
}

export interface Prepared<Item> {
  readonly training: readonly Item[];
  readonly validation: readonly Item[];
  /** What must be the same when it goes on. */
  readonly identity: WorkIdentity;
}

export interface ModelLearned extends LearnResult {
  readonly learned: number;
  readonly heldOut: number;
}

export async function learnModel<Item>(learning: ModelLearning<Item>): Promise<ModelLearned> {
  const { start, out, ranks } = learning;
  // Rank 0 writes checkpoints, metrics and the model; all of them learn.
  if (ranks.isFirst) requireNewModel(out, start);
  const work = ranks.isFirst ? openWork<LearnPosition>(out) : undefined;
  try {
    const result = await learnIn(work, learning);
    if (!result.isStopped) work?.remove();
    return result;
  } finally {
    work?.release();
  }
}

async function learnIn<Item>(
  work: Work<LearnPosition> | undefined,
  learning: ModelLearning<Item>,
): Promise<ModelLearned> {
  const { start, ranks, seed, lora } = learning;
  let model: Model | LoraModel = learning.load(start);
  try {
    const { identity, ...items } = await learning.prepare(model);
    const found = ranks.broadcast(work?.resume(identity));
    const copy = found === undefined ? undefined : folderOfFirst(ranks, found);
    const saved = copy && weightsIn(copy.path);
    if (lora) model = adapterOf(model, lora, seed, saved);
    else if (saved !== undefined) {
      model.dispose();
      model = learning.load(saved);
    }
    const resume = copy && resumeFrom<LearnPosition>(copy.path);
    if (resume) learning.onResume?.(resume.position.update);
    const metrics = work && openMetrics(metricsIn(work.folder));
    metrics?.truncateAfter(resume?.position.update ?? -1);
    const weights = (place: string) => saveWeights(model, place);
    let result: LearnResult;
    try {
      result = await learn(learning.objective(model), items, {
        ...{ ...learning.options, seed, ranks, resume },
        ...(work && {
          checkpoints: {
            minutes: learning.saveMinutes,
            save: (position, optimizer) => work.save(position, weights, optimizer, identity),
          },
          saveBest: () => work.saveBest(weights),
        }),
        onUpdate(progress) {
          metrics?.log(progress.update, progress.metrics);
          learning.options.onUpdate?.(progress);
        },
      });
    } finally {
      metrics?.close();
    }
    copy?.dispose();
    if (work && !result.isStopped) model = saveResult(work, model, result, learning);
    const { training, validation } = items;
    return { ...result, learned: training.length, heldOut: validation.length };
  } finally {
    model.dispose();
  }
}

function saveWeights(model: Model | LoraModel, folder: string): void {
  if ("matrices" in model) saveLora(model, folder);
  else saveModel(model, folder);
}

/** Saves the best, which may be the last; gives the model that is to be disposed of. */
function saveResult<Item>(
  work: Work<LearnPosition>,
  last: Model | LoraModel,
  { best, updates }: LearnResult,
  { start, out, load, lora, seed, notes }: ModelLearning<Item>,
): Model | LoraModel {
  let model = last;
  if (best && best.update !== updates) {
    last.dispose();
    const folder = weightsIn(bestIn(work.folder));
    model = lora ? adapterOf(load(start), lora, seed, folder) : load(folder);
  }
  saveModel(model, out, {
    tokenizerFolder: start,
    extraFiles: { ...notes, "metrics.jsonl": readFileSync(metricsIn(work.folder), "utf8") },
  });
  return model;
}
