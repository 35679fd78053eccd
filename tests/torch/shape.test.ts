/**
 * @file The same elements in other shapes, against nested arrays written by hand.
 */
import { expect, it } from "vitest";
import { tensor, tidy, zeros } from "../../src/torch/index.ts";
import { ShapeTensor } from "../../src/torch/tensor/shape.ts";
import { methodsOf, testFamily } from "./support/family.ts";
import { counting, expectTensor } from "./support/values.ts";

const X = [
  [1, 2, 3],
  [4, 5, 6],
];
const XT = [
  [1, 4],
  [2, 5],
  [3, 6],
];
const x = () => tensor(X);
const cube = () => tensor(counting([2, 3, 4]) as number[][][]);
const at = (i: number, j: number, k: number) => i * 12 + j * 4 + k;
const SQUARE = counting([3, 3], 1) as number[][];
const square = () => tensor(SQUARE);

testFamily("shape", methodsOf(ShapeTensor), [
  { of: "view", got: () => x().view([3, 2]), want: counting([3, 2], 1) },
  { of: "view", that: "−1", got: () => x().view([-1]), want: [1, 2, 3, 4, 5, 6] },
  { of: "viewAs", got: () => tensor([1]).viewAs("int32"), want: [0x3f800000], dtype: "int32" },
  {
    of: "viewAs",
    that: "another width",
    got: () => tensor([0, 0, 128, 63], { dtype: "uint8" }).viewAs("float32"),
    want: [1],
    dtype: "float32",
  },
  { of: "reshape", got: () => x().t().reshape([6]), want: [1, 4, 2, 5, 3, 6] },
  {
    of: "reshape",
    that: "no elements",
    got: () => zeros([0, 3]).reshape([3, 0]),
    want: [[], [], []],
  },
  {
    of: "transpose",
    got: () => cube().transpose(0, -1),
    want: [0, 1, 2, 3].map((k) => [0, 1, 2].map((j) => [0, 1].map((i) => at(i, j, k)))),
  },
  {
    of: "permute",
    got: () => cube().permute([1, 2, 0]),
    want: [0, 1, 2].map((j) => [0, 1, 2, 3].map((k) => [0, 1].map((i) => at(i, j, k)))),
  },
  { of: "t", got: () => x().t(), want: XT },
  { of: "squeeze", got: () => tensor([[[1], [2]]]).squeeze(-1), want: [[1, 2]] },
  { of: "squeeze", that: "a dimension that is not 1 stays", got: () => x().squeeze(0), want: X },
  { of: "unsqueeze", got: () => x().unsqueeze(1), want: X.map((row) => [row]) },
  { of: "unsqueeze", that: "negative", got: () => tensor([1, 2]).unsqueeze(-1), want: [[1], [2]] },
  {
    of: "expand",
    got: () => tensor([[1], [2]]).expand([2, 2, 3]),
    want: [
      [
        [1, 1, 1],
        [2, 2, 2],
      ],
      [
        [1, 1, 1],
        [2, 2, 2],
      ],
    ],
  },
  {
    of: "expand",
    that: "−1 keeps",
    got: () => tensor([[1], [2]]).expand([-1, 2]),
    want: [
      [1, 1],
      [2, 2],
    ],
  },
  {
    of: "repeat",
    got: () => tensor([1, 2]).repeat([2, 2]),
    want: [
      [1, 2, 1, 2],
      [1, 2, 1, 2],
    ],
  },
  { of: "repeatInterleave", got: () => tensor([1, 2]).repeatInterleave(2), want: [1, 1, 2, 2] },
  {
    of: "repeatInterleave",
    that: "along a dimension",
    got: () => x().repeatInterleave(2, 0),
    want: [X[0]!, X[0]!, X[1]!, X[1]!],
  },
  {
    of: "repeatInterleave",
    that: "counts per entry",
    got: () => x().repeatInterleave(tensor([1, 0, 2], { dtype: "int64" }), 1),
    want: [
      [1, 3, 3],
      [4, 6, 6],
    ],
  },
  { of: "flatten", got: () => cube().flatten(), want: counting([24]) },
  { of: "flatten", that: "some", got: () => cube().flatten(1, -1), want: counting([2, 12]) },
  {
    of: "narrow",
    got: () => x().narrow(1, 1, 2),
    want: [
      [2, 3],
      [5, 6],
    ],
  },
  { of: "narrow", that: "nothing", got: () => x().narrow(0, 2, 0), want: [], shape: [0, 3] },
  { of: "select", got: () => x().select(1, -1), want: [3, 6] },
  { of: "slice", got: () => tensor(counting([6]) as number[]).slice(0, 1, 6, 2), want: [1, 3, 5] },
  {
    of: "slice",
    that: "negative ends",
    got: () => tensor(counting([6]) as number[]).slice(-1, -3),
    want: [3, 4, 5],
  },
  {
    of: "slice",
    that: "beyond the end",
    got: () => x().slice(1, 1, 99),
    want: [
      [2, 3],
      [5, 6],
    ],
  },
  {
    of: "split",
    that: "one size, first",
    got: () => x().split(2, 1)[0]!,
    want: [
      [1, 2],
      [4, 5],
    ],
  },
  {
    of: "split",
    that: "one size, the smaller last",
    got: () => x().split(2, 1)[1]!,
    want: [[3], [6]],
  },
  {
    of: "split",
    that: "sizes",
    got: () => x().split([1, 2], -1)[1]!,
    want: [
      [2, 3],
      [5, 6],
    ],
  },
  { of: "chunk", got: () => tensor(counting([5]) as number[]).chunk(2)[1]!, want: [3, 4] },
  { of: "unbind", got: () => x().unbind(1)[2]!, want: [3, 6] },
  { of: "contiguous", got: () => x().t().contiguous(), want: XT },
  { of: "clone", got: () => x().t().clone(), want: XT },
  { of: "detach", got: () => x().detach(), want: X },
  { of: "alias", got: () => x().alias(), want: X },
  { of: "to", got: () => tensor([1.7, -1.7]).to("int64"), want: [1, -1], dtype: "int64" },
  {
    of: "to",
    that: "bool",
    got: () => tensor([0, -0.5]).to("bool"),
    want: [false, true],
    dtype: "bool",
  },
  {
    of: "to",
    that: "bfloat16 rounds to even",
    got: () => tensor([1 + 2 ** -8, 1 + 3 * 2 ** -8]).to("bfloat16"),
    want: [1, 1 + 2 ** -6],
    dtype: "bfloat16",
  },
  { of: "toDevice", got: () => x().toDevice("cpu", "float64"), want: X, dtype: "float64" },
  {
    of: "toDevice",
    that: "keeps the dtype",
    got: () => tensor([1], { dtype: "int16" }).toDevice("cpu"),
    want: [1],
    dtype: "int16",
  },
  {
    of: "flip",
    got: () => x().flip([0, -1]),
    want: [
      [6, 5, 4],
      [3, 2, 1],
    ],
  },
  {
    of: "roll",
    got: () => x().roll(1, 1),
    want: [
      [3, 1, 2],
      [6, 4, 5],
    ],
  },
  {
    of: "roll",
    that: "backwards",
    got: () => x().roll(-1, 1),
    want: [
      [2, 3, 1],
      [5, 6, 4],
    ],
  },
  {
    of: "tril",
    got: () => square().tril(),
    want: [
      [1, 0, 0],
      [4, 5, 0],
      [7, 8, 9],
    ],
  },
  {
    of: "tril",
    that: "below",
    got: () => square().tril(-1),
    want: [
      [0, 0, 0],
      [4, 0, 0],
      [7, 8, 0],
    ],
  },
  {
    of: "triu",
    got: () => square().triu(),
    want: [
      [1, 2, 3],
      [0, 5, 6],
      [0, 0, 9],
    ],
  },
  {
    of: "triu",
    that: "above",
    got: () => square().triu(1),
    want: [
      [0, 2, 3],
      [0, 0, 6],
      [0, 0, 0],
    ],
  },
  { of: "diagonal", got: () => square().diagonal(), want: [1, 5, 9] },
  { of: "diagonal", that: "offset", got: () => square().diagonal(1), want: [2, 6] },
  { of: "pad", got: () => tensor([[1, 2]]).pad([1, 2], 9), want: [[9, 1, 2, 9, 9]] },
  {
    of: "pad",
    that: "two dimensions, zeros",
    got: () => tensor([[1]]).pad([0, 1, 1, 0]),
    want: [
      [0, 0],
      [1, 0],
    ],
  },
]);

