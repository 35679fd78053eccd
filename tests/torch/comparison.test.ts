/**
 * @file Comparisons and logic against JavaScript's own.
 */
import { type Tensor, tensor } from "../../src/torch/index.ts";
import { ComparisonTensor } from "../../src/torch/tensor/comparison.ts";
import { type Case, methodsOf, testFamily } from "./support/family.ts";

const A = [1, 2, 3, Number.NaN];
const B = [3, 2, 1, Number.NaN];
const COMPARISONS: [string, (a: number, b: number) => boolean][] = [
  ["eq", (a, b) => a === b],
  ["ne", (a, b) => a !== b],
  ["lt", (a, b) => a < b],
  ["le", (a, b) => a <= b],
  ["gt", (a, b) => a > b],
  ["ge", (a, b) => a >= b],
];
const LOGIC: [string, (a: boolean, b: boolean) => boolean][] = [
  ["logicalAnd", (a, b) => a && b],
  ["logicalOr", (a, b) => a || b],
  ["logicalXor", (a, b) => a !== b],
];
type Compare = (this: Tensor, other: Tensor | number) => Tensor;
const apply = (x: Tensor, name: string, other: Tensor | number) =>
  (x[name as keyof Tensor] as Compare).call(x, other);

const truths = [true, true, false, false];
const others = [true, false, true, false];

testFamily("comparison", methodsOf(ComparisonTensor), [
  ...COMPARISONS.flatMap<Case>(([of, f]) => [
    {
      of,
      that: "tensors",
      got: () => apply(tensor(A), of, tensor(B)),
      want: A.map((a, i) => f(a, B[i]!)),
      dtype: "bool",
    },
    {
      of,
      that: "a number",
      got: () => apply(tensor(A), of, 2),
      want: A.map((a) => f(a, 2)),
      dtype: "bool",
    },
    {
      of,
      that: "broadcast, int64 with float32",
      got: () => apply(tensor([[1], [3]], { dtype: "int64" }), of, tensor([1, 2.5])),
      want: [1, 3].map((a) => [1, 2.5].map((b) => f(a, b))),
      dtype: "bool",
    },
  ]),
  ...LOGIC.flatMap<Case>(([of, f]) => [
    {
      of,
      that: "bools",
      got: () => apply(tensor(truths), of, tensor(others)),
      want: truths.map((a, i) => f(a, others[i]!)),
      dtype: "bool",
    },
    {
      of,
      that: "numbers count as true unless 0",
      got: () => apply(tensor([0, 2]), of, tensor([0.5, 0])),
      want: [f(false, true), f(true, false)],
      dtype: "bool",
    },
  ]),
  {
    of: "logicalNot",
    got: () => tensor(truths).logicalNot(),
    want: truths.map((a) => !a),
    dtype: "bool",
  },
  {
    of: "logicalNot",
    that: "numbers",
    got: () => tensor([0, -1, 0.5]).logicalNot(),
    want: [true, false, false],
  },
  {
    of: "isnan",
    got: () => tensor([Number.NaN, Infinity, 1]).isnan(),
    want: [true, false, false],
    dtype: "bool",
  },
  {
    of: "isnan",
    that: "integers never are",
    got: () => tensor([1, 2], { dtype: "int64" }).isnan(),
    want: [false, false],
  },
  {
    of: "isinf",
    got: () => tensor([Number.NaN, -Infinity, 1]).isinf(),
    want: [false, true, false],
    dtype: "bool",
  },
  {
    of: "isfinite",
    got: () => tensor([Number.NaN, Infinity, 1]).isfinite(),
    want: [false, false, true],
    dtype: "bool",
  },
  {
    of: "isclose",
    got: () => tensor([1, 1, 100]).isclose(tensor([1.05, 1.2, 110]), 0.1, 0),
    want: [true, false, true],
    dtype: "bool",
  },
  {
    of: "isclose",
    that: "absolute",
    got: () => tensor([0, 0]).isclose(tensor([0.01, 0.1]), 0, 0.05),
    want: [true, false],
  },
  {
    of: "isclose",
    that: "NaN only when said",
    got: () => tensor([Number.NaN]).isclose(tensor([Number.NaN])),
    want: [false],
  },
  {
    of: "isclose",
    that: "equal NaN",
    got: () => tensor([Number.NaN]).isclose(tensor([Number.NaN]), 0, 0, true),
    want: [true],
  },
]);
