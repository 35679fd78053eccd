/**
 * @file Picking and writing elements by index or mask.
 */
import { expect, it } from "vitest";
import { type Tensor, tensor, tidy, zeros } from "../../src/torch/index.ts";
import { IndexingTensor } from "../../src/torch/tensor/indexing.ts";
import { methodsOf, testFamily } from "./support/family.ts";
import { expectTensor, type Plain } from "./support/values.ts";

const X = [
  [1, 2, 3],
  [4, 5, 6],
];
const x = () => tensor(X);
const i64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "int64" });
const MASK = [
  [true, false, true],
  [false, true, false],
];

testFamily("indexing", methodsOf(IndexingTensor), [
  {
    of: "gather",
    got: () =>
      x().gather(
        1,
        i64([
          [2, 0],
          [1, 1],
        ]),
      ),
    want: [
      [3, 1],
      [5, 5],
    ],
  },
  {
    of: "gather",
    that: "negative dimension",
    got: () => x().gather(-2, i64([[1, 0, 1]])),
    want: [[4, 2, 6]],
  },
  {
    of: "indexSelect",
    got: () => x().indexSelect(1, i64([2, 2, 0])),
    want: [
      [3, 3, 1],
      [6, 6, 4],
    ],
  },
  {
    of: "indexSelect",
    that: "nothing",
    got: () => x().indexSelect(0, i64([])),
    want: [],
    shape: [0, 3],
  },
  { of: "index", got: () => x().index([i64([0, 1, 1]), i64([2, 0, -1])]), want: [3, 4, 6] },
  {
    of: "index",
    that: "null takes the whole dimension",
    got: () => x().index([null, i64([1])]),
    want: [[2], [5]],
  },
  { of: "index", that: "a mask", got: () => x().index([tensor(MASK)]), want: [1, 3, 5] },
  {
    of: "indexPut",
    got: () => x().indexPut([i64([0]), i64([1])], tensor([9])),
    want: [
      [1, 9, 3],
      [4, 5, 6],
    ],
  },
  {
    of: "indexPut",
    that: "accumulates also at equal places",
    got: () => x().indexPut([i64([0, 0]), i64([1, 1])], tensor([10, 20]), true),
    want: [
      [1, 32, 3],
      [4, 5, 6],
    ],
  },
  {
    of: "indexAdd",
    got: () =>
      x().indexAdd(
        1,
        i64([0, 0]),
        tensor([
          [1, 10],
          [2, 20],
        ]),
      ),
    want: [
      [12, 2, 3],
      [26, 5, 6],
    ],
  },
  {
    of: "scatter",
    got: () => x().scatter(1, i64([[0], [2]]), tensor([[8], [9]])),
    want: [
      [8, 2, 3],
      [4, 5, 9],
    ],
  },
  {
    of: "scatter",
    that: "a number",
    got: () => x().scatter(1, i64([[0], [2]]), 0),
    want: [
      [0, 2, 3],
      [4, 5, 0],
    ],
  },
  {
    of: "scatterAdd",
    got: () => zeros([3]).scatterAdd(0, i64([0, 2, 0]), tensor([1, 2, 3])),
    want: [4, 0, 2],
  },
  {
    of: "maskedFill",
    got: () => x().maskedFill(tensor(MASK), -1),
    want: [
      [-1, 2, -1],
      [4, -1, 6],
    ],
  },
  {
    of: "maskedFill",
    that: "broadcasts, −∞",
    got: () => x().maskedFill(tensor([false, false, true]), -Infinity),
    want: [
      [1, 2, -Infinity],
      [4, 5, -Infinity],
    ],
  },
  { of: "maskedSelect", got: () => x().maskedSelect(tensor(MASK)), want: [1, 3, 5] },
  {
    of: "nonzero",
    got: () =>
      tensor([
        [0, 7],
        [1, 0],
      ]).nonzero(),
    want: [
      [0, 1],
      [1, 0],
    ],
    dtype: "int64",
  },
  { of: "nonzero", that: "nothing", got: () => zeros([2, 2]).nonzero(), want: [], shape: [0, 2] },
  {
    of: "take",
    got: () =>
      x().take(
        i64([
          [5, 0],
          [1, -1],
        ]),
      ),
    want: [
      [6, 1],
      [2, 6],
    ],
  },
]);

it("an index outside is an error", () => {
  tidy(() => {
    expect(() => x().gather(1, i64([[3], [0]]))).toThrow(/aten::gather.*index 3 is out of bounds/);
    expect(() => x().indexSelect(0, i64([2]))).toThrow(/aten::index_select.*out of range/);
    expect(() => x().index([i64([2])])).toThrow(/aten::index\.Tensor.*index 2 is out of bounds/);
    expect(() => x().index([tensor([1.5])])).toThrow(/aten::index\.Tensor/);
  });
});

it("what returns a copy leaves the tensor alone", () => {
  tidy(() => {
    const a = x();
    a.indexPut([i64([0])], tensor([0]));
    a.scatter(1, i64([[0], [0]]), 9);
    a.maskedFill(tensor(MASK), 9);
    expectTensor(a, X);
  });
});
