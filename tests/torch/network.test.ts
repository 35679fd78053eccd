/**
 * @file Matrix products, activations, normalisation and losses against plain JavaScript.
 */
import { expect, it } from "vitest";
import { type Tensor, tensor, tidy } from "../../src/torch/index.ts";
import { NetworkTensor } from "../../src/torch/tensor/network.ts";
import { type Case, methodsOf, testFamily } from "./support/family.ts";
import { Random } from "./support/random.ts";
import type { Plain } from "./support/values.ts";

type Matrix = number[][];
const random = new Random(7);
const matrix = (rows: number, columns: number): Matrix =>
  Array.from({ length: rows }, () => random.normals(columns));
const f64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "float64" });
const i64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "int64" });

const product = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) => b[0]!.map((_, j) => row.reduce((sum, v, k) => sum + v * b[k]![j]!, 0)));
const transpose = (a: Matrix): Matrix => a[0]!.map((_, j) => a.map((row) => row[j]!));
const combine = (a: Matrix, b: Matrix, f: (x: number, y: number) => number): Matrix =>
  a.map((row, i) => row.map((v, j) => f(v, b[i]![j]!)));

const A = matrix(2, 3);
const B = matrix(3, 4);
const C = matrix(2, 4);
const A2 = matrix(2, 3);
const B2 = matrix(3, 4);
const V = random.normals(3);
const W = random.normals(4);
const BIAS = random.normals(4);
const VALUES = [-30, -2, -0.5, 0, 0.5, 2, 30];
const tolerance = 1e-13;

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const geluTanh = (x: number) =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
/** The normal distribution's Φ(x), from tables to 15 digits. */
const PHI: Record<number, number> = {
  0: 0.5,
  0.5: 0.691462461274013,
  1: 0.841344746068543,
  2: 0.977249868051821,
};

const LOGITS = matrix(4, 3);
const CLASSES = [2, 0, -100, 1];
const logSoftmax = (row: number[]) => {
  const total = Math.log(row.reduce((sum, v) => sum + Math.exp(v), 0));
  return row.map((v) => v - total);
};
const LOSSES = LOGITS.map((row, i) => (CLASSES[i]! < 0 ? 0 : -logSoftmax(row)[CLASSES[i]!]!));
const add = (values: number[]) => values.reduce((a, b) => a + b, 0);

const GAMMA = random.normals(3);
const BETA = random.normals(3);
function layerNorm(row: number[], beta: number[], epsilon: number): number[] {
  const mean = add(row) / row.length;
  const variance = add(row.map((v) => (v - mean) ** 2)) / row.length;
  return row.map((v, j) => ((v - mean) / Math.sqrt(variance + epsilon)) * GAMMA[j]! + beta[j]!);
}

const activations: Case[] = [
  { of: "relu", got: () => f64(VALUES).relu(), want: VALUES.map((x) => Math.max(0, x)) },
  { of: "relu", that: "integers", got: () => i64([-1, 2]).relu(), want: [0, 2], dtype: "int64" },
  { of: "sigmoid", got: () => f64(VALUES).sigmoid(), want: VALUES.map(sigmoid), tolerance },
  {
    of: "logSigmoid",
    got: () => f64(VALUES).logSigmoid(),
    want: VALUES.map((x) => -Math.log1p(Math.exp(-x))),
    tolerance,
  },
  {
    of: "logSigmoid",
    that: "far below 0 is not −∞",
    got: () => tensor([-200]).logSigmoid(),
    want: [-200],
    tolerance: 1e-6,
  },
  { of: "silu", got: () => f64(VALUES).silu(), want: VALUES.map((x) => x * sigmoid(x)), tolerance },
  {
    of: "gelu",
    got: () => f64([0, 0.5, 1, 2]).gelu(),
    want: [0, 0.5, 1, 2].map((x) => x * PHI[x]!),
    tolerance,
  },
  {
    of: "gelu",
    that: "tanh",
    got: () => f64(VALUES).gelu("tanh"),
    want: VALUES.map(geluTanh),
    tolerance,
  },
  {
    of: "softplus",
    got: () => f64(VALUES).softplus(),
    want: VALUES.map((x) => (x > 20 ? x : Math.log1p(Math.exp(x)))),
    tolerance,
  },
];

