/**
 * @file What networks are made of: matrix products, activations, embeddings, normalisation.
 */
import type { TensorCore } from "./core.ts";
import { IndexingTensor } from "./indexing.ts";
import { aten, invoke, invoke1, invoke2, invoke3 } from "./invoke.ts";
import type { Tensor } from "./tensor.ts";

const op = {
  matmul: aten("matmul"),
  mm: aten("mm"),
  bmm: aten("bmm"),
  addmm: aten("addmm"),
  baddbmm: aten("baddbmm"),
  dot: aten("dot"),
  outer: aten("outer"),
  linear: aten("linear"),
  relu: aten("relu"),
  sigmoid: aten("sigmoid"),
  logSigmoid: aten("log_sigmoid"),
  silu: aten("silu"),
  gelu: aten("gelu"),
  softplus: aten("softplus"),
  embedding: aten("embedding"),
  oneHot: aten("one_hot"),
  layerNorm: aten("layer_norm"),
  crossEntropy: aten("cross_entropy_loss"),
  meanSquaredError: aten("mse_loss"),
};

const REDUCTIONS = { none: 0, mean: 1, sum: 2 };

/** How a loss per element becomes a loss. */
export type Reduction = keyof typeof REDUCTIONS;

export class NetworkTensor extends IndexingTensor {
  /** The matrix product, batched and broadcast over leading dimensions. */
  matmul(other: TensorCore): Tensor {
    return invoke2(op.matmul, this.handle, other.handle);
  }

  /** The product of two matrices. */
  mm(other: TensorCore): Tensor {
    return invoke2(op.mm, this.handle, other.handle);
  }

  /** The products of two batches of matrices. */
  bmm(other: TensorCore): Tensor {
    return invoke2(op.bmm, this.handle, other.handle);
  }

  /** beta · this + alpha · a @ b */
  addmm(a: TensorCore, b: TensorCore, beta?: number, alpha?: number): Tensor {
    return invoke(op.addmm, this.handle, a.handle, b.handle, beta, alpha);
  }

  /** `addmm` for batches. */
  baddbmm(a: TensorCore, b: TensorCore, beta?: number, alpha?: number): Tensor {
    return invoke(op.baddbmm, this.handle, a.handle, b.handle, beta, alpha);
  }

  dot(other: TensorCore): Tensor {
    return invoke2(op.dot, this.handle, other.handle);
  }

  outer(other: TensorCore): Tensor {
    return invoke2(op.outer, this.handle, other.handle);
  }

  /** this @ weightᵀ + bias; weight is [out, in]. */
  linear(weight: TensorCore, bias: TensorCore | null = null): Tensor {
    return invoke3(op.linear, this.handle, weight.handle, bias?.handle);
  }

  relu(): Tensor {
    return invoke1(op.relu, this.handle);
  }

  sigmoid(): Tensor {
    return invoke1(op.sigmoid, this.handle);
  }

  logSigmoid(): Tensor {
    return invoke1(op.logSigmoid, this.handle);
  }

  silu(): Tensor {
    return invoke1(op.silu, this.handle);
  }

  gelu(approximate?: "none" | "tanh"): Tensor {
    return invoke2(op.gelu, this.handle, approximate);
  }

  softplus(): Tensor {
    return invoke1(op.softplus, this.handle);
  }

  /**
   * Rows of this matrix by index; any shape of index. With `sparseGradient` the matrix's gradient has
   * those rows alone: for a matrix that gets a dense gradient from elsewhere too, which takes them up.
   */
  embedding(index: TensorCore, { sparseGradient = false } = {}): Tensor {
    return invoke(op.embedding, this.handle, index.handle, -1, false, sparseGradient);
  }

  oneHot(classes: number): Tensor {
    return invoke2(op.oneHot, this.handle, classes);
  }

  layerNorm(weight: TensorCore, bias: TensorCore | null = null, epsilon = 1e-5): Tensor {
    return invoke(op.layerNorm, this.handle, weight.shape, weight.handle, bias?.handle, epsilon);
  }

  /** Of logits [rows, classes] against class numbers [rows]. */
  crossEntropy(target: TensorCore, reduction: Reduction = "mean", ignoreIndex = -100): Tensor {
    return invoke(
      op.crossEntropy,
      this.handle,
      target.handle,
      null,
      REDUCTIONS[reduction],
      ignoreIndex,
    );
  }

  meanSquaredError(target: TensorCore, reduction: Reduction = "mean"): Tensor {
    return invoke3(op.meanSquaredError, this.handle, target.handle, REDUCTIONS[reduction]);
  }
}
