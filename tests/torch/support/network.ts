/**
 * @file A two-layer network in plain JavaScript: its loss, its gradients by hand, and numerically.
 *
 *   hidden = tanh(x · firstᵀ + bias)      output = hidden · secondᵀ      loss = mean (output − y)²
 */
import { Random } from "./random.ts";

export interface Network {
  /** [hidden, inputs] */
  first: number[];
  /** [hidden] */
  bias: number[];
  /** [outputs, hidden] */
  second: number[];
}

export const SIZES = { rows: 5, inputs: 3, hidden: 4, outputs: 2 } as const;
const { rows, inputs, hidden, outputs } = SIZES;

export function randomNetwork(seed: number): { network: Network; x: number[]; y: number[] } {
  const random = new Random(seed);
  return {
    network: {
      first: random.normals(hidden * inputs),
      bias: random.normals(hidden),
      second: random.normals(outputs * hidden),
    },
    x: random.normals(rows * inputs),
    y: random.normals(rows * outputs),
  };
}

function forward({ first, bias, second }: Network, x: number[]) {
  const h = new Array<number>(rows * hidden).fill(0);
  const out = new Array<number>(rows * outputs).fill(0);
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < hidden; j++) {
      let sum = bias[j]!;
      for (let i = 0; i < inputs; i++) sum += x[r * inputs + i]! * first[j * inputs + i]!;
      h[r * hidden + j] = Math.tanh(sum);
    }
    for (let o = 0; o < outputs; o++)
      for (let j = 0; j < hidden; j++)
        out[r * outputs + o]! += h[r * hidden + j]! * second[o * hidden + j]!;
  }
  return { h, out };
}

export function loss(network: Network, x: number[], y: number[]): number {
  const { out } = forward(network, x);
  return out.reduce((sum, value, i) => sum + (value - y[i]!) ** 2, 0) / out.length;
}

/** The gradients by the chain rule, and that of x. */
export function gradients(network: Network, x: number[], y: number[]): Network & { x: number[] } {
  const { h, out } = forward(network, x);
  const { first, second } = network;
  const result = {
    first: first.map(() => 0),
    bias: network.bias.map(() => 0),
    second: second.map(() => 0),
    x: x.map(() => 0),
  };
  for (let r = 0; r < rows; r++) {
    const back = new Array<number>(hidden).fill(0);
    for (let o = 0; o < outputs; o++) {
      const d = (2 * (out[r * outputs + o]! - y[r * outputs + o]!)) / out.length;
      for (let j = 0; j < hidden; j++) {
        result.second[o * hidden + j]! += d * h[r * hidden + j]!;
        back[j]! += d * second[o * hidden + j]!;
      }
    }
    for (let j = 0; j < hidden; j++) {
      const d = back[j]! * (1 - h[r * hidden + j]! ** 2);
      result.bias[j]! += d;
      for (let i = 0; i < inputs; i++) {
        result.first[j * inputs + i]! += d * x[r * inputs + i]!;
        result.x[r * inputs + i]! += d * first[j * inputs + i]!;
      }
    }
  }
  return result;
}

/** The gradients by central differences. */
export function numericalGradients(network: Network, x: number[], y: number[]): Network {
  const step = 1e-5;
  const along = (name: keyof Network) =>
    network[name].map((_, i) => {
      const at = (shift: number) => {
        const moved = { ...network, [name]: network[name].with(i, network[name][i]! + shift) };
        return loss(moved, x, y);
      };
      return (at(step) - at(-step)) / (2 * step);
    });
  return { first: along("first"), bias: along("bias"), second: along("second") };
}