testFamily("network", methodsOf(NetworkTensor), [
  { of: "matmul", got: () => f64(A).matmul(f64(B)), want: product(A, B), tolerance },
  {
    of: "matmul",
    that: "vectors",
    got: () => f64(V).matmul(f64(V)),
    want: add(V.map((v) => v * v)),
    tolerance,
  },
  {
    of: "matmul",
    that: "broadcasts batches",
    got: () => f64([[A], [A2]]).matmul(f64([B, B2])),
    want: [
      [product(A, B), product(A, B2)],
      [product(A2, B), product(A2, B2)],
    ],
    tolerance,
  },
  {
    of: "matmul",
    that: "integers",
    got: () => i64([[1, 2]]).matmul(i64([[3], [4]])),
    want: [[11]],
    dtype: "int64",
  },
  {
    of: "matmul",
    that: "an inner dimension of 0 gives zeros",
    got: () => tensor([[], []]).matmul(tensor([]).view([0, 2])),
    want: [
      [0, 0],
      [0, 0],
    ],
  },
  {
    of: "mm",
    got: () => tensor(A).mm(tensor(B)),
    want: product(A, B),
    tolerance: 1e-6,
    dtype: "float32",
  },
  {
    of: "bmm",
    got: () => f64([A, A2]).bmm(f64([B, B2])),
    want: [product(A, B), product(A2, B2)],
    tolerance,
  },
  {
    of: "addmm",
    got: () => f64(C).addmm(f64(A), f64(B)),
    want: combine(C, product(A, B), (x, y) => x + y),
    tolerance,
  },
  {
    of: "addmm",
    that: "beta and alpha",
    got: () => f64(C).addmm(f64(A), f64(B), 0.5, 2),
    want: combine(C, product(A, B), (x, y) => 0.5 * x + 2 * y),
    tolerance,
  },
  {
    of: "baddbmm",
    got: () => f64([C, C]).baddbmm(f64([A, A2]), f64([B, B2]), 2, -1),
    want: [
      combine(C, product(A, B), (x, y) => 2 * x - y),
      combine(C, product(A2, B2), (x, y) => 2 * x - y),
    ],
    tolerance,
  },
  { of: "dot", got: () => f64(V).dot(f64(V)), want: add(V.map((v) => v * v)), tolerance },
  {
    of: "outer",
    got: () => f64(V).outer(f64(W)),
    want: V.map((v) => W.map((w) => v * w)),
    tolerance,
  },
  { of: "linear", got: () => f64(A).linear(f64(transpose(B))), want: product(A, B), tolerance },
  {
    of: "linear",
    that: "with a bias",
    got: () => f64([A, A2]).linear(f64(transpose(B)), f64(BIAS)),
    want: [A, A2].map((a) => product(a, B).map((row) => row.map((v, j) => v + BIAS[j]!))),
    tolerance,
  },
  ...activations,
  {
    of: "embedding",
    got: () =>
      f64(A).embedding(
        i64([
          [1, 0],
          [1, 1],
        ]),
      ),
    want: [
      [A[1]!, A[0]!],
      [A[1]!, A[1]!],
    ],
  },
  {
    of: "oneHot",
    got: () => i64([2, 0]).oneHot(3),
    want: [
      [0, 0, 1],
      [1, 0, 0],
    ],
    dtype: "int64",
  },
  {
    of: "layerNorm",
    got: () => f64(A).layerNorm(f64(GAMMA)),
    want: A.map((row) => layerNorm(row, [0, 0, 0], 1e-5)),
    tolerance,
  },
  {
    of: "layerNorm",
    that: "bias and epsilon",
    got: () => f64(A).layerNorm(f64(GAMMA), f64(BETA), 0.1),
    want: A.map((row) => layerNorm(row, BETA, 0.1)),
    tolerance,
  },
  {
    of: "crossEntropy",
    got: () => f64(LOGITS).crossEntropy(i64(CLASSES)),
    want: add(LOSSES) / 3,
    tolerance,
  },
  {
    of: "crossEntropy",
    that: "sum",
    got: () => f64(LOGITS).crossEntropy(i64(CLASSES), "sum"),
    want: add(LOSSES),
    tolerance,
  },
  {
    of: "crossEntropy",
    that: "per row",
    got: () => f64(LOGITS).crossEntropy(i64(CLASSES), "none"),
    want: LOSSES,
    tolerance,
  },
  {
    of: "crossEntropy",
    that: "another class to ignore",
    got: () => f64(LOGITS).crossEntropy(i64([2, 0, 0, 1]), "none", 0),
    want: [LOSSES[0]!, 0, 0, LOSSES[3]!],
    tolerance,
  },
  { of: "meanSquaredError", got: () => f64([1, 2]).meanSquaredError(f64([3, 5])), want: 6.5 },
  {
    of: "meanSquaredError",
    that: "sum",
    got: () => f64([1, 2]).meanSquaredError(f64([3, 5]), "sum"),
    want: 13,
  },
  {
    of: "meanSquaredError",
    that: "per element",
    got: () => f64([1, 2]).meanSquaredError(f64([3, 5]), "none"),
    want: [4, 9],
  },
]);

it("products that do not fit, and classes that are not there, are errors", () => {
  tidy(() => {
    expect(() => tensor(A).mm(tensor(A))).toThrow(
      /aten::mm\(float32\[2, 3\], float32\[2, 3\]\).*2x3 and 2x3/,
    );
    expect(() => tensor(A).mm(f64(B))).toThrow(/aten::mm\(float32\[2, 3\], float64\[3, 4\]\)/);
    expect(() => f64(LOGITS).crossEntropy(i64([0, 1, 2, 3]))).toThrow(
      /aten::cross_entropy_loss.*Target 3 is out of bounds/,
    );
    expect(() => f64(A).embedding(i64([2]))).toThrow(/aten::embedding.*index out of range/);
    expect(() => i64([3]).oneHot(3)).toThrow(/aten::one_hot/);
  });
});

it("a large product agrees with JavaScript at random places", () => {
  const [n, k, m] = [130, 257, 67];
  const a = matrix(n, k);
  const b = matrix(k, m);
  tidy(() => {
    const got = tensor(a).mm(tensor(b)).toArray() as number[][];
    for (let trial = 0; trial < 200; trial++) {
      const [i, j] = [random.integer(0, n - 1), random.integer(0, m - 1)];
      const want = add(a[i]!.map((v, l) => v * b[l]![j]!));
      expect(Math.abs(got[i]![j]! - want)).toBeLessThan(1e-4);
    }
  });
});

it("a sparse gradient of an embedding joins a dense one, and only it is dense then", () => {
  tidy(() => {
    const index = tensor([2, 0, 2, 5], { dtype: "int64" });
    const gradientOf = (sparseGradient: boolean): unknown => {
      const matrix = tensor(Array.from({ length: 6 }, (_, i) => [i, 1 - i, 0.5]));
      matrix.requiresGrad_();
      const seen = matrix.embedding(index, { sparseGradient });
      seen.linear(matrix).square().sum().backward();
      return matrix.grad!.toArray();
    };
    expect(gradientOf(true)).toEqual(gradientOf(false));
  });
});
