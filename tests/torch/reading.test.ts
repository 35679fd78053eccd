/**
 * @file Values back out of tensors, without surprises.
 */
import { inspect } from "node:util";
import { expect, it } from "vitest";
import { call, type Dtype, type Tensor, tensor, tidy, zeros } from "../../src/torch/index.ts";

const fact = (name: string, body: () => void) => it(name, () => tidy(body));

fact("item: one element, booleans as 0 and 1", () => {
  expect(tensor(2.5).item()).toBe(2.5);
  expect(tensor([[[7]]]).item()).toBe(7);
  expect(tensor(true).item()).toBe(1);
  expect(tensor([3n]).item()).toBe(3);
  expect(tensor(Number.NaN).item()).toBeNaN();
  expect(() => tensor([1, 2]).item()).toThrow(
    "item: expected a tensor with one element, got shape [2]",
  );
  expect(() => tensor([]).item()).toThrow("got shape [0]");
});

fact("toArray: nested, with booleans for bool", () => {
  expect(
    tensor([
      [1, 2],
      [3, 4],
    ]).toArray(),
  ).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(tensor([[true], [false]]).toArray()).toEqual([[true], [false]]);
  expect(tensor(5).toArray()).toBe(5);
  expect(tensor(true).toArray()).toBe(true);
  expect(tensor([]).toArray()).toEqual([]);
  expect(zeros([2, 0, 3]).toArray()).toEqual([[], []]);
  expect(zeros([0, 2]).toArray()).toEqual([]);
});

fact("toNumbers: of every dtype, views and transposes in their own order", () => {
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
  ] as Dtype[])
    expect(tensor([0, 1], { dtype }).toNumbers()).toEqual(Float64Array.of(0, 1));
  const x = tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  expect(x.t().toNumbers()).toEqual(Float64Array.of(1, 4, 2, 5, 3, 6));
  expect(x.narrow(1, 1, 1).toNumbers()).toEqual(Float64Array.of(2, 5));
  expect(tensor([1]).expand([3]).toNumbers()).toEqual(Float64Array.of(1, 1, 1));
});

fact("toTypedArray: the array of the dtype, always a copy", () => {
  const arrays: [Dtype, { new (): ArrayLike<number | bigint> }][] = [
    ["float32", Float32Array],
    ["float64", Float64Array],
    ["bfloat16", Float32Array],
    ["float16", Float32Array],
    ["int64", BigInt64Array],
    ["int32", Int32Array],
    ["int16", Int16Array],
    ["int8", Int8Array],
    ["uint8", Uint8Array],
    ["bool", Uint8Array],
  ];
  for (const [dtype, array] of arrays) {
    const made = tensor([1, 0], { dtype });
    const values = made.toTypedArray();
    expect(values).toBeInstanceOf(array);
    expect(Array.from(values, Number)).toEqual([1, 0]);
    made.zero_();
    expect(Number(values[0])).toBe(1);
  }
  expect(tensor([]).toTypedArray()).toEqual(new Float32Array(0));
  expect(
    tensor([
      [1, 2],
      [3, 4],
    ])
      .t()
      .toTypedArray(),
  ).toEqual(Float32Array.of(1, 3, 2, 4));
});

fact("int64 up to 2^53 − 1 are numbers, beyond it an error that says what to do", () => {
  const safe = BigInt(Number.MAX_SAFE_INTEGER);
  expect(tensor([safe, -safe]).toNumbers()).toEqual(Float64Array.of(Number(safe), -Number(safe)));
  for (const big of [safe + 1n, -safe - 1n, 2n ** 62n, -(2n ** 63n)]) {
    const made = tensor([0n, big]);
    expect(() => made.toNumbers()).toThrow(
      `element 1 is ${big}, which a JavaScript number cannot hold`,
    );
    expect(() => made.toArray()).toThrow("BigInt64Array");
    expect(() => made.select(0, 1).item()).toThrow("BigInt64Array");
    expect(made.toTypedArray()).toEqual(BigInt64Array.of(0n, big));
  }
});

fact("bfloat16 and float16 read as the numbers they are", () => {
  expect(tensor([0.1], { dtype: "bfloat16" }).item()).toBe(0.10009765625);
  expect(tensor([0.1], { dtype: "float16" }).item()).toBe(0.0999755859375);
  expect(tensor([1e-8], { dtype: "float16" }).item()).toBe(0);
  expect(tensor([6e-8], { dtype: "float16" }).item()).toBe(2 ** -24);
});

fact("NaN and the infinities come back", () => {
  for (const dtype of ["float32", "float64", "bfloat16", "float16"] as Dtype[])
    expect(tensor([Number.NaN, Infinity, -Infinity, -0], { dtype }).toNumbers()).toEqual(
      Float64Array.of(Number.NaN, Infinity, -Infinity, -0),
    );
});

fact("a tensor that records gradients is read like any other", () => {
  const x = tensor([1, 2], { requiresGrad: true }).mul(2);
  expect(x.toNumbers()).toEqual(Float64Array.of(2, 4));
  expect(x.toTypedArray()).toEqual(Float32Array.of(2, 4));
});

fact("complex and sparse values are errors, not nonsense", () => {
  const complex = call("aten::complex", [tensor([1]), tensor([2])]) as Tensor;
  expect(complex.dtype).toBe("complex64");
  expect(() => complex.toNumbers()).toThrow("complex values cannot be read as numbers");
  expect(() => complex.toTypedArray()).toThrow("complex64");
  const sparse = call("aten::to_sparse", [tensor([0, 1])]) as Tensor;
  expect(sparse.shape).toEqual([2]);
  expect(() => sparse.toNumbers()).toThrow();
  expect(() => sparse.shareTypedArray()).toThrow();
});

fact("printing shows dtype, shape and few values, and never fails", () => {
  expect(String(tensor([[1, 0.123456789]]))).toBe("Tensor float32[1, 2] [[1,0.12346]]");
  expect(String(tensor([Number.NaN, Infinity]))).toBe('Tensor float32[2] ["NaN","Infinity"]');
  expect(String(tensor([true]))).toBe("Tensor bool[1] [true]");
  expect(String(zeros([100]))).toBe("Tensor float32[100]");
  expect(String(tensor([1], { requiresGrad: true }))).toBe("Tensor float32[1], requires grad [1]");
  expect(String(tensor([2n ** 60n]))).toBe("Tensor int64[1] [1152921504606846976]");
  expect(String(call("aten::complex", [tensor([1]), tensor([2])]))).toBe("Tensor complex64[1] …");
  const gone = tensor([1]);
  gone.dispose();
  expect(String(gone)).toBe("Tensor(disposed)");
  expect(inspect(gone)).toBe("Tensor(disposed)");
});
