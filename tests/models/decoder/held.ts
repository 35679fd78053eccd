/**
 * @file A program of its own for checkpointing.test.ts: megabytes that a forward pass holds for its
 * backward, without segments and with segments of 1 and 4 layers. As JSON.
 */
import { readFileSync } from "node:fs";
import { hiddenStates, newModel, packSequences, presetConfig } from "../../../src/models/index.ts";
import { Generator, returnFreedMemory, tidy } from "../../../src/torch/index.ts";
import { randomSequences } from "./support.ts";

const megabytes = () => {
  returnFreedMemory(); // else the resident set has what is no longer held
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))![1]) / 1024;
};

const config = { ...presetConfig("small"), layers: 8, slidingWindows: new Array(8).fill(16) };
const model = newModel(config, new Generator(3));
const sequences = randomSequences(new Array(4).fill(256), config.vocabularySize);

function held(layersPerSegment: number): number {
  return tidy(() => {
    const before = megabytes();
    const hidden = tidy(() => hiddenStates(model, packSequences(sequences), { layersPerSegment }));
    const after = megabytes();
    hidden.dispose();
    return after - before;
  });
}

held(0); // The first pass warms up.
console.log(JSON.stringify([held(0), held(1), held(4)]));