it("views share memory and copies do not", () => {
  tidy(() => {
    const a = x();
    for (const view of [
      a.view([6]),
      a.t(),
      a.narrow(0, 0, 1),
      a.detach(),
      a.alias(),
      a.to("float32"),
    ])
      expect(view.sharesStorageWith(a)).toBe(true);
    for (const copy of [a.clone(), a.to("float64"), a.t().contiguous(), a.repeat([1, 1])])
      expect(copy.sharesStorageWith(a)).toBe(false);
    a.select(0, 0).fill_(7);
    expectTensor(a, [
      [7, 7, 7],
      [4, 5, 6],
    ]);
  });
});

it("lists have as many pieces as they should", () => {
  tidy(() => {
    expect(x().split(1, 1).length).toBe(3);
    expect(x().unbind().length).toBe(2);
    expect(
      zeros([7])
        .chunk(3)
        .map((piece) => piece.shape[0]),
    ).toEqual([3, 3, 1]);
    expect(zeros([4]).chunk(3).length).toBe(2);
  });
});

it("facts: strides, contiguity, sizes, bytes", () => {
  tidy(() => {
    const a = cube();
    expect(a.strides).toEqual([12, 4, 1]);
    expect(a.isContiguous).toBe(true);
    const b = a.transpose(0, 2);
    expect(b.strides).toEqual([1, 4, 12]);
    expect(b.isContiguous).toBe(false);
    expect([a.ndim, a.numel, a.byteLength]).toEqual([3, 24, 96]);
    expect([a.size(0), a.size(-1)]).toEqual([2, 4]);
    expect(() => a.size(3)).toThrow("size: dimension 3 of a tensor with 3 dimensions");
    expect(() => a.size(-4)).toThrow("size: dimension -4");
    expect(tensor(1).shape).toEqual([]);
    expect(tensor([1], { dtype: "float16" }).byteLength).toBe(2);
  });
});

it("shapes that cannot be are errors with the shape in them", () => {
  tidy(() => {
    expect(() => x().view([4])).toThrow(/aten::view\(float32\[2, 3\], array of 1 \[number 4\]\)/);
    expect(() => x().t().view([6])).toThrow(/view/);
    expect(() => x().narrow(1, 2, 5)).toThrow(/aten::narrow\(float32\[2, 3\], 1, 2, 5\)/);
    expect(() => x().split([1, 1], 1)).toThrow(/aten::split_with_sizes/);
  });
});
