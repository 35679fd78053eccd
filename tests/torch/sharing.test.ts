/**
 * @file Memory that JavaScript and libtorch share without a copy.
 */
import { describe, expect, it } from "vitest";
import {
  type Dtype,
  memory,
  shareMemory,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../src/torch/index.ts";
import { collectGarbage, collectUntil } from "./support/garbage.ts";
import { expectTensor } from "./support/values.ts";

describe("a tensor over an array's memory", () => {
  it.each([
    [Float32Array, "float32"],
    [Float64Array, "float64"],
    [Int32Array, "int32"],
    [Int16Array, "int16"],
    [Int8Array, "int8"],
    [Uint8Array, "uint8"],
  ] as const)("%o: writes go both ways", (array, dtype) => {
    const values = array.of(1, 2, 3);
    const shared = shareMemory(values);
    expectTensor(shared, [1, 2, 3], { dtype });
    values[0] = 9;
    expectTensor(shared, [9, 2, 3]);
    shared.mul_(2);
    expect(Array.from(values)).toEqual([18, 4, 6]);
    shared.dispose();
    expect(Array.from(values)).toEqual([18, 4, 6]);
  });

  it("int64 too", () => {
    const values = BigInt64Array.of(1n, 2n);
    const shared = shareMemory(values, [2, 1]);
    shared.add_(1);
    expect(values).toEqual(BigInt64Array.of(2n, 3n));
    shared.dispose();
  });

  it("a part of a buffer, and another dtype over its bytes", () => {
    const buffer = new ArrayBuffer(16);
    const part = shareMemory(new Float32Array(buffer, 4, 2));
    part.fill_(1);
    expect(new Float32Array(buffer)).toEqual(Float32Array.of(0, 1, 1, 0));
    // 0x3f80 is 1 in bfloat16.
    const half = shareMemory(Uint8Array.of(0x80, 0x3f, 0x00, 0x40), [2], "bfloat16");
    expectTensor(half, [1, 2], { dtype: "bfloat16" });
    half.dispose();
    part.dispose();
  });

  it("what does not fit is an error", () => {
    expect(() => shareMemory(Float32Array.of(1), [2])).toThrow(
      "shape [2] has 2 elements, the data 1",
    );
    expect(() => shareMemory(Uint8Array.of(1, 2), undefined, "bfloat16")).toThrow("needs a shape");
    expect(() => shareMemory(Uint8Array.of(1, 2), [2], "bfloat16")).toThrow(
      "needs 4 bytes at offset 0, the buffer has 2",
    );
    expect(() => shareMemory(new Uint8Array(new ArrayBuffer(8), 1, 4), [1], "float32")).toThrow(
      "not aligned",
    );
    expect(() => shareMemory(Uint8Array.of(1), [-1], "int8")).toThrow("negative");
    expect(() => shareMemory(Uint8Array.of(1), [2 ** 32, 2 ** 31], "int16")).toThrow("too large");
    expect(() => shareMemory(Uint8Array.of(1), [2 ** 31, 2 ** 30], "float64")).toThrow("too large");
    expect(() => shareMemory(Uint8Array.of(1), [Number.NaN], "int8")).toThrow(
      "shape: expected an integer",
    );
  });

  it("a detached buffer is an error", () => {
    const values = Float32Array.of(1, 2);
    structuredClone(values.buffer, { transfer: [values.buffer] });
    expect(() => shareMemory(values, [2], "float32")).toThrow();
  });

  it("the memory cannot be transferred away from under it", async () => {
    const values = new Float64Array(100_000).fill(1);
    const shared = shareMemory(values);
    try {
      structuredClone(values.buffer, { transfer: [values.buffer] });
    } catch {
      // Newer Nodes refuse; Node 20 copies instead.
    }
    await collectGarbage();
    expect(values.length).toBe(100_000);
    expect(shared.sum().item()).toBe(100_000);
    shared.dispose();
  });

  it("keeps the array's memory alive when JavaScript forgets it", async () => {
    const shared = (() => shareMemory(Float64Array.from({ length: 100_000 }, (_, i) => i)))();
    await collectGarbage();
    // New arrays would take over the memory had it been freed.
    const noise = Array.from({ length: 20 }, () => new Float64Array(100_000).fill(-1));
    expect(shared.sum().item()).toBe((99_999 * 100_000) / 2);
    expect(noise.length).toBe(20);
    shared.dispose();
  });

  it("lets the memory go afterwards", async () => {
    const gone: WeakRef<ArrayBufferLike>[] = [];
    (() => {
      for (let i = 0; i < 10; i++) {
        const values = new Float32Array(1000);
        gone.push(new WeakRef(values.buffer));
        shareMemory(values).dispose();
      }
    })();
    // Dropped references are let go when the next tensor is made.
    tensor([1]).dispose();
    expect(await collectUntil(() => gone.every((buffer) => buffer.deref() === undefined))).toBe(
      true,
    );
  });

  it("views of it keep it too", async () => {
    const view = (() => {
      const shared = shareMemory(Float32Array.of(1, 2, 3, 4));
      const half = shared.narrow(0, 2, 2);
      shared.dispose();
      return half;
    })();
    await collectGarbage();
    expectTensor(view, [3, 4]);
    view.dispose();
  });
});

describe("an array over a tensor's memory", () => {
  it.each(["float32", "float64", "int32", "int16", "int8", "uint8", "bool"] as Dtype[])(
    "%s: writes go both ways",
    (dtype) => {
      const made = tensor([1, 0, 1], { dtype });
      const values = made.shareTypedArray();
      expect(Array.from(values, Number)).toEqual([1, 0, 1]);
      (values as Float32Array)[1] = 1;
      expectTensor(made, [1, 1, 1]);
      made.zero_();
      expect(Array.from(values, Number)).toEqual([0, 0, 0]);
      made.dispose();
    },
  );

  it("a contiguous view shows its own part", () => {
    tidy(() => {
      const made = tensor([
        [1, 2],
        [3, 4],
      ]);
      const row = made.select(0, 1).shareTypedArray();
      expect(row).toEqual(Float32Array.of(3, 4));
      row[0] = 9;
      expectTensor(made, [
        [1, 2],
        [9, 4],
      ]);
    });
  });

  it("twice, and around in a circle", () => {
    const made = tensor([1, 2]);
    const first = made.shareTypedArray();
    const second = made.shareTypedArray();
    first[0] = 5;
    expect(second[0]).toBe(5);
    const again = shareMemory(second);
    again.fill_(7);
    expectTensor(made, [7, 7]);
    made.dispose();
    again.dispose();
    expect(first).toEqual(Float32Array.of(7, 7));
  });

  it("stays valid when the tensor is disposed and other tensors come", async () => {
    const made = tensor(Float32Array.from({ length: 50_000 }, (_, i) => i % 7));
    const values = made.shareTypedArray() as Float32Array;
    made.dispose();
    await collectGarbage();
    tidy(() => {
      for (let i = 0; i < 20; i++) zeros([50_000]).fill_(-1);
    });
    expect(values.every((value, i) => value === i % 7)).toBe(true);
  });

  it("frees the memory when both are gone", async () => {
    const watched = await (async () => {
      const values = zeros([10]).shareTypedArray();
      return new WeakRef(values.buffer);
    })();
    expect(await collectUntil(() => watched.deref() === undefined)).toBe(true);
  });

  it("what has no such memory is an error", () => {
    tidy(() => {
      const refusals: [Tensor, RegExp][] = [
        [
          tensor([
            [1, 2],
            [3, 4],
          ]).t(),
          /only a contiguous tensor on the CPU shares its memory, got float32\[2, 2\]/,
        ],
        [tensor([1], { dtype: "bfloat16" }), /bfloat16 have no typed array/],
        [tensor([1], { dtype: "float16" }), /float16 have no typed array/],
      ];
      for (const [made, message] of refusals) expect(() => made.shareTypedArray()).toThrow(message);
      expect(tensor([]).shareTypedArray()).toEqual(new Float32Array(0));
    });
  });
});

it("memory() counts shared memory once", () => {
  const before = memory();
  const shared = shareMemory(new Float32Array(1000));
  const view = shared.view([10, 100]);
  expect(memory()).toEqual({ tensors: before.tensors + 2, bytes: before.bytes + 4000 });
  shared.dispose();
  view.dispose();
  expect(memory()).toEqual(before);
});
