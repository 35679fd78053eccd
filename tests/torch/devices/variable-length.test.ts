/**
 * @file Attention through an operator of libtorch for sequences of different lengths. The stand-in device has
 * FlashAttention's, as CUDA has it, once it is asked to; a device without it computes a part at a time.
 */
import { beforeAll, describe, expect, it } from "vitest";
import {
  attention,
  attentionOperator,
  type Dtype,
  Generator,
  grad,
  randn,
  runtimeInfo,
  type Tensor,
  tensor,
  tidy,
} from "../../../src/torch/index.ts";
import { BUILD_TIMEOUT, DEVICE, loadStandin, type Standin } from "../../support/standin.ts";

let standin: Standin;
beforeAll(async () => {
  standin = await loadStandin();
}, BUILD_TIMEOUT);

const FLASH = "aten::_flash_attention_forward";
const PARTS = "openmanus::chunked_attention";
const generator = new Generator(9);
const integers = (values: readonly number[]) => tensor([...values], { dtype: "int64" });
const heads = (count: number, dtype: Dtype, device: string, width = 8) =>
  randn([20, count, width], generator).toDevice(device, dtype);

describe("attention on a device", () => {
  it("is computed a part at a time where the device has no operator for it", () =>
    tidy(() => {
      const [query, key] = [heads(4, "bfloat16", DEVICE), heads(2, "bfloat16", DEVICE)];
      expect(attentionOperator(query, key)).toBe(PARTS);
    }));

  // A current libtorch has the operator's schema already, of CUDA's kernels.
  it.runIf(runtimeInfo().version.startsWith("1."))(
    "goes through FlashAttention where it has",
    () => {
      standin.offerFlashAttention();
      tidy(() => {
        // Tried once more for other sizes of heads: what was found before is not forgotten.
        const kinds = [{}, { window: 3 }, { parents: integers([-1, 0, 1, 0, -1]) }];
        for (const options of kinds) {
          const here = [
            heads(4, "float32", "cpu", 16),
            heads(2, "float32", "cpu", 16),
            heads(2, "float32", "cpu", 16),
          ];
          const there = here.map((x) => x.toDevice(DEVICE, "bfloat16").requiresGrad_());
          const [q, k, v] = there as [Tensor, Tensor, Tensor];
          expect(attentionOperator(q, k, options)).toBe(FLASH);
          const bounds = integers([0, 7, 7, 9, 14, 20]);
          const found = attention(q, k, v, bounds, options);
          const rounded = there.map((x) => x.detach().toDevice("cpu", "float32").requiresGrad_());
          const exact = attention(rounded[0]!, rounded[1]!, rounded[2]!, bounds, options);
          const apart = (a: Tensor, b: Tensor) =>
            a.toDevice("cpu", "float32").sub(b).abs().amax().item();
          expect(apart(found, exact)).toBeLessThan(0.03);
          const weights = heads(4, "float32", "cpu", 16);
          const own = grad(found.mul(weights.toDevice(DEVICE, "bfloat16")).sum(), there);
          const theirs = grad(exact.mul(weights).sum(), rounded);
          for (const [i, gradient] of own.entries())
            expect(apart(gradient, theirs[i]!)).toBeLessThan(0.15);
        }
        // Not of float32, and not of heads whose size it does not take.
        expect(attentionOperator(heads(4, "float32", DEVICE), heads(2, "float32", DEVICE))).toBe(
          PARTS,
        );
        expect(
          attentionOperator(heads(4, "bfloat16", DEVICE, 12), heads(2, "bfloat16", DEVICE, 12)),
        ).toBe(PARTS);
      });
    },
  );
});
