/**
 * @file Peak memory of one training step of the 0.5B shape: 4,096 packed tokens, the whole vocabulary,
 * checkpointed layers. A program of its own, because a process remembers its peak; prints JSON.
 *
 * `npm run bench -- models` runs it and subtracts what any training must hold.
 */
import { readFileSync } from "node:fs";
import { newModel, packSequences, tokenOutputs } from "../src/models/index.ts";
import * as torch from "../src/torch/index.ts";
import { LARGE, randomIds } from "./models-ours.ts";

const SEQUENCES = 8;
const LENGTH = 512;

const bytesOf = (field: "VmHWM" | "VmRSS") =>
  1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status())?.[1]);
const status = () => readFileSync("/proc/self/status", "utf8");

const atStart = bytesOf("VmRSS");
const model = newModel(LARGE, new torch.Generator(1));
const optimizer = torch.adamw(model.parameters, { lr: 1e-4 });
const ids = randomIds(SEQUENCES, LENGTH, LARGE.vocabularySize);
const places = ids.flatMap((row, i) => row.slice(1).map((_, k) => i * LENGTH + k));
const targets = ids.flatMap((row) => row.slice(1));
const start = performance.now();
torch.tidy(() => {
  const index = (values: number[]) => torch.tensor(values, { dtype: "int64" });
  const { logprobs, entropies } = tokenOutputs(
    model,
    packSequences(ids),
    index(places),
    index(targets),
    { layersPerSegment: 1 },
  );
  logprobs.mean().neg().sub(entropies!.mean().mul(0.01)).backward();
  const norm = torch.gradientNorm(model.parameters);
  optimizer.step({ gradientScale: torch.clipFactor(norm, 1) });
  optimizer.clearGradients();
});
const parameters = [...model.parameters.values()].reduce((sum, t) => sum + t.byteLength, 0);
console.log(
  JSON.stringify({
    /** Weights, gradients, and two moments. */
    stateBytes: 4 * parameters,
    peakBytes: bytesOf("VmHWM") - atStart,
    seconds: (performance.now() - start) / 1000,
  }),
);
