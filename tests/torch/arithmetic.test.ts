/**
 * @file Arithmetic, element by element, against JavaScript's own.
 */
import { expect, it } from "vitest";
import { type Dtype, type Tensor, tensor, tidy, zeros } from "../../src/torch/index.ts";
import { ArithmeticTensor } from "../../src/torch/tensor/arithmetic.ts";
import { type Case, methodsOf, testFamily } from "./support/family.ts";
import { expectTensor, mapPlain, type Plain } from "./support/values.ts";

const VALUES = [-2.5, -1, -0.5, -0, 0.25, 1, 1.5, 2.5, 7];
const POSITIVE = [1e-3, 0.25, 1, 2, 7, 1e4];
const f64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "float64" });
const i64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "int64" });

/** Halves go to the even neighbour, as IEEE 754 has it and Math.round does not. */
function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** The error function by its Taylor series, exact enough for |x| ≤ 3. */
function erf(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const UNARY: [string, (x: number) => number, number[]][] = [
  ["neg", (x) => -x, VALUES],
  ["abs", Math.abs, VALUES],
  ["sign", (x) => Math.sign(x), VALUES],
  ["square", (x) => x * x, VALUES],
  ["reciprocal", (x) => 1 / x, POSITIVE],
  ["sqrt", Math.sqrt, POSITIVE],
  ["rsqrt", (x) => 1 / Math.sqrt(x), POSITIVE],
  ["exp", Math.exp, VALUES],
  ["expm1", Math.expm1, [...VALUES, 1e-12]],
  ["log", Math.log, POSITIVE],
  ["log1p", Math.log1p, [...POSITIVE, 1e-12]],
  ["sin", Math.sin, VALUES],
  ["cos", Math.cos, VALUES],
  ["tanh", Math.tanh, VALUES],
  ["erf", erf, [-2.5, -1, 0, 0.25, 1, 2.5]],
  ["floor", Math.floor, VALUES],
  ["ceil", Math.ceil, VALUES],
  ["round", roundHalfEven, VALUES],
  ["trunc", Math.trunc, VALUES],
];

type Unary = (this: Tensor) => Tensor;
const apply = (x: Tensor, name: string) => (x[name as keyof Tensor] as Unary).call(x);

const unaryCases: Case[] = UNARY.flatMap(([of, f, inputs]) => [
  {
    of,
    that: "float64",
    got: () => apply(f64(inputs), of),
    want: inputs.map(f),
    dtype: "float64" as Dtype,
    tolerance: 1e-14,
  },
  {
    of,
    that: "float32",
    got: () => apply(tensor(inputs), of),
    want: inputs.map((x) => f(Math.fround(x))),
    dtype: "float32" as Dtype,
    tolerance: 1e-6,
  },
  {
    of,
    that: "no elements",
    got: () => apply(zeros([2, 0]), of),
    want: [[], []],
    dtype: "float32" as Dtype,
  },
]);

const A = [
  [1, 2, 3],
  [4, 5, 6],
];
const ROW = [10, 20, 30];
const COLUMN = [[-1], [2]];
const plus = (f: (a: number, b: number) => number) =>
  A.map((row) => row.map((a, j) => f(a, ROW[j]!)));
const withColumn = (f: (a: number, b: number) => number) =>
  A.map((row, i) => row.map((a) => f(a, COLUMN[i]![0]!)));

const binaryCases: Case[] = [
  {
    of: "add",
    that: "broadcasts a row",
    got: () => tensor(A).add(tensor(ROW)),
    want: plus((a, b) => a + b),
    dtype: "float32",
  },
  {
    of: "add",
    that: "broadcasts a column",
    got: () => tensor(A).add(tensor(COLUMN)),
    want: withColumn((a, b) => a + b),
  },
  {
    of: "add",
    that: "broadcasts both ways",
    got: () => tensor(COLUMN).add(tensor(ROW)),
    want: [
      [9, 19, 29],
      [12, 22, 32],
    ],
  },
  {
    of: "add",
    that: "alpha",
    got: () => tensor(A).add(tensor(ROW), 0.5),
    want: plus((a, b) => a + b / 2),
  },
  {
    of: "add",
    that: "a number and alpha",
    got: () => tensor(A).add(3, 2),
    want: mapPlain(A, (a) => a + 6),
  },
  {
    of: "add",
    that: "int64 and a whole number stays int64",
    got: () => i64([1, 2]).add(3),
    want: [4, 5],
    dtype: "int64",
  },
  {
    of: "add",
    that: "int64 and a fraction becomes float32",
    got: () => i64([1, 2]).add(0.5),
    want: [1.5, 2.5],
    dtype: "float32",
  },
  {
    of: "add",
    that: "int64 and float32 becomes float32",
    got: () => i64([1, 2]).add(tensor([0.5, 0.5])),
    want: [1.5, 2.5],
    dtype: "float32",
  },
  {
    of: "add",
    that: "float32 and float64 becomes float64",
    got: () => tensor([1]).add(f64([0.1])),
    want: [1.1],
    dtype: "float64",
  },
  {
    of: "add",
    that: "bool and int64 becomes int64",
    got: () => tensor([true, false]).add(i64([2, 2])),
    want: [3, 2],
    dtype: "int64",
  },
  {
    of: "add",
    that: "a dimensionless float64 does not widen float32",
    got: () => tensor([1]).add(f64(2)),
    want: [3],
    dtype: "float32",
  },
  {
    of: "add",
    that: "bfloat16 and float32 becomes float32",
    got: () => tensor([1], { dtype: "bfloat16" }).add(tensor([0.5])),
    want: [1.5],
    dtype: "float32",
  },
  {
    of: "add",
    that: "uint8 wraps around",
    got: () => tensor([250, 255], { dtype: "uint8" }).add(10),
    want: [4, 9],
    dtype: "uint8",
  },
  {
    of: "add",
    that: "no elements",
    got: () => zeros([0, 3]).add(tensor(ROW)),
    want: [],
    shape: [0, 3],
  },
  { of: "sub", got: () => tensor(A).sub(tensor(ROW)), want: plus((a, b) => a - b) },
  {
    of: "sub",
    that: "alpha",
    got: () => tensor(A).sub(tensor(ROW), 2),
    want: plus((a, b) => a - 2 * b),
  },
  {
    of: "sub",
    that: "a number and alpha",
    got: () => tensor(A).sub(3, 2),
    want: mapPlain(A, (a) => a - 6),
  },
  { of: "rsub", got: () => tensor(A).rsub(1), want: mapPlain(A, (a) => 1 - a) },
  { of: "mul", got: () => tensor(A).mul(tensor(COLUMN)), want: withColumn((a, b) => a * b) },
  {
    of: "mul",
    that: "a number",
    got: () => tensor(A).mul(-0.5),
    want: mapPlain(A, (a) => a * -0.5),
  },
  {
    of: "mul",
    that: "bools are logical and",
    got: () => tensor([true, true, false]).mul(tensor([true, false, false])),
    want: [true, false, false],
    dtype: "bool",
  },
  { of: "div", got: () => f64(A).div(f64(ROW)), want: plus((a, b) => a / b), tolerance: 1e-15 },
  { of: "div", that: "a number", got: () => tensor(A).div(4), want: mapPlain(A, (a) => a / 4) },
  {
    of: "div",
    that: "integers give float32",
    got: () => i64([1, 3]).div(i64([2, 2])),
    want: [0.5, 1.5],
    dtype: "float32",
  },
  {
    of: "div",
    that: "by zero gives the infinities and NaN",
    got: () => tensor([1, -1, 0]).div(0),
    want: [Infinity, -Infinity, NaN],
  },
  {
    of: "div",
    that: "floor, tensors",
    got: () => i64([7, -7]).div(i64([2, 2]), "floor"),
    want: [3, -4],
    dtype: "int64",
  },
  {
    of: "div",
    that: "trunc, tensors",
    got: () => i64([7, -7]).div(i64([2, 2]), "trunc"),
    want: [3, -3],
    dtype: "int64",
  },
  { of: "div", that: "floor, number", got: () => tensor([7, -7]).div(2, "floor"), want: [3, -4] },
  { of: "div", that: "trunc, number", got: () => tensor([7, -7]).div(2, "trunc"), want: [3, -3] },
  {
    of: "remainder",
    that: "has the divisor's sign",
    got: () => tensor([5, -5, 5, -5]).remainder(tensor([3, 3, -3, -3])),
    want: [2, 1, -1, -2],
  },
  {
    of: "remainder",
    that: "a number",
    got: () => i64([5, -5]).remainder(3),
    want: [2, 1],
    dtype: "int64",
  },
  {
    of: "pow",
    that: "tensors",
    got: () => f64([2, 3, 4]).pow(f64([3, 2, 0.5])),
    want: [8, 9, 2],
    tolerance: 1e-15,
  },
  {
    of: "pow",
    that: "a number",
    got: () => f64(VALUES).pow(3),
    want: VALUES.map((x) => x ** 3),
    tolerance: 1e-15,
  },
  { of: "pow", that: "integers", got: () => i64([2, -3]).pow(5), want: [32, -243], dtype: "int64" },
  {
    of: "clamp",
    got: () => tensor(VALUES).clamp(-1, 1.5),
    want: VALUES.map((x) => Math.min(1.5, Math.max(-1, x))),
  },
  {
    of: "clamp",
    that: "open below",
    got: () => tensor(VALUES).clamp(null, 0.5),
    want: VALUES.map((x) => Math.min(0.5, x)),
  },
  {
    of: "clamp",
    that: "open above",
    got: () => tensor(VALUES).clamp(0.5),
    want: VALUES.map((x) => Math.max(0.5, x)),
  },
  { of: "clamp", that: "NaN stays NaN", got: () => tensor([NaN, 5]).clamp(0, 1), want: [NaN, 1] },
  {
    of: "clampTensor",
    got: () => tensor([1, 5, 9]).clampTensor(tensor([2, 2, 2]), tensor([3, 6, 8])),
    want: [2, 5, 8],
  },
  {
    of: "clampTensor",
    that: "one side",
    got: () => tensor([1, 5]).clampTensor(null, tensor([3, 6])),
    want: [1, 5],
  },
  { of: "minimum", got: () => tensor(A).minimum(tensor(COLUMN)), want: withColumn(Math.min) },
  {
    of: "minimum",
    that: "NaN wins",
    got: () => tensor([NaN, 1]).minimum(tensor([0, NaN])),
    want: [NaN, NaN],
  },
  { of: "maximum", got: () => tensor(A).maximum(tensor(COLUMN)), want: withColumn(Math.max) },
  {
    of: "lerp",
    that: "a number",
    got: () => f64([0, 10]).lerp(f64([10, 20]), 0.25),
    want: [2.5, 12.5],
  },
  {
    of: "lerp",
    that: "a tensor",
    got: () => f64([0, 10]).lerp(f64([10, 20]), f64([0, 1])),
    want: [0, 20],
  },
  { of: "addcmul", got: () => f64([1, 2]).addcmul(f64([3, 4]), f64([5, 6]), 0.5), want: [8.5, 14] },
  { of: "addcmul", that: "value 1", got: () => f64([1]).addcmul(f64([3]), f64([5])), want: [16] },
  { of: "addcdiv", got: () => f64([1, 2]).addcdiv(f64([3, 4]), f64([4, 8]), 2), want: [2.5, 3] },
  {
    of: "nanToNum",
    got: () => tensor([NaN, Infinity, -Infinity, 3]).nanToNum(0, 9, -9),
    want: [0, 9, -9, 3],
  },
  {
    of: "nanToNum",
    that: "defaults: 0 and the largest floats",
    got: () => tensor([NaN, Infinity, -Infinity]).nanToNum(),
    want: [0, 3.4028234663852886e38, -3.4028234663852886e38],
  },
];

testFamily("arithmetic", methodsOf(ArithmeticTensor), [...unaryCases, ...binaryCases]);

it("shapes that do not broadcast are an error that names the operator and both shapes", () => {
  tidy(() => {
    expect(() => zeros([2, 3]).add(zeros([4]))).toThrow(
      /aten::add\.Tensor\(float32\[2, 3\], float32\[4\]/,
    );
  });
});

it("minus zero keeps its sign on the way in and out", () => {
  tidy(() => {
    expect(Object.is(tensor([0]).mul(-0).item(), -0)).toBe(true);
    expectTensor(tensor([-0]).reciprocal(), [-Infinity]);
  });
});
