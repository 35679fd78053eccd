/**
 * @file Three steps of AdamW on the masked next-token loss, against transformers'.
 */
import { type Model, packSequences, separate, tokenOutputs } from "../../../src/models/index.ts";
import { adamw, clipGradients, type Tensor, tensor, tidy } from "../../../src/torch/index.ts";
import { type Golden, unpadded } from "./format.ts";

const RELATIVE_TOLERANCE = 1e-4;

export function trainingProblems(model: Model, golden: Golden): string[] {
  const problems: string[] = [];
  const optimizer = adamw(model.parameters, { lr: 1e-2, weightDecay: 0.01 });
  const expect = (step: number, what: string, found: number, expected: number) => {
    // Norms printed with seven digits: an absolute part for the tiny ones.
    if (!(Math.abs(found - expected) <= RELATIVE_TOLERANCE * Math.abs(expected) + 1e-6))
      problems.push(`step ${step}: ${what} is ${found}, expected ${expected}`);
  };
  for (const [step, expected] of golden.train.steps.entries())
    tidy(() => {
      const loss = maskedLoss(model, golden);
      loss.backward();
      expect(step, "loss", loss.item(), expected.loss);
      const norms = gradientNorms(model);
      for (const [name, norm] of Object.entries(expected.param_grad_norms ?? {}))
        expect(step, `the gradient norm of ${name}`, norms.get(name) ?? Number.NaN, norm);
      expect(
        step,
        "gradient norm",
        clipGradients(model.parameters, 1),
        expected.grad_norm_before_clip,
      );
      optimizer.step();
      optimizer.clearGradients();
    });
  optimizer.dispose();
  return problems;
}

/** The mean of −log p over the tokens of the mask, each predicted from the one before it. */
function maskedLoss(model: Model, golden: Golden): Tensor {
  const rows = golden.input_ids.map((row, i) => unpadded(row, golden.attention_mask[i]!));
  const masks = golden.train.loss_mask.map((row, i) => unpadded(row, golden.attention_mask[i]!));
  const [places, targets]: [number[], number[]] = [[], []];
  let start = 0;
  for (const [i, row] of rows.entries()) {
    for (let k = 1; k < row.length; k++)
      if (masks[i]![k] === 1) {
        places.push(start + k - 1);
        targets.push(row[k]!);
      }
    start += row.length;
  }
  const indices = (values: number[]) => tensor(values, { dtype: "int64" });
  const { logprobs } = tokenOutputs(model, packSequences(rows), indices(places), indices(targets), {
    entropy: false,
  });
  return logprobs.mean().neg();
}

function gradientNorms(model: Model): Map<string, number> {
  const gradients = new Map<string, Tensor>();
  for (const [name, parameter] of model.parameters) {
    const gradient = parameter.grad;
    if (gradient) gradients.set(name, gradient);
  }
  const separated = separate(model.config, gradients);
  return new Map([...separated].map(([name, gradient]) => [name, gradient.norm().item()]));
}
