/**
 * @file What must be so before a run begins: the device and the precision can be had, model, tokenizer and
 * checkpoint belong together.
 */
import { OptionError } from "../../assembly/index.ts";
import type { Chat, Fingerprints, Model } from "../../models/index.ts";
import { autocast, tidy, useDevice, zeros } from "../../torch/index.ts";
import type { TrainingOptions } from "../options.ts";
import type { ResumeFolders } from "./workers.ts";

const ORIGINS: Readonly<Record<keyof Fingerprints, string>> = {
  weights: "other weights",
  tokenizer: "another tokenizer",
  template: "another chat template",
};

/** An adapter on another base, or ids of another tokenizer, would give garbage and no error. */
export function requireSameOrigin(
  { folder: checkpoint, origin: before }: ResumeFolders,
  now: Fingerprints,
  folder: string,
): void {
  const parts = Object.keys(ORIGINS) as (keyof Fingerprints)[];
  const differing = parts.filter((part) => before && before[part] !== now[part]);
  if (differing.length === 0) return;
  throw new OptionError(
    `${checkpoint} was trained from another model than ${folder}, which has ` +
      `${differing.map((part) => ORIGINS[part]).join(" and ")}: what is learned on one is garbage on the ` +
      "other. Give the model that the run began with, or begin a new run in another folder.",
  );
}

export function requireDevice(device: string): void {
  try {
    if (!/^[a-z]+(:\d+)?$/.test(device)) throw new Error("expected cpu, cuda or cuda:N");
    useDevice(device);
    tidy(() => zeros([1], { device }));
  } catch (error) {
    throw new OptionError(
      `trainer.device is "${device}", which cannot be used here: ${(error as Error).message}`,
    );
  }
}

/** Not every libtorch has every precision everywhere; the first update is a late time to find out. */
export function requirePrecision({ passes, play }: TrainingOptions): void {
  if (passes.autocast === "none") return;
  try {
    autocast({ dtype: passes.autocast, device: play.device }, () => {});
  } catch (error) {
    throw new OptionError(
      `autocast=${passes.autocast} cannot be had here: ${(error as Error).message}`,
    );
  }
}

/** A tokenizer whose ids the model does not have would fail in the middle of a rollout. */
export function requireVocabulary(model: Model, { tokenizer }: Chat, folder: string): void {
  const { vocabularySize } = model.config;
  if (tokenizer.vocabularySize <= vocabularySize) return;
  throw new OptionError(
    `${folder}: the tokenizer has ${tokenizer.vocabularySize} tokens, the model only ` +
      `${vocabularySize}; they do not belong together.`,
  );
}
