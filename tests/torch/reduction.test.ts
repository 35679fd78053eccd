/**
 * @file Reductions, and what runs along a dimension, against plain JavaScript.
 */
import { expect, it } from "vitest";
import { ones, type Tensor, tensor, tidy, zeros } from "../../src/torch/index.ts";
import { ReductionTensor } from "../../src/torch/tensor/reduction.ts";
import { methodsOf, testFamily } from "./support/family.ts";
import { expectTensor, type Plain } from "./support/values.ts";

const X = [
  [3, -1, 4],
  [1, -5, 9],
];
const COLUMNS = [0, 1, 2].map((j) => X.map((row) => row[j]!));
const ALL = X.flat();
const f64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "float64" });
const i64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "int64" });
const x = () => f64(X);

const sum = (v: number[]) => v.reduce((a, b) => a + b, 0);
const mean = (v: number[]) => sum(v) / v.length;
const prod = (v: number[]) => v.reduce((a, b) => a * b, 1);
const variance = (v: number[], correction: number) =>
  sum(v.map((a) => (a - mean(v)) ** 2)) / (v.length - correction);
const logsumexp = (v: number[]) => Math.log(sum(v.map(Math.exp)));
const norm = (v: number[], p: number) => sum(v.map((a) => Math.abs(a) ** p)) ** (1 / p);
const softmax = (v: number[]) => v.map((a) => Math.exp(a) / sum(v.map(Math.exp)));
const running = (v: number[], f: (a: number, b: number) => number) =>
  v.map((_, i) => v.slice(0, i + 1).reduce(f));
const tolerance = 1e-14;

// 2 × 3 × 2, for reductions over several dimensions.
const CUBE = [
  [
    [1, 2],
    [3, 4],
    [5, 6],
  ],
  [
    [7, 8],
    [9, 10],
    [11, 12],
  ],
];

