/**
 * @file What the checks of models share: folders as users make them, sequences, and how far two lists of
 * logits are apart.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../../src/environments/index.ts";
import {
  loadModel,
  logits,
  type Model,
  packSequences,
  readModelConfig,
  saveModel,
} from "../../src/models/index.ts";
import { Generator, noGrad, randn, tidy } from "../../src/torch/index.ts";
import type { Finding } from "./check.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Logits of ours may differ from a peer's by this much. */
const TOLERANCE = 1e-4;

/** A model folder from `openmanus-rl model init`: a tiny one with a tokenizer of its own. */
export function initialModelFolder(place: string, family: string, ...words: string[]): string {
  const made = join(place, `${family}-new`);
  const texts = ["README.md", "docs/models.md", "docs/environments.md"].map((file) => ROOT + file);
  const given = ["model", "init", made, "--preset", "tiny", "--family", family, ...words];
  execFileSync(process.execPath, ["bin/openmanus-rl.mjs", ...given, "--text", ...texts], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return made;
}

/**
 * The same as training saves it. Its weights are made larger before: new ones are so small that every logit is nearly 0, and any two models would agree.
 */
export function newModelFolder(place: string, family: string, ...words: string[]): string {
  const made = initialModelFolder(place, family, ...words);
  const model = loadModel(made);
  const generator = new Generator(2);
  noGrad(() => {
    for (const [name, parameter] of model.parameters)
      tidy(() => {
        if (parameter.ndim > 1) parameter.mul_(5);
        // New ones are 0: nobody would notice that they are not read.
        if (name.endsWith(".bias")) parameter.copy_(randn(parameter.shape, generator));
      });
  });
  const folder = join(place, family);
  saveModel(model, folder, { tokenizerFolder: made });
  model.dispose();
  return folder;
}

/** A model of tests/models/golden, changed a little and saved as training saves it. */
export function savedGolden(place: string, family: string): string {
  const model = loadModel(join(ROOT, "tests/models/golden", family));
  noGrad(() => {
    for (const parameter of model.parameters.values()) tidy(() => parameter.mul_(1.25));
  });
  const folder = join(place, `${family}-again`);
  saveModel(model, folder);
  model.dispose();
  return folder;
}

/** Token ids to compute logits of. */
export function someSequences(folder: string): number[][] {
  const random = seededRandom("interop", 1);
  const { vocabularySize } = readModelConfig(folder);
  return [1, 7, 40].map((length) => Array.from({ length }, () => random.integer(vocabularySize)));
}

/** [tokens · vocabulary] for each sequence. */
export function ourLogits(model: Model, sequences: readonly (readonly number[])[]): number[][] {
  const rowsOf = (ids: readonly number[]) =>
    tidy(() => logits(model, packSequences([[...ids]])).toArray() as number[][]);
  return noGrad(() => sequences.map((ids) => rowsOf(ids).flat()));
}

export function comparedLogits(
  what: string,
  ours: readonly (readonly number[])[],
  theirs: readonly (readonly number[])[],
): Finding {
  let [most, largest, count] = [0, 0, 0];
  const sizes = (lists: readonly (readonly number[])[]) => lists.map((list) => list.length).join();
  for (const [i, list] of theirs.entries())
    for (const [j, value] of list.entries()) {
      const difference = Math.abs(value - ours[i]![j]!);
      // Written so that NaN is a difference.
      if (!(difference <= most)) most = difference;
      largest = Math.max(largest, Math.abs(value));
      count++;
    }
  // Rounding grows with the numbers: those of a real model are ten times a small one's.
  const tolerance = TOLERANCE * Math.max(1, largest / 10);
  const isRight = most <= tolerance && count > 0 && largest > 1 && sizes(ours) === sizes(theirs);
  return {
    what,
    detail: `${most.toExponential(1)} apart at most, of up to ${largest.toFixed(1)}`,
    problem: isRight
      ? undefined
      : `expected at most ${tolerance} over the same numbers of logits (${sizes(ours)}, theirs ${sizes(theirs)})`,
  };
}
