/**
 * @file What a comparison is: a world, a start that all runs share, and a budget that is the same for
 * every algorithm. Written as the words of our own commands, so that each step can be run by hand.
 */
import { join } from "node:path";

export interface Comparison {
  readonly name: string;
  readonly title: string;
  /** The tasks of validations, in words. */
  readonly split: string;
  readonly withScore: boolean;
  /** Names of ALGORITHMS. */
  readonly algorithms: readonly string[];
  /** Held-out tasks of a validation. */
  readonly tasks: number;
  /** A file of settings: world, agent and limits, for every step. */
  readonly agent: string;
  /** Options of `model init`, or the folder of a model that another command makes. */
  readonly model: readonly string[] | { readonly folder: string; readonly madeBy: string };
  /** Options of `sft`, for each stage of the warm start. */
  readonly warmUp: readonly (readonly string[])[];
  /** Settings of `train` that all algorithms share. */
  readonly training: readonly string[];
}

export interface Folders {
  readonly root: string;
  readonly model: string;
  /** After so many stages of the warm start. */
  warm(stages: number): string;
  run(algorithm: string, seed: number): string;
}

export function foldersOf(root: string): Folders {
  return {
    root,
    model: join(root, "model"),
    warm: (stages) => join(root, stages === 1 ? "warm" : `warm-${stages}`),
    run: (algorithm, seed) => join(root, `${algorithm.toLowerCase().replaceAll(" ", "-")}-${seed}`),
  };
}
