/**
 * @file What the tests of the package's entry share: a model that has learned the form of answers in the
 * world of lights, and options of runs that take a second.
 */
import { join } from "node:path";
import { type TrainOptions, warmStart } from "../../src/library/index.ts";
import lights from "../training/support/lights.ts";

export { lights };

/** Runs that take no longer than they must, and say nothing. */
export const QUICK = {
  world: lights,
  tasks: 3,
  groupSize: 3,
  learningRate: 1e-3,
  validation: { every: 0 },
  settings: { trainer: { threads: 1 } },
  progress: false,
} as const satisfies Partial<TrainOptions>;

export const NEW_MODEL = { preset: "tiny", tasks: 20, vocabulary: 300 } as const;

/** A new model after a short warm start; gives its folder. */
export async function warmModel(parent: string): Promise<string> {
  return warmStart({
    ...QUICK,
    model: NEW_MODEL,
    warmStart: { episodes: 100, epochs: 3 },
    folder: join(parent, "warm-model"),
  });
}
