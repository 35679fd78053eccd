/**
 * @file The door: every type that a schema can name, converted in and out.
 */
import { describe, expect, it } from "vitest";
import {
  type Argument,
  call,
  describeOperator,
  Generator,
  memory,
  operatorNames,
  type Result,
  Tensor,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { counting, expectTensor, type Plain } from "./support/values.ts";

function callTensor(
  name: string,
  positional: readonly Argument[],
  named?: Record<string, Argument>,
): Tensor {
  const result = call(name, positional, named);
  expect(result).toBeInstanceOf(Tensor);
  return result as Tensor;
}

function callTensors(
  name: string,
  positional: readonly Argument[],
  named?: Record<string, Argument>,
): (Tensor | null)[] {
  const results = call(name, positional, named) as Result[];
  for (const result of results) expect(result === null || result instanceof Tensor).toBe(true);
  return results as (Tensor | null)[];
}

const A = [
  [1, 2],
  [3, 4],
];
const a = () => tensor(A);
const i64 = (values: Plain) => tensor(values as number[], { dtype: "int64" });

/** A fact about conversion, with the tensors of the test freed after it. */
const fact = (name: string, body: () => void) => it(name, () => tidy(body));

describe("arguments", () => {
  fact("Tensor", () =>
    expectTensor(callTensor("aten::neg", [a()]), [
      [-1, -2],
      [-3, -4],
    ]),
  );

  fact("Tensor?: a tensor, null or nothing", () => {
    const bias = tensor([10, 20]);
    expectTensor(callTensor("aten::linear", [a(), a(), bias]), [
      [15, 31],
      [21, 45],
    ]);
    expectTensor(callTensor("aten::linear", [a(), a(), null]), [
      [5, 11],
      [11, 25],
    ]);
    expectTensor(callTensor("aten::linear", [a(), a()]), [
      [5, 11],
      [11, 25],
    ]);
  });

  fact("Tensor[]", () =>
    expectTensor(callTensor("aten::cat", [[a(), a()], 1]), [
      [1, 2, 1, 2],
      [3, 4, 3, 4],
    ]),
  );

  fact("Tensor?[]: null and undefined take the whole dimension", () => {
    expectTensor(callTensor("aten::index.Tensor", [a(), [null, i64([1])]]), [[2], [4]]);
    expectTensor(callTensor("aten::index.Tensor", [a(), [undefined, i64([1])]]), [[2], [4]]);
  });

  fact("Scalar: whole numbers are int, fractions float, true and false bool, bigint int", () => {
    // aten::full without a dtype takes that of the scalar.
    const dtypeOf = (value: Argument) => callTensor("aten::full", [[1], value]).dtype;
    expect(dtypeOf(3)).toBe("int64");
    expect(dtypeOf(-3e15)).toBe("int64");
    expect(dtypeOf(1e30)).toBe("float32");
    expect(dtypeOf(3.5)).toBe("float32");
    expect(dtypeOf(-0)).toBe("float32");
    expect(dtypeOf(Number.NaN)).toBe("float32");
    expect(dtypeOf(Infinity)).toBe("float32");
    expect(dtypeOf(true)).toBe("bool");
    expect(dtypeOf(3n)).toBe("int64");
  });

  fact("Scalar: a bigint keeps all its 64 bits", () => {
    const big = 2n ** 62n + 1n;
    expect(callTensor("aten::full", [[1], big]).toTypedArray()).toEqual(BigInt64Array.of(big));
    expect(callTensor("aten::full", [[1], -(2n ** 63n)]).toTypedArray()).toEqual(
      BigInt64Array.of(-(2n ** 63n)),
    );
  });

  fact("Scalar[]", () => {
    const [first, second] = callTensors("aten::_foreach_add.ScalarList", [
      [a(), a()],
      [10, 0.5],
    ]);
    expectTensor(first!, [
      [11, 12],
      [13, 14],
    ]);
    expectTensor(second!, [
      [1.5, 2.5],
      [3.5, 4.5],
    ]);
  });

  fact("int: numbers and bigints", () => {
    expectTensor(callTensor("aten::select.int", [a(), 0, 1]), [3, 4]);
    expectTensor(callTensor("aten::select.int", [a(), 0n, -1n]), [3, 4]);
  });

  fact("float: whole numbers too", () => {
    const close = (relative: number) =>
      callTensor("aten::isclose", [tensor([1]), tensor([1.5]), relative]);
    expectTensor(close(1), [true]);
    expectTensor(close(0.1), [false]);
  });

  fact("bool", () => {
    expectTensor(callTensor("aten::sum.dim_IntList", [a(), [0], true]), [[4, 6]]);
    expectTensor(callTensor("aten::sum.dim_IntList", [a(), [0], false]), [4, 6]);
  });

  fact("str and str?", () => {
    expectTensor(callTensor("aten::einsum", ["ij->ji", [a()]]), [
      [1, 3],
      [2, 4],
    ]);
    expectTensor(
      callTensor("aten::div.Tensor_mode", [a(), tensor([2])], { rounding_mode: "floor" }),
      [
        [0, 1],
        [1, 2],
      ],
    );
    expectTensor(callTensor("aten::div.Tensor_mode", [a(), tensor([2])], { rounding_mode: null }), [
      [0.5, 1],
      [1.5, 2],
    ]);
  });

  fact("int[]", () => expectTensor(callTensor("aten::view", [a(), [4]]), [1, 2, 3, 4]));

  fact("int[N]: one number stands for all", () => {
    const image = tensor(counting([1, 1, 4, 4]) as number[][][][]);
    const want = [
      [
        [
          [2.5, 4.5],
          [10.5, 12.5],
        ],
      ],
    ];
    expectTensor(callTensor("aten::avg_pool2d", [image, 2]), want);
    expectTensor(callTensor("aten::avg_pool2d", [image, [2, 2]]), want);
    expectTensor(callTensor("aten::sum.dim_IntList", [a(), 1]), [3, 7]);
  });

  fact("float[]", () => {
    expectTensor(
      callTensor("aten::_test_optional_floatlist", [tensor([1, 2]), [0.5, 1]]),
      [1.5, 3],
    );
    expectTensor(callTensor("aten::_test_optional_floatlist", [tensor([1, 2]), null]), [1, 2]);
  });

  fact("bool[], and undefined tensor results as null", () => {
    const one = tensor([[1], [1]]);
    const [input, weight, bias] = callTensors("aten::native_layer_norm_backward", [
      a(),
      a(),
      [2],
      one,
      one,
      tensor([1, 1]),
      tensor([0, 0]),
      [false, true, true],
    ]);
    expect(input).toBeNull();
    // (x − mean) · rstd summed over rows, with mean and rstd given as 1.
    expectTensor(weight!, [1 * 0 + 3 * 2, 2 * 1 + 4 * 3]);
    expectTensor(bias!, [4, 6]);
  });

  fact("ScalarType, Layout, Device, MemoryFormat", () => {
    const made = callTensor("aten::empty.memory_format", [[2, 3, 4, 5]], {
      dtype: "int16",
      layout: "strided",
      device: "cpu",
      memory_format: "channels_last",
    });
    expect(made.dtype).toBe("int16");
    expect(made.device).toBe("cpu");
    expect(made.strides).toEqual([60, 1, 15, 3]);
    expect(
      callTensor("aten::clone", [made], { memory_format: "contiguous_format" }).strides,
    ).toEqual([60, 20, 5, 1]);
    expect(callTensor("aten::clone", [made], { memory_format: "preserve_format" }).strides).toEqual(
      [60, 1, 15, 3],
    );
  });

  fact("ScalarType: every name", () => {
    for (const dtype of [
      "float32",
      "float64",
      "bfloat16",
      "float16",
      "int64",
      "int32",
      "int16",
      "int8",
      "uint8",
      "bool",
    ])
      expect(callTensor("aten::zeros", [[1], dtype]).dtype).toBe(dtype);
  });

  fact("Generator and Generator?", () => {
    const draw = () => callTensor("aten::rand.generator", [[4]], { generator: new Generator(5) });
    expect(draw().toNumbers()).toEqual(draw().toNumbers());
    expect(callTensor("aten::bernoulli", [zeros([3])], { generator: null }).toNumbers()).toEqual(
      new Float64Array(3),
    );
  });

  fact("optional: undefined and null are None", () => {
    expectTensor(callTensor("aten::clamp", [tensor([1, 5]), null, 3]), [1, 3]);
    expectTensor(callTensor("aten::clamp", [tensor([1, 5]), undefined, 3]), [1, 3]);
    expectTensor(callTensor("aten::clamp", [tensor([1, 5]), 2]), [2, 5]);
  });

  fact("default: what is left out or undefined takes it", () => {
    expectTensor(callTensor("aten::add.Tensor", [a(), a()]), [
      [2, 4],
      [6, 8],
    ]);
    expectTensor(callTensor("aten::add.Tensor", [a(), a(), undefined]), [
      [2, 4],
      [6, 8],
    ]);
  });

  fact("keyword-only by name, and positional ones too", () => {
    expectTensor(callTensor("aten::add.Tensor", [a(), a()], { alpha: 2 }), [
      [3, 6],
      [9, 12],
    ]);
    expectTensor(callTensor("aten::add.Tensor", [], { alpha: 2, other: a(), self: a() }), [
      [3, 6],
      [9, 12],
    ]);
    expectTensor(callTensor("aten::addmm", [a(), a(), a()], { alpha: 0, beta: 2 }), [
      [2, 4],
      [6, 8],
    ]);
  });
});

describe("results", () => {
  fact("an in-place operator gives back the very object", () => {
    const x = a();
    const before = memory().tensors;
    expect(call("aten::add_.Scalar", [x, 1])).toBe(x);
    expect(memory().tensors).toBe(before);
    expectTensor(x, [
      [2, 3],
      [4, 5],
    ]);
  });

  fact("an out variant gives back the very object, by position or by name", () => {
    const out = zeros([2, 2]);
    expect(call("aten::add.out", [a(), a()], { out })).toBe(out);
    expectTensor(out, [
      [2, 4],
      [6, 8],
    ]);
    expect(call("aten::add.out", [a(), a(), 2, out])).toBe(out);
    expectTensor(out, [
      [3, 6],
      [9, 12],
    ]);
  });

  fact("out variants with several results give back each", () => {
    const values = zeros([2]);
    const indices = i64([0, 0]);
    const result = call("aten::topk.values", [tensor([1, 3, 2]), 2], {
      values,
      indices,
    }) as Result[];
    expect(result[0]).toBe(values);
    expect(result[1]).toBe(indices);
    expectTensor(values, [3, 2]);
    expectTensor(indices, [1, 2]);
  });

  fact("several results", () => {
    const [values, indices] = callTensors("aten::topk", [tensor([1, 3, 2]), 2]);
    expectTensor(values!, [3, 2]);
    expectTensor(indices!, [1, 2], { dtype: "int64" });
    const [variance, mean] = callTensors("aten::var_mean", [tensor([1, 2, 3]), true]);
    expectTensor(variance!, 1);
    expectTensor(mean!, 2);
  });

  fact("a list of tensors", () => {
    const pieces = callTensors("aten::split.Tensor", [tensor([1, 2, 3]), 2]);
    expect(pieces.length).toBe(2);
    expectTensor(pieces[0]!, [1, 2]);
    expectTensor(pieces[1]!, [3]);
  });

  fact("numbers, booleans, dtypes, and nothing", () => {
    expect(call("aten::size.int", [a(), 1])).toBe(2);
    expect(call("aten::equal", [a(), a()])).toBe(true);
    expect(call("aten::_local_scalar_dense", [tensor([2.5])])).toBe(2.5);
    expect(call("aten::_local_scalar_dense", [tensor([true])])).toBe(true);
    expect(call("aten::_local_scalar_dense", [i64([7])])).toBe(7);
    expect(call("aten::_local_scalar_dense", [tensor([2n ** 60n])])).toBe(2n ** 60n);
    expect(call("aten::result_type.Tensor", [i64([1]), tensor([1])])).toBe("float32");
    expect(call("aten::promote_types", ["int32", "bfloat16"])).toBe("bfloat16");
    expect(call("aten::_foreach_zero_", [[a()]])).toBeUndefined();
  });

  fact("a view of an argument is a tensor of its own", () => {
    const x = a();
    const same = callTensor("aten::contiguous", [x]);
    expect(same).not.toBe(x);
    expect(same.sharesStorageWith(x)).toBe(true);
    same.dispose();
    expectTensor(x, A);
  });
});

describe("schemas", () => {
  it("an operator describes itself", () => {
    const description = describeOperator("aten::add.Tensor");
    expect(description.name).toBe("aten::add.Tensor");
    expect(description.schema).toMatch(
      /^aten::add\.Tensor\(Tensor self, Tensor other, \*, Scalar alpha=1\) -> Tensor/,
    );
    expect(description.returns).toEqual(["Tensor"]);
    expect(description.arguments).toEqual([
      { name: "self", type: "Tensor", hasDefault: false, keywordOnly: false },
      { name: "other", type: "Tensor", hasDefault: false, keywordOnly: false },
      { name: "alpha", type: "Scalar", hasDefault: true, keywordOnly: true },
    ]);
  });

  it("all operators are listed once, sorted, and can be described", () => {
    const names = operatorNames();
    expect(names.length).toBeGreaterThan(2000);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("aten::mm");
    for (const name of names) expect(describeOperator(name).name).toBe(name);
  });
});
