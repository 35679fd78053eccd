/**
 * @file The stand-in device itself: it must refuse what CUDA refuses, or it proves nothing.
 */
import { beforeAll, describe, expect, it } from "vitest";
import {
  arange,
  backward,
  call,
  cat,
  deviceCopies,
  fromTypedArray,
  noGrad,
  rmsNorm,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from "../../../src/torch/index.ts";
import { invoke, openmanus } from "../../../src/torch/tensor/invoke.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin, type Standin } from "../../support/standin.ts";

let standin: Standin;
beforeAll(async () => {
  standin = await loadStandin();
}, BUILD_TIMEOUT);

const there = (values: number[]): Tensor => tensor(values, { device: DEVICE });

describe("the stand-in device", () => {
  it("computes, and says where", () =>
    tidy(() => {
      const x = there([1, 2, 3]);
      expect(x.device).toBe(DEVICE);
      expect(x.add(1).mul(x).toArray()).toEqual([2, 6, 12]);
      expect(
        x
          .view([3, 1])
          .matmul(x.view([1, 3]))
          .sum()
          .item(),
      ).toBe(36);
      expect(cat([x, x]).narrow(0, 2, 2).toArray()).toEqual([3, 1]);
      expect(arange(0, 3, 1, { device: DEVICE }).toArray()).toEqual([0, 1, 2]);
      expect(x.to("int64").toDevice("cpu").toArray()).toEqual([1, 2, 3]);
    }));

  it("has gradients, through its own thread", () =>
    tidy(() => {
      const x = tensor([1, 2, 3], { device: DEVICE, requiresGrad: true });
      backward(x.square().select(0, 1).mul(x.sum()));
      expect(x.grad!.device).toBe(DEVICE);
      // x1² (x0 + x1 + x2)
      expect(x.grad!.toArray()).toEqual([4, 28, 4]);
    }));

  it("writes in place, also through views", () =>
    tidy(() => {
      const x = zeros([2, 3], { device: DEVICE });
      noGrad(() => x.select(0, 1).fill_(5).narrow(0, 0, 2).add_(1));
      expect(x.toArray()).toEqual([
        [0, 0, 0],
        [6, 6, 5],
      ]);
      x.indexCopy_(
        0,
        fromTypedArray(new BigInt64Array([0n]), undefined, { device: DEVICE }),
        x.narrow(0, 1, 1).clone(),
      );
      expect(x.select(0, 0).toArray()).toEqual([6, 6, 5]);
    }));

  it.each([
    ["add", (a: Tensor, b: Tensor) => a.add(b)],
    ["matmul", (a: Tensor, b: Tensor) => a.matmul(b)],
    ["cat", (a: Tensor, b: Tensor) => cat([a, b])],
    ["gather", (a: Tensor, b: Tensor) => a.gather(0, b.to("int64"))],
  ])("%s refuses a tensor of the host, and of another device", (_, compute) => {
    for (const other of ["cpu", "privateuseone:1"])
      expect(() => tidy(() => compute(there([0, 1]), tensor([0, 1], { device: other })))).toThrow(
        /Expected all tensors to be on the same device.*privateuseone:0 and/,
      );
  });

  it("takes a number of the host, as CUDA does", () =>
    tidy(() => expect(there([1, 2]).mul(tensor(3)).toArray()).toEqual([3, 6])));

  it("has none of our operators for the CPU", () => {
    expect(() =>
      tidy(() => invoke(openmanus("rms_norm"), there([1, 2]).handle, there([1, 1]).handle, 1e-6)),
    ).toThrow("Could not run 'openmanus::rms_norm'");
    tidy(() => expect(rmsNorm(there([3, 3]), there([1, 2]), 0).toArray()).toEqual([1, 2]));
  });

  it("does not share its memory with the host", () => {
    tidy(() =>
      expect(() => there([1]).shareTypedArray()).toThrow("only a contiguous tensor on the CPU"),
    );
  });

  it("counts what is copied, as this package counts it", () =>
    tidy(() => {
      const since = (): number[] => {
        const [own, device] = [deviceCopies(), standin.copies()];
        expect(own).toEqual(device);
        return [own.toDevice, own.toHost, own.bytesToDevice, own.bytesToHost];
      };
      const before = since();
      const difference = () => since().map((value, i) => value - before[i]!);
      const x = fromTypedArray(new Float32Array(10), undefined, { device: DEVICE });
      expect(difference()).toEqual([1, 0, 40, 0]);
      x.add(1).toNumbers();
      expect(difference()).toEqual([1, 1, 40, 40]);
      const host = x.toDevice("cpu", "float64");
      expect(difference()[1]).toBe(2);
      x.copy_(host);
      expect(difference().slice(0, 2)).toEqual([2, 2]);
      x.sum().item();
      call("aten::nonzero", [x]);
      expect(difference().slice(0, 2)).toEqual([2, 4]);
      x.copy_(x.add(1)).clone().to("float16");
      expect(difference().slice(0, 2)).toEqual([2, 4]);
    }));
});
