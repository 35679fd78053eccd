/**
 * @file Operators that write to the tensor itself: the values, and that it is the same tensor.
 */
import { expect, it } from "vitest";
import {
  Generator,
  memory,
  noGrad,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { InPlaceTensor } from "../../src/torch/tensor/inplace.ts";
import { methodsOf, testFamily } from "./support/family.ts";
import { expectTensor, type Plain } from "./support/values.ts";

const X = [
  [1, 2, 3],
  [4, 5, 6],
];
const x = () => tensor(X);
const i64 = (values: Plain): Tensor => tensor(values as number[], { dtype: "int64" });

/** Runs an in-place method on a fresh tensor, insists on the same object, and gives it back. */
function written(write: (x: Tensor) => Tensor, start: Plain = X): Tensor {
  const target = tensor(start as number[]);
  expect(write(target)).toBe(target);
  return target;
}

testFamily("in place", methodsOf(InPlaceTensor), [
  {
    of: "copy_",
    got: () => written((t) => t.copy_(i64([7, 8, 9]))),
    want: [
      [7, 8, 9],
      [7, 8, 9],
    ],
    dtype: "float32",
  },
  {
    of: "zero_",
    got: () => written((t) => t.zero_()),
    want: [
      [0, 0, 0],
      [0, 0, 0],
    ],
  },
  {
    of: "fill_",
    got: () => written((t) => t.fill_(2.5)),
    want: [
      [2.5, 2.5, 2.5],
      [2.5, 2.5, 2.5],
    ],
  },
  {
    of: "add_",
    got: () => written((t) => t.add_(tensor([1, 0, -1]), 2)),
    want: [
      [3, 2, 1],
      [6, 5, 4],
    ],
  },
  {
    of: "add_",
    that: "a number",
    got: () => written((t) => t.add_(1, 3)),
    want: [
      [4, 5, 6],
      [7, 8, 9],
    ],
  },
  {
    of: "sub_",
    got: () => written((t) => t.sub_(tensor([[1], [2]]), 2)),
    want: [
      [-1, 0, 1],
      [0, 1, 2],
    ],
  },
  {
    of: "sub_",
    that: "a number",
    got: () => written((t) => t.sub_(1)),
    want: [
      [0, 1, 2],
      [3, 4, 5],
    ],
  },
  {
    of: "mul_",
    got: () => written((t) => t.mul_(tensor([1, 0, -1]))),
    want: [
      [1, 0, -3],
      [4, 0, -6],
    ],
  },
  {
    of: "mul_",
    that: "a number",
    got: () => written((t) => t.mul_(2)),
    want: [
      [2, 4, 6],
      [8, 10, 12],
    ],
  },
  {
    of: "div_",
    got: () => written((t) => t.div_(tensor([1, 2, 4]))),
    want: [
      [1, 1, 0.75],
      [4, 2.5, 1.5],
    ],
  },
  {
    of: "div_",
    that: "a number",
    got: () => written((t) => t.div_(2)),
    want: [
      [0.5, 1, 1.5],
      [2, 2.5, 3],
    ],
  },
  {
    of: "clamp_",
    got: () => written((t) => t.clamp_(2, 5)),
    want: [
      [2, 2, 3],
      [4, 5, 5],
    ],
  },
  {
    of: "clamp_",
    that: "one side",
    got: () => written((t) => t.clamp_(null, 2)),
    want: [
      [1, 2, 2],
      [2, 2, 2],
    ],
  },
  { of: "sqrt_", got: () => written((t) => t.sqrt_(), [4, 9]), want: [2, 3] },
  { of: "exp_", got: () => written((t) => t.exp_(), [0, 1]), want: [1, Math.E], tolerance: 1e-6 },
  {
    of: "lerp_",
    got: () => written((t) => t.lerp_(tensor([10, 20]), 0.5), [0, 10]),
    want: [5, 15],
  },
  {
    of: "addcmul_",
    got: () => written((t) => t.addcmul_(tensor([1, 2]), tensor([3, 4]), 2), [1, 1]),
    want: [7, 17],
  },
  {
    of: "addcdiv_",
    got: () => written((t) => t.addcdiv_(tensor([1, 6]), tensor([2, 4]), -2), [1, 1]),
    want: [0, -2],
  },
  {
    of: "maskedFill_",
    got: () => written((t) => t.maskedFill_(tensor([true, false, false]), -1)),
    want: [
      [-1, 2, 3],
      [-1, 5, 6],
    ],
  },
  {
    of: "indexPut_",
    got: () => written((t) => t.indexPut_([null, i64([0])], tensor([[8], [9]]))),
    want: [
      [8, 2, 3],
      [9, 5, 6],
    ],
  },
  {
    of: "indexPut_",
    that: "accumulates",
    got: () => written((t) => t.indexPut_([i64([0, 0])], tensor([1]), true)),
    want: [
      [3, 4, 5],
      [4, 5, 6],
    ],
  },
  {
    of: "indexAdd_",
    got: () =>
      written((t) =>
        t.indexAdd_(
          0,
          i64([1, 1]),
          tensor([
            [1, 1, 1],
            [10, 10, 10],
          ]),
        ),
      ),
    want: [
      [1, 2, 3],
      [15, 16, 17],
    ],
  },
  {
    of: "indexCopy_",
    got: () => written((t) => t.indexCopy_(1, i64([2]), tensor([[7], [8]]))),
    want: [
      [1, 2, 7],
      [4, 5, 8],
    ],
  },
  {
    of: "scatter_",
    got: () => written((t) => t.scatter_(1, i64([[0], [2]]), tensor([[8], [9]]))),
    want: [
      [8, 2, 3],
      [4, 5, 9],
    ],
  },
  {
    of: "scatterAdd_",
    got: () =>
      written((t) =>
        t.scatterAdd_(
          1,
          i64([
            [0, 0],
            [1, 2],
          ]),
          tensor([
            [1, 2],
            [3, 4],
          ]),
        ),
      ),
    want: [
      [4, 2, 3],
      [4, 8, 10],
    ],
  },
  {
    of: "normal_",
    that: "deviation 0 is the mean",
    got: () => written((t) => t.normal_(new Generator(1), 3, 0)),
    want: [
      [3, 3, 3],
      [3, 3, 3],
    ],
  },
  {
    of: "uniform_",
    that: "an empty range is its start",
    got: () => written((t) => t.uniform_(new Generator(1), 2, 2)),
    want: [
      [2, 2, 2],
      [2, 2, 2],
    ],
  },
  {
    of: "bernoulli_",
    that: "certain",
    got: () => written((t) => t.bernoulli_(new Generator(1), 1)),
    want: [
      [1, 1, 1],
      [1, 1, 1],
    ],
  },
  {
    of: "bernoulli_",
    that: "impossible",
    got: () => written((t) => t.bernoulli_(new Generator(1), 0)),
    want: [
      [0, 0, 0],
      [0, 0, 0],
    ],
  },
]);

it("no new tensor comes to be", () => {
  const target = zeros([3]);
  const before = memory();
  target.add_(1).mul_(2).fill_(3).zero_();
  expect(memory()).toEqual(before);
  target.dispose();
});

it("results that do not fit into the tensor are refused", () => {
  tidy(() => {
    expect(() => i64([1]).add_(0.5)).toThrow(/aten::add_\.Scalar.*can't be cast/);
    expect(() => zeros([2]).add_(zeros([3, 2]))).toThrow(
      /aten::add_\.Tensor\(float32\[2\], float32\[3, 2\]/,
    );
  });
});

it("a leaf that records gradients is written only without recording", () => {
  tidy(() => {
    const leaf = x().requiresGrad_();
    expect(() => leaf.add_(1)).toThrow(/aten::add_\.Scalar.*leaf Variable that requires grad/);
    noGrad(() => leaf.add_(1));
    expectTensor(leaf, [
      [2, 3, 4],
      [5, 6, 7],
    ]);
    expect(leaf.requiresGrad).toBe(true);
  });
});
