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
  /** What every algorithm is tuned by, alike, before its runs. Without it all have the rate of `training`. */
  readonly tuning?: Tuning;
  /** What is asked, written down before anything runs: of two algorithms, whether the first is better. */
  readonly questions?: readonly (readonly [first: string, second: string])[];
}

/** Each algorithm has the rate whose run, with a seed and tasks of its own, ended best. */
export interface Tuning {
  readonly rates: readonly string[];
  /** Settings in place of those of the real runs: how long, by which tasks. */
  readonly training: readonly string[];
}

export interface Folders {
  readonly root: string;
  readonly model: string;
  /** After so many stages of the warm start. */
  warm(stages: number): string;
  run(algorithm: string, seed: number): string;
  tuning(algorithm: string, rate: string): string;
}

export function foldersOf(root: string): Folders {
  const slug = (algorithm: string) => algorithm.toLowerCase().replaceAll(/\W+/g, "-");
  return {
    root,
    model: join(root, "model"),
    warm: (stages) => join(root, stages === 1 ? "warm" : `warm-${stages}`),
    run: (algorithm, seed) => join(root, `${slug(algorithm)}-${seed}`),
    tuning: (algorithm, rate) => join(root, "tuning", `${slug(algorithm)}-${rate}`),
  };
}
