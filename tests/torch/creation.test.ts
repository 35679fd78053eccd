/**
 * @file New tensors: from values, constant, random.
 */
import { describe, expect, it } from "vitest";
import * as creation from "../../src/torch/creation.ts";
import { type Dtype, Generator, type Tensor, tidy } from "../../src/torch/index.ts";
import { expectTensor } from "./support/values.ts";

const {
  arange,
  bernoulli,
  empty,
  emptyLike,
  eye,
  fromTypedArray,
  full,
  fullLike,
  linspace,
  multinomial,
  ones,
  onesLike,
  rand,
  randint,
  randn,
  randperm,
  tensor,
  zeros,
  zerosLike,
} = creation;

const fact = (name: string, body: () => void) => it(name, () => tidy(body));

describe("from values", () => {
  fact("numbers are float32, booleans bool, bigints int64", () => {
    expectTensor(tensor([1, 2.5]), [1, 2.5], { dtype: "float32" });
    expectTensor(tensor([true, false]), [true, false], { dtype: "bool" });
    expectTensor(tensor([1n, -2n]), [1, -2], { dtype: "int64" });
  });

  fact("a bare value has no dimensions", () => {
    expectTensor(tensor(3), 3, { dtype: "float32" });
    expectTensor(tensor(true), true, { dtype: "bool" });
    expect(tensor(3).shape).toEqual([]);
  });

  fact("nested arrays, also without elements", () => {
    expectTensor(
      tensor([
        [[1], [2]],
        [[3], [4]],
      ]),
      [
        [[1], [2]],
        [[3], [4]],
      ],
    );
    expectTensor(tensor([]), [], { shape: [0], dtype: "float32" });
    expectTensor(tensor([[], []]), [[], []], { shape: [2, 0] });
    expectTensor(tensor([[[]], [[]]]), [[[]], [[]]], { shape: [2, 1, 0] });
  });

  fact("every dtype on request", () => {
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
    ] as Dtype[])
      expectTensor(tensor([0, 1, 100], { dtype }), [0, 1, 100], { dtype });
    expectTensor(tensor([0, 0.5], { dtype: "bool" }), [false, true], { dtype: "bool" });
    expectTensor(tensor([true, false], { dtype: "int32" }), [1, 0], { dtype: "int32" });
    expectTensor(tensor([3n], { dtype: "float64" }), [3], { dtype: "float64" });
  });

  fact("NaN, the infinities and float64's last bit arrive", () => {
    expectTensor(tensor([Number.NaN, Infinity, -Infinity]), [Number.NaN, Infinity, -Infinity]);
    expectTensor(tensor([1 + Number.EPSILON], { dtype: "float64" }), [1 + Number.EPSILON]);
    expectTensor(tensor([1e39]), [Infinity]);
    expectTensor(tensor([70000], { dtype: "float16" }), [Infinity]);
  });

  fact("requiresGrad", () => {
    expect(tensor([1]).requiresGrad).toBe(false);
    expect(tensor([1], { requiresGrad: true }).requiresGrad).toBe(true);
    expect(() => tensor([1n], { requiresGrad: true })).toThrow(/floating point/);
  });

  it.each<[string, unknown, RegExp]>([
    [
      "a longer row",
      [
        [1, 2],
        [3, 4, 5],
      ],
      /at \[1\] expected 2 entries as in the first array, got 3/,
    ],
    ["a shorter row", [[[1, 2]], [[3]]], /at \[1,0\] expected 2 entries/],
    ["a value among arrays", [[1], 2], /at \[1\] expected an array/],
    ["an array among values", [1, [2]], /at \[1\] expected a value/],
    ["a string", [1, "2"], /at \[1\] expected a number, got string/],
    ["a hole", [1, undefined], /at \[1\] expected a number, got undefined/],
    ["an empty row first", [[], [1]], /at \[1\] expected 0 entries/],
    ["two kinds of values", [true, 2], /expected values of one kind/],
  ])("ragged: %s is an error with its place", (_name, values, message) => {
    expect(() => tensor(values as number[])).toThrow(message);
  });

  it("numbers that an integer dtype cannot hold are errors", () => {
    expect(() => tensor([1.5], { dtype: "int64" })).toThrow(
      "1.5 is not an integer, but the dtype is int64",
    );
    expect(() => tensor([1.5], { dtype: "int32" })).toThrow(
      "1.5 is not an integer, but the dtype is int32",
    );
    expect(() => tensor([Number.NaN], { dtype: "uint8" })).toThrow("NaN is not an integer");
    expect(() => tensor([2n ** 63n])).toThrow("9223372036854775808 does not fit into int64");
    expect(() => tensor([256], { dtype: "uint8" })).toThrow("256 does not fit into uint8");
    expect(() => tensor([-1], { dtype: "uint8" })).toThrow("-1 does not fit into uint8");
    expect(() => tensor([128], { dtype: "int8" })).toThrow("128 does not fit into int8");
    expect(() => tensor([2 ** 31], { dtype: "int32" })).toThrow("does not fit into int32");
  });

  it("an unknown dtype or device is an error with the name in it", () => {
    expect(() => tensor([1], { dtype: "float8" as Dtype })).toThrow(/float8/);
    expect(() => tensor([1], { device: "abacus" })).toThrow(/abacus/);
  });
});

