/**
 * @file Our side of the peers' training step: the models room's packed pass and our AdamW, as training uses them.
 */
import {
  byTokenBudget,
  loadModel,
  packSequences,
  tokenOutputs,
} from "../../../src/models/index.ts";
import * as torch from "../../../src/torch/index.ts";
import { passTokens } from "../../../src/training/index.ts";
import { median, statusBytes } from "../../measure.ts";
import type { TrainingAnswer, TrainingRequest } from "../training.ts";
import { answer, type Request } from "./answering.ts";

/** Weight of the entropy in the loss, as transformers_trains.py has it. */
const ENTROPY_WEIGHT = 0.01;

await answer<TrainingRequest & Request>(({ folder, ids, entropy, steps }): TrainingAnswer => {
  const model = loadModel(folder);
  const optimizer = torch.adamw(model.parameters, { lr: 1e-6 });
  // As large as training's own passes are where nobody says otherwise.
  const limit = passTokens(model.config, false);
  const passes = byTokenBudget(
    ids.map(({ length }) => length),
    limit,
  ).map((members) => members.map((row) => ids[row]!));
  const trained = ids.reduce((sum, { length }) => sum + length - 1, 0);
  /** The pass's part of the loss, and its gradients. */
  const pass = (sequences: readonly (readonly number[])[]): number =>
    torch.tidy(() => {
      const places: number[] = [];
      const targets: number[] = [];
      let begin = 0;
      for (const row of sequences) {
        for (let at = 1; at < row.length; at++) {
          places.push(begin + at - 1);
          targets.push(row[at]!);
        }
        begin += row.length;
      }
      const index = (values: number[]) => torch.tensor(values, { dtype: "int64" });
      const packed = packSequences(sequences.map((row) => [...row]));
      const how = { entropy };
      const found = tokenOutputs(model, packed, index(places), index(targets), how);
      const plain = found.logprobs.sum().neg();
      const sum = found.entropies ? plain.sub(found.entropies.sum().mul(ENTROPY_WEIGHT)) : plain;
      const loss = sum.div(trained);
      loss.backward();
      return Number(loss.detach().toNumbers()[0]);
    });
  const step = (): number => {
    const loss = passes.reduce((sum, sequences) => sum + pass(sequences), 0);
    const norm = torch.gradientNorm(model.parameters);
    optimizer.step({ gradientScale: torch.clipFactor(norm, 1) });
    optimizer.clearGradients();
    return loss;
  };
  const loss = step();
  const times = Array.from({ length: steps }, () => {
    const start = performance.now();
    step();
    return (performance.now() - start) / 1000;
  });
  return {
    seconds: median(times),
    loss,
    peakBytes: statusBytes("VmHWM"),
    about: `passes of at most ${limit} tokens`,
  };
});
