/**
 * @file Functions of several tensors.
 */
import { expect, it } from "vitest";
import * as functions from "../../src/torch/functions.ts";
import { Generator, ones, type Tensor, tensor, tidy, zeros } from "../../src/torch/index.ts";
import { testFamily } from "./support/family.ts";
import type { Plain } from "./support/values.ts";

const { cat, dropout, einsum, searchSorted, stack, where } = functions;
const i64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "int64" });
const A = [
  [1, 2],
  [3, 4],
];
const MASK = [
  [true, false],
  [false, true],
];

testFamily("functions", Object.keys(functions), [
  { of: "cat", got: () => cat([tensor(A), tensor([[5, 6]])]), want: [...A, [5, 6]] },
  {
    of: "cat",
    that: "negative dimension",
    got: () => cat([tensor(A), tensor([[5], [6]])], -1),
    want: [
      [1, 2, 5],
      [3, 4, 6],
    ],
  },
  {
    of: "cat",
    that: "promotes",
    got: () => cat([i64([1]), tensor([0.5])]),
    want: [1, 0.5],
    dtype: "float32",
  },
  {
    of: "cat",
    that: "with one that has no rows",
    got: () => cat([zeros([0, 2]), tensor(A)]),
    want: A,
  },
  { of: "stack", got: () => stack([tensor([1, 2]), tensor([3, 4])]), want: A },
  {
    of: "stack",
    that: "last dimension",
    got: () => stack([tensor([1, 2]), tensor([3, 4])], -1),
    want: [
      [1, 3],
      [2, 4],
    ],
  },
  {
    of: "where",
    that: "tensors",
    got: () =>
      where(
        tensor(MASK),
        tensor(A),
        tensor([
          [-1, -2],
          [-3, -4],
        ]),
      ),
    want: [
      [1, -2],
      [-3, 4],
    ],
  },
  {
    of: "where",
    that: "tensor and number",
    got: () => where(tensor(MASK), tensor(A), 0.5),
    want: [
      [1, 0.5],
      [0.5, 4],
    ],
    dtype: "float32",
  },
  {
    of: "where",
    that: "number and tensor",
    got: () => where(tensor(MASK), -Infinity, tensor(A)),
    want: [
      [-Infinity, 2],
      [3, -Infinity],
    ],
  },
  {
    of: "where",
    that: "numbers",
    got: () => where(tensor(MASK), 0.5, 2),
    want: [
      [0.5, 2],
      [2, 0.5],
    ],
    dtype: "float32",
  },
  {
    of: "where",
    that: "broadcasts",
    got: () => where(tensor([true, false]), tensor(A), tensor([[10], [20]])),
    want: [
      [1, 10],
      [3, 20],
    ],
  },
  {
    of: "einsum",
    that: "a product of matrices",
    got: () => einsum("ij,jk->ik", [tensor(A), tensor(A)]),
    want: [
      [7, 10],
      [15, 22],
    ],
  },
  { of: "einsum", that: "a trace", got: () => einsum("ii", [tensor(A)]), want: 5 },
  {
    of: "einsum",
    that: "batches of dot products",
    got: () => einsum("bi,bi->b", [tensor(A), tensor(A)]),
    want: [5, 25],
  },
  {
    of: "searchSorted",
    got: () => searchSorted(tensor([1, 3, 5]), tensor([0, 3, 9])),
    want: [0, 1, 3],
    dtype: "int64",
  },
  {
    of: "searchSorted",
    that: "right",
    got: () => searchSorted(tensor([1, 3, 5]), tensor([0, 3, 9]), true),
    want: [0, 2, 3],
  },
  {
    of: "dropout",
    that: "probability 0 changes nothing",
    got: () => dropout(tensor(A), 0, new Generator(1)),
    want: A,
  },
]);

it("dropout zeroes about the share it says and scales up the rest", () => {
  tidy(() => {
    const generator = new Generator(3);
    const values = dropout(ones([10_000]), 0.25, generator).toNumbers();
    const kept = values.filter((value) => value !== 0);
    // Four standard deviations of a binomial with n = 10,000, p = 0.75 are 174.
    expect(Math.abs(kept.length - 7500)).toBeLessThan(174);
    expect(new Set(kept)).toEqual(new Set([Math.fround(1 / 0.75)]));
  });
});

it("dropout's probability is checked", () => {
  const x = ones([2]);
  for (const probability of [-0.1, 1, Number.NaN])
    expect(() => dropout(x, probability, new Generator(1))).toThrow(
      /dropout: expected a probability/,
    );
  x.dispose();
});

it("lists that do not fit together are errors", () => {
  tidy(() => {
    expect(() => cat([zeros([2, 2]), zeros([3, 3])])).toThrow(
      /aten::cat.*Sizes of tensors must match/,
    );
    expect(() => stack([zeros([2]), zeros([3])])).toThrow(/aten::stack/);
    expect(() => cat([])).toThrow(/aten::cat/);
    expect(() => einsum("ij,jk", [zeros([2, 3]), zeros([2, 2])])).toThrow(/aten::einsum/);
  });
});