describe("from typed arrays", () => {
  it.each([
    [Float32Array.of(1.5, -2), "float32"],
    [Float64Array.of(1.5, -2), "float64"],
    [BigInt64Array.of(1n, -2n), "int64"],
    [Int32Array.of(1, -2), "int32"],
    [Int16Array.of(1, -2), "int16"],
    [Int8Array.of(1, -2), "int8"],
    [Uint8Array.of(1, 254), "uint8"],
  ] as const)("%o is %s", (values, dtype) => {
    tidy(() => expectTensor(tensor(values), Array.from(values, Number), { dtype }));
  });

  fact("the values are copied", () => {
    const values = Float32Array.of(1, 2);
    const made = tensor(values);
    values[0] = 9;
    expectTensor(made, [1, 2]);
  });

  fact("a shape, a dtype, a part of a buffer, a Node buffer", () => {
    expectTensor(fromTypedArray(Int32Array.of(1, 2, 3, 4), [2, 2]), [
      [1, 2],
      [3, 4],
    ]);
    expectTensor(fromTypedArray(Int32Array.of(1, 2), [2], { dtype: "float32" }), [1, 2], {
      dtype: "float32",
    });
    expectTensor(tensor(Float32Array.of(0, 1, 2, 3).subarray(1, 3)), [1, 2]);
    expectTensor(tensor(Buffer.from([7, 8, 9]).subarray(1)), [8, 9], { dtype: "uint8" });
    expectTensor(tensor(new Float32Array(0)), [], { shape: [0] });
    expectTensor(fromTypedArray(new Float32Array(0), [0, 3]), [], { shape: [0, 3] });
    expectTensor(fromTypedArray(Float32Array.of(5), []), 5);
  });

  it("a shape of another size is an error with both sizes", () => {
    expect(() => fromTypedArray(Float32Array.of(1, 2), [3])).toThrow(
      "shape [3] has 3 elements, the data 2",
    );
    expect(() => fromTypedArray(Float32Array.of(1, 2), [-1, -2])).toThrow(/negative/);
  });

  it("arrays whose values no dtype holds are errors", () => {
    for (const array of [Uint16Array, Uint32Array, BigUint64Array, Uint8ClampedArray])
      expect(() => tensor(new array(1) as never)).toThrow(
        new RegExp(`no dtype holds the values of a ${array.name}`),
      );
    expect(() => tensor(new DataView(new ArrayBuffer(4)) as never)).toThrow(/no dtype/);
  });

  it("shared buffers are an error, not a crash", () => {
    expect(() => tensor(new Float32Array(new SharedArrayBuffer(8)))).toThrow(
      /expected an ArrayBuffer/,
    );
  });
});

describe("constant", () => {
  fact("zeros, ones, full, empty", () => {
    expectTensor(zeros([2, 1]), [[0], [0]], { dtype: "float32" });
    expectTensor(ones([2], { dtype: "int64" }), [1, 1], { dtype: "int64" });
    expectTensor(full([2], 0.5), [0.5, 0.5], { dtype: "float32" });
    expectTensor(full([], 3, { dtype: "int32" }), 3, { dtype: "int32" });
    expect(empty([2, 3], { dtype: "bfloat16" }).shape).toEqual([2, 3]);
    expectTensor(zeros([0, 2]), [], { shape: [0, 2] });
    expect(zeros([1], { requiresGrad: true }).requiresGrad).toBe(true);
  });

  fact("the like of another", () => {
    const other = tensor([[1, 2]], { dtype: "float64" });
    expectTensor(zerosLike(other), [[0, 0]], { dtype: "float64" });
    expectTensor(onesLike(other), [[1, 1]], { dtype: "float64" });
    expectTensor(fullLike(other, 7), [[7, 7]], { dtype: "float64" });
    expectTensor(fullLike(other, 7, "int64"), [[7, 7]], { dtype: "int64" });
    expect(emptyLike(other, "bool").dtype).toBe("bool");
    expect(emptyLike(other).shape).toEqual([1, 2]);
    expectTensor(zerosLike(other, "bfloat16"), [[0, 0]], { dtype: "bfloat16" });
    expectTensor(onesLike(other, "int8"), [[1, 1]], { dtype: "int8" });
  });

  fact("arange", () => {
    expectTensor(arange(0, 4), [0, 1, 2, 3], { dtype: "int64" });
    expectTensor(arange(5, 0, -2), [5, 3, 1], { dtype: "int64" });
    expectTensor(arange(0, 1, 0.25), [0, 0.25, 0.5, 0.75], { dtype: "float32" });
    expectTensor(arange(0, 2, 1, { dtype: "float64" }), [0, 1], { dtype: "float64" });
    expectTensor(arange(3, 3), [], { shape: [0] });
    expect(() => arange(0, 1, 0)).toThrow(/aten::arange/);
    expect(() => arange(0, 1, -1)).toThrow(/aten::arange/);
  });

  fact("linspace, eye", () => {
    expectTensor(linspace(0, 1, 5), [0, 0.25, 0.5, 0.75, 1], { dtype: "float32" });
    expectTensor(linspace(3, 4, 1), [3]);
    expectTensor(eye(2), [
      [1, 0],
      [0, 1],
    ]);
    expectTensor(
      eye(2, 3, { dtype: "int64" }),
      [
        [1, 0, 0],
        [0, 1, 0],
      ],
      { dtype: "int64" },
    );
  });
});

