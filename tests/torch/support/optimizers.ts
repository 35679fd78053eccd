/**
 * @file AdamW and SGD in plain JavaScript numbers, and gradients to feed them.
 */
import { type Dtype, type Tensor, tensor, tidy } from "../../../src/torch/index.ts";
import { Random } from "./random.ts";

export interface AdamW {
  lr: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
}

export interface Sgd {
  lr: number;
  momentum: number;
  weightDecay: number;
}

/** One parameter under AdamW: Loshchilov and Hutter (2019), algorithm 2. */
export class PlainAdamW {
  readonly values: number[];
  private readonly first: number[];
  private readonly second: number[];
  private step = 0;

  constructor(values: readonly number[]) {
    this.values = [...values];
    this.first = values.map(() => 0);
    this.second = values.map(() => 0);
  }

  update(gradient: readonly number[], settings: AdamW): void {
    const { lr, beta1, beta2, epsilon, weightDecay } = settings;
    this.step++;
    for (const [i, g] of gradient.entries()) {
      this.first[i] = beta1 * this.first[i]! + (1 - beta1) * g;
      this.second[i] = beta2 * this.second[i]! + (1 - beta2) * g * g;
      const mean = this.first[i]! / (1 - beta1 ** this.step);
      const square = this.second[i]! / (1 - beta2 ** this.step);
      const decay = lr * weightDecay * this.values[i]!;
      this.values[i] = this.values[i]! - decay - (lr * mean) / (Math.sqrt(square) + epsilon);
    }
  }
}

export class PlainSgd {
  readonly values: number[];
  private readonly velocity: number[];

  constructor(values: readonly number[]) {
    this.values = [...values];
    this.velocity = values.map(() => 0);
  }

  update(gradient: readonly number[], { lr, momentum, weightDecay }: Sgd): void {
    for (const [i, g] of gradient.entries()) {
      this.velocity[i] = momentum * this.velocity[i]! + g + weightDecay * this.values[i]!;
      this.values[i] = this.values[i]! - lr * this.velocity[i]!;
    }
  }
}

/** Values as a dtype holds them, so that both sides start from the same numbers. */
export function rounded(values: readonly number[], dtype: Dtype): number[] {
  return dtype === "float32" ? values.map(Math.fround) : [...values];
}

export function randomValues(seed: number, count: number, dtype: Dtype): number[] {
  return rounded(new Random(seed).normals(count), dtype);
}

/** A parameter with the values given. */
export function parameterOf(
  values: readonly number[],
  dtype: Dtype,
  shape: number[] = [values.length],
): Tensor {
  return tidy(() =>
    tensor(values as number[], { dtype })
      .view(shape)
      .clone(),
  ).requiresGrad_();
}

export function setGradient(parameter: Tensor, gradient: readonly number[] | null): void {
  tidy(() => {
    parameter.grad =
      gradient === null
        ? null
        : tensor(gradient as number[], { dtype: parameter.dtype }).view(parameter.shape);
  });
}
