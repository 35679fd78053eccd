/**
 * @file A copy of a model's weights in fewer bytes, for generation alone: a step with few sequences waits for
 * weights to come from memory. What is drawn comes from the copy's distribution, and its log-probabilities are
 * recorded, so training can correct for the difference.
 */
import type { Model } from "../models/index.ts";
import { dispose, invoke, keep, noGrad, openmanus, type Tensor, tidy } from "../torch/index.ts";

const quantizeRows = openmanus("quantize_rows");

/** bfloat16: two bytes; int8: one, and a float32 scale for every 64 columns of a row. */
export const QUANTIZATIONS = ["bfloat16", "int8"] as const;
export type Quantization = (typeof QUANTIZATIONS)[number];

/** What the native pass reads: a model's own tensors, or copies of its matrices. */
export type PassWeights = Pick<Model, "layer" | "output" | "parameters">;

export interface ShortWeights extends PassWeights {
  /** Of the copies. */
  readonly bytes: number;
  dispose(): void;
}

/** Matrices are copied; vectors (norms, biases) are few, and stay the model's own. */
export function shortWeights(model: Model, quantization: Quantization): ShortWeights {
  // A tied output layer is the embedding, once.
  const copies = new Map<Tensor, Tensor>();
  const copyOf = (tensor: Tensor): Tensor => {
    if (tensor.shape.length !== 2) return tensor;
    let copy = copies.get(tensor);
    if (!copy) {
      copy = keep(tidy(() => noGrad(() => shortened(tensor.detach(), quantization))));
      copies.set(tensor, copy);
    }
    return copy;
  };
  const parameters = new Map([...model.parameters].map(([name, own]) => [name, copyOf(own)]));
  return {
    parameters,
    layer(index, name) {
      const own = model.layer(index, name);
      return own && copyOf(own);
    },
    output: copyOf(model.output),
    bytes: [...copies.values()].reduce((sum, { byteLength }) => sum + byteLength, 0),
    dispose: () => dispose([...copies.values()]),
  };
}

function shortened(matrix: Tensor, quantization: Quantization): Tensor {
  if (quantization === "bfloat16") return matrix.to("bfloat16").clone();
  return invoke(quantizeRows, matrix.to("float32").contiguous().handle);
}