describe("random", () => {
  const N = 20_000;
  const mean = (values: Float64Array) => values.reduce((a, b) => a + b, 0) / values.length;
  const variance = (values: Float64Array) => {
    const middle = mean(values);
    return mean(values.map((value) => (value - middle) ** 2));
  };

  fact("randn: mean 0, variance 1", () => {
    const values = randn([N], new Generator(1)).toNumbers();
    expect(Math.abs(mean(values))).toBeLessThan(4 / Math.sqrt(N));
    expect(Math.abs(variance(values) - 1)).toBeLessThan(4 * Math.sqrt(2 / N));
  });

  fact("rand: in [0, 1), mean 1/2, variance 1/12", () => {
    const values = rand([N], new Generator(1), { dtype: "float64" }).toNumbers();
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
    expect(Math.abs(mean(values) - 0.5)).toBeLessThan(4 * Math.sqrt(1 / 12 / N));
    expect(Math.abs(variance(values) - 1 / 12)).toBeLessThan(4e-3);
  });

  fact("randint: every number from low, none from high on", () => {
    const made = randint(-2, 3, [1000], new Generator(1));
    expect(made.dtype).toBe("int64");
    expect(new Set(made.toNumbers())).toEqual(new Set([-2, -1, 0, 1, 2]));
    expect(randint(0, 2, [3], new Generator(1), { dtype: "int32" }).dtype).toBe("int32");
  });

  fact("randperm: each once", () => {
    const values = randperm(100, new Generator(1)).toNumbers();
    expect(values.toSorted()).toEqual(Float64Array.from({ length: 100 }, (_, i) => i));
    expect(values).not.toEqual(values.toSorted());
  });

  fact("multinomial: by weight, without putting back unless said", () => {
    const weights = tensor([1, 0, 3]);
    const drawn = multinomial(weights, N, new Generator(1), true).toNumbers();
    const counts = [0, 1, 2].map((i) => drawn.filter((value) => value === i).length);
    expect(counts[1]).toBe(0);
    expect(Math.abs(counts[2]! - 0.75 * N)).toBeLessThan(4 * Math.sqrt(N * 0.75 * 0.25));
    expect(multinomial(weights, 2, new Generator(1)).toNumbers().toSorted()).toEqual(
      Float64Array.of(0, 2),
    );
    expect(() => multinomial(weights, 4, new Generator(1))).toThrow(/aten::multinomial/);
    expect(() => multinomial(tensor([-1, 2]), 1, new Generator(1))).toThrow(/aten::multinomial/);
    expect(() => multinomial(tensor([Number.NaN, 2]), 1, new Generator(1))).toThrow(
      /aten::multinomial/,
    );
  });

  fact("bernoulli: by probability per element", () => {
    const made = bernoulli(tensor([0, 1]).expand([N, 2]).contiguous(), new Generator(1));
    expectTensor(made.mean(0), [0, 1]);
    const half = bernoulli(full([N], 0.5), new Generator(1)).toNumbers();
    expect(Math.abs(mean(half) - 0.5)).toBeLessThan(4 * Math.sqrt(0.25 / N));
    expect(() => bernoulli(tensor([1.5]), new Generator(1))).toThrow(/aten::bernoulli/);
  });

  fact("requiresGrad and dtype", () => {
    const made: Tensor = randn([2], new Generator(1), { dtype: "float64", requiresGrad: true });
    expect([made.dtype, made.requiresGrad]).toEqual(["float64", true]);
    expect(rand([2], new Generator(1), { requiresGrad: true }).requiresGrad).toBe(true);
  });
});