testFamily("reduction", methodsOf(ReductionTensor), [
  { of: "sum", that: "all", got: () => x().sum(), want: sum(ALL) },
  { of: "sum", that: "one dimension", got: () => x().sum(0), want: COLUMNS.map(sum) },
  {
    of: "sum",
    that: "negative dimension, kept",
    got: () => x().sum(-1, true),
    want: X.map((r) => [sum(r)]),
  },
  { of: "sum", that: "several dimensions", got: () => f64(CUBE).sum([0, -1]), want: [18, 26, 34] },
  {
    of: "sum",
    that: "bool counts as int64",
    got: () => tensor([true, true, false]).sum(),
    want: 2,
    dtype: "int64",
  },
  {
    of: "sum",
    that: "int32 becomes int64",
    got: () => tensor([2 ** 31 - 1, 1], { dtype: "int32" }).sum(),
    want: 2 ** 31,
    dtype: "int64",
  },
  {
    of: "sum",
    that: "with a dtype",
    got: () => i64([1, 2]).sum(undefined, false, "float64"),
    want: 3,
    dtype: "float64",
  },
  { of: "sum", that: "no elements", got: () => zeros([0, 2]).sum(0), want: [0, 0] },
  { of: "mean", that: "all", got: () => x().mean(), want: mean(ALL), tolerance },
  { of: "mean", that: "one dimension", got: () => x().mean(1), want: X.map(mean), tolerance },
  {
    of: "mean",
    that: "of integers with a dtype",
    got: () => i64([1, 2]).mean(undefined, false, "float32"),
    want: 1.5,
    dtype: "float32",
  },
  { of: "mean", that: "no elements gives NaN", got: () => zeros([0]).mean(), want: Number.NaN },
  { of: "var", that: "unbiased", got: () => x().var(), want: variance(ALL, 1), tolerance },
  {
    of: "var",
    that: "population, one dimension",
    got: () => x().var(1, 0),
    want: X.map((r) => variance(r, 0)),
    tolerance,
  },
  {
    of: "var",
    that: "kept",
    got: () => x().var(0, 1, true),
    want: [COLUMNS.map((c) => variance(c, 1))],
    tolerance,
  },
  { of: "std", got: () => x().std(), want: Math.sqrt(variance(ALL, 1)), tolerance },
  {
    of: "std",
    that: "population",
    got: () => x().std(1, 0),
    want: X.map((r) => Math.sqrt(variance(r, 0))),
    tolerance,
  },
  { of: "amax", got: () => x().amax(), want: 9 },
  { of: "amax", that: "one dimension", got: () => x().amax(1), want: [4, 9] },
  {
    of: "amax",
    that: "several, kept",
    got: () => f64(CUBE).amax([0, 2], true),
    want: [[[8], [10], [12]]],
  },
  { of: "amin", got: () => x().amin(), want: -5 },
  { of: "amin", that: "one dimension", got: () => x().amin(-2), want: [1, -5, 4] },
  { of: "argmax", that: "of the flattened", got: () => x().argmax(), want: 5, dtype: "int64" },
  { of: "argmax", that: "one dimension, kept", got: () => x().argmax(1, true), want: [[2], [2]] },
  { of: "argmin", got: () => x().argmin(), want: 4, dtype: "int64" },
  { of: "argmin", that: "one dimension", got: () => x().argmin(0), want: [1, 1, 0] },
  { of: "max", that: "values", got: () => x().max(0).values, want: [3, -1, 9] },
  { of: "max", that: "indices", got: () => x().max(0).indices, want: [0, 0, 1], dtype: "int64" },
  { of: "min", that: "values, kept", got: () => x().min(1, true).values, want: [[-1], [-5]] },
  { of: "min", that: "indices", got: () => x().min(1).indices, want: [1, 1] },
  { of: "prod", that: "all", got: () => x().prod(), want: prod(ALL) },
  {
    of: "prod",
    that: "one dimension",
    got: () => x().prod(1, true),
    want: X.map((r) => [prod(r)]),
  },
  { of: "prod", that: "no elements", got: () => zeros([0]).prod(), want: 1 },
  { of: "any", that: "all", got: () => tensor([0, 0, 2]).any(), want: true, dtype: "bool" },
  {
    of: "any",
    that: "one dimension",
    got: () =>
      tensor([
        [true, false],
        [false, false],
      ]).any(1),
    want: [true, false],
  },
  { of: "any", that: "no elements", got: () => zeros([0]).any(), want: false },
  { of: "all", that: "all", got: () => tensor([1, 0]).all(), want: false, dtype: "bool" },
  {
    of: "all",
    that: "one dimension, kept",
    got: () =>
      tensor([
        [true, true],
        [false, true],
      ]).all(0, true),
    want: [[false, true]],
  },
  { of: "all", that: "no elements", got: () => zeros([0]).all(), want: true },
  { of: "logsumexp", got: () => x().logsumexp(1), want: X.map(logsumexp), tolerance },
  {
    of: "logsumexp",
    that: "large values do not overflow",
    got: () => f64([1000, 1000]).logsumexp(0),
    want: 1000 + Math.log(2),
    tolerance,
  },
  {
    of: "logsumexp",
    that: "several, kept",
    got: () => x().logsumexp([0, 1], true),
    want: [[logsumexp(ALL)]],
    tolerance,
  },
  { of: "norm", that: "2", got: () => x().norm(), want: norm(ALL, 2), tolerance },
  {
    of: "norm",
    that: "1 along a dimension",
    got: () => x().norm(1, 1),
    want: X.map((r) => norm(r, 1)),
    tolerance,
  },
  {
    of: "norm",
    that: "3, kept",
    got: () => x().norm(3, [0], true),
    want: [COLUMNS.map((c) => norm(c, 3))],
    tolerance,
  },
  { of: "norm", that: "infinity", got: () => x().norm(Infinity), want: 9 },
  { of: "cumsum", got: () => x().cumsum(1), want: X.map((r) => running(r, (a, b) => a + b)) },
  {
    of: "cumsum",
    that: "negative dimension, bool",
    got: () => tensor([true, false, true]).cumsum(-1),
    want: [1, 1, 2],
    dtype: "int64",
  },
  { of: "cumprod", got: () => x().cumprod(1), want: X.map((r) => running(r, (a, b) => a * b)) },
  { of: "softmax", got: () => x().softmax(1), want: X.map(softmax), tolerance },
  {
    of: "softmax",
    that: "other dimension",
    got: () => x().softmax(-2),
    want: [0, 1].map((i) => COLUMNS.map((c) => softmax(c)[i]!)),
    tolerance,
  },
  {
    of: "softmax",
    that: "with a dtype",
    got: () => tensor([0, 0], { dtype: "bfloat16" }).softmax(0, "float32"),
    want: [0.5, 0.5],
    dtype: "float32",
  },
  {
    of: "softmax",
    that: "masked by −∞",
    got: () => f64([0, -Infinity, 0]).softmax(0),
    want: [0.5, 0, 0.5],
  },
  {
    of: "logSoftmax",
    got: () => x().logSoftmax(1),
    want: X.map((r) => r.map((a) => a - logsumexp(r))),
    tolerance,
  },
  {
    of: "logSoftmax",
    that: "with a dtype",
    got: () => tensor([0, 0]).logSoftmax(0, "float64"),
    want: [-Math.LN2, -Math.LN2],
    dtype: "float64",
    tolerance,
  },
  {
    of: "topk",
    that: "values",
    got: () => x().topk(2).values,
    want: [
      [4, 3],
      [9, 1],
    ],
  },
  {
    of: "topk",
    that: "indices",
    got: () => x().topk(2).indices,
    want: [
      [2, 0],
      [2, 0],
    ],
    dtype: "int64",
  },
  {
    of: "topk",
    that: "smallest, other dimension",
    got: () => x().topk(1, 0, false).values,
    want: [[1, -5, 4]],
  },
  {
    of: "sort",
    that: "values",
    got: () => x().sort().values,
    want: [
      [-1, 3, 4],
      [-5, 1, 9],
    ],
  },
  {
    of: "sort",
    that: "falling, other dimension",
    got: () => x().sort(0, true).indices,
    want: [
      [0, 0, 1],
      [1, 1, 0],
    ],
    dtype: "int64",
  },
  {
    of: "sort",
    that: "equal values keep their order",
    got: () => tensor([1, 0, 1, 0, 1]).sort(0, true).indices,
    want: [0, 2, 4, 1, 3],
  },
]);

it("a long float32 sum stays accurate", () => {
  tidy(() => {
    // Adding 0.1 one after the other in float32 would be off by more than 1e-3 of the sum.
    expectTensor(ones([1_000_000]).mul(0.1).sum(), 1e6 * Math.fround(0.1), { tolerance: 1e-6 });
  });
});

it("a dimension that is not there is an error that names the operator", () => {
  tidy(() => {
    expect(() => zeros([2, 3]).sum(2)).toThrow(
      /aten::sum\.dim_IntList\(float32\[2, 3\].*Dimension out of range/,
    );
    expect(() => zeros([0]).amax()).toThrow(/aten::amax/);
    expect(() => tensor([1, 2], { dtype: "int64" }).mean()).toThrow(/aten::mean\.dim\(int64\[2\]/);
  });
});
